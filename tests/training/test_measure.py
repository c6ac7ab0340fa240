"""`workload --measure`, over MPI and on virtual hosts: what is measured beside its model, in one trace."""

import json
import re

import pytest
from click.testing import CliRunner
from interpreters import in_turn, interpreters
from measured_runs import bench

from allreduce_bench.cli import main
from allreduce_bench.training import replay

STEP = ("workload", "resnet50", "--scale", "1/256", "--compute", "60ms", "--measure", "-n", 2)
over_mpi = pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@over_mpi
def test_measured_and_modelled_stand_in_one_trace(python, tmp_path):
    in_turn(0, python)
    done = bench(python, *STEP, "--format", "json", "-o", tmp_path / "step.json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kind"] == "measured" and found["title"] == "ResNet-50 scaled by 0.00391"
    times = ["step_s", "compute_alone_s", "compute_beside_s", "communication_alone_s", "exposed_s", "overlap_share"]
    facts = ["slowdown", "steps", "ranks", "algorithm", "alone_s", "alone_nbytes", "work"]
    assert list(found["measured"]) == [*times, *facts]
    assert found["measured"]["compute_alone_s"] > 0 and len(found["measured"]["alone_s"]) == 5
    events = json.loads((tmp_path / "step.json").read_text())["traceEvents"]
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert [name.split(", ")[-1] for name in names] == ["modelled", "measured"]


@pytest.mark.slow
@pytest.mark.usefixtures("needs_lab")
@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@over_mpi
def test_on_virtual_hosts_communication_hides_behind_computation(python):
    """A 64th of 97.5 MiB takes 0.13 s over 100 Mbit/s: what hides behind 0.3 s of sleep is seen however busy it is."""
    in_turn(1, python)
    words = ("--scale", "1/64", "--compute", "300ms", "--format", "json")
    start = ("lab", "run", "--hosts", 2, "--rate", "100mbit", "--", *STEP, *words)
    done = bench(python, *start)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["measured"]
    assert found["compute_alone_s"] >= 0.3 and found["communication_alone_s"] > 0.08
    assert found["step_s"] < found["compute_alone_s"] + found["communication_alone_s"]
    assert found["overlap_share"] > 0.3


@pytest.mark.parametrize(
    "words, said",
    [
        ((), "--measure needs"),
        (("-n", "2", "-a", "ring,tree"), "--measure takes.*found 2"),
        (("-n", "2", "-a", "ring@pipelined:64K"), "unknown way 'pipelined:64K'"),
        (
            ("-n", "2", "--compute", "51s"),
            r"612 s \(6 turns.*2 x 51\.0 s",
        ),
    ],
)
def test_what_cannot_be_measured_is_one_line(words, said):
    result = CliRunner().invoke(main, ["workload", "resnet50", "--measure", "--compute", "10ms", *words])
    assert result.exit_code == 2 and result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert re.search(said, result.stderr)


def test_a_model_that_is_too_large_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(replay, "free_memory", lambda: 10**9)
    words = ["workload", "llama2-7b", "--compute", "1s", "--measure", "-n", "2"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2 and "; add --scale 1/64" in result.stderr
