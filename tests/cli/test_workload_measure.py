"""`workload --measure`, over MPI and on virtual hosts: a measured step beside its model, in one trace."""

import json

import pytest
from click.testing import CliRunner
from interpreters import in_turn, interpreters
from measured_runs import bench
from strict_schemas import undescribed

from allreduce_bench.cli import main
from allreduce_bench.lab.room import why_no_lab

STEP = ("workload", "resnet50", "--scale", "1/256", "--compute", "60ms", "--measure", "-n", 2, "--steps", 3)
over_mpi = pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@over_mpi
def test_measured_and_modelled_stand_in_one_trace(python, tmp_path):
    in_turn(0, python)
    done = bench(python, *STEP, "--work", "sleep", "--format", "json", "-o", tmp_path / "step.json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kind"] == "measured" and found["title"] == "ResNet-50 scaled by 0.00391"
    assert found["measured"]["compute_alone_s"] >= 0.06 and len(found["measured"]["alone_s"]) == 5
    events = json.loads((tmp_path / "step.json").read_text())["traceEvents"]
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert [name.split(", ")[-1] for name in names] == ["modelled", "measured"]
    assert not undescribed("workload", done.stdout)


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@over_mpi
def test_both_kinds_of_all_reduces_are_measured(python):
    in_turn(1, python)
    words = ("workload", "gpt2", "--scale", "1/256", "--sequence", 64, "--batch", 2, "--groups", "2", "-n", 4)
    words += ("--compute", "40ms", "--measure", "--work", "sleep", "--steps", 2, "--accumulate", 2, "--format", "json")
    done = bench(python, *words)
    assert done.returncode == 0, done.stderr
    assert not undescribed("workload", done.stdout)
    found = json.loads(done.stdout)
    own, (step,) = found["measured"], found["steps"]
    assert found["tensor_parallel"]["ranks"] == step["data_parallel_ranks"] == 2
    assert len(step["tensor_parallel_transfers"]) == 2 * found["tensor_parallel"]["calls"] == 96
    assert own["compute_alone_s"] >= 0.08 and own["tensor_parallel_s"] > 0 < own["tensor_parallel_alone_s"]
    assert step["tensor_parallel_s"] == pytest.approx(own["tensor_parallel_alone_s"])
    assert own["exposed_s"] == pytest.approx(own["tensor_parallel_s"] + own["data_parallel_exposed_s"])


@pytest.mark.skipif(bool(why_no_lab()) or not interpreters(), reason=why_no_lab() or "no interpreter here has an MPI")
@over_mpi
def test_on_virtual_hosts_communication_hides_behind_computation(python):
    """A 64th of 97.5 MiB takes 0.13 s over 100 Mbit/s: what hides behind 0.3 s of sleep is seen however busy it is."""
    in_turn(1, python)
    words = ("--scale", "1/64", "--compute", "300ms", "--work", "sleep", "--format", "json")
    start = ("lab", "run", "--hosts", 2, "--rate", "100mbit", "--", *STEP, *words)
    done = bench(python, *start)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["measured"]
    assert found["compute_alone_s"] >= 0.3 and found["communication_alone_s"] > 0.08
    assert found["step_s"] < found["compute_alone_s"] + found["communication_alone_s"]
    assert found["line_overlap_share"] > 0.3 and found["overlap_share"] > 0.3


@pytest.mark.parametrize(
    "words, said",
    [
        ((), "--measure needs one number of ranks"),
        (("-n", "2,4"), "--measure needs one number of ranks"),
        (("-n", "2", "-a", "ring,tree"), "--measure takes one algorithm, found 2"),
        (("-n", "2", "-a", "rung"), "unknown algorithm 'rung'; did you mean ring?"),
        (("-n", "2", "-a", "ring", "--executor", "fast"), "unknown executor 'fast'"),
        (("-n", "2", "--executor", "sendrecv"), "unknown executor 'sendrecv'"),
        (("-n", "2", "-a", "ring", "--overlap", "iallreduce"), "--overlap iallreduce is the library's own"),
        (("-n", "2", "--dtype", "int32"), "gradients of int32 have no average"),
        (("-n", "2", "--framework", "horovod"), "Horovod's cycles are modelled only"),
    ],
)
def test_what_cannot_be_measured_is_one_line(words, said):
    result = CliRunner().invoke(main, ["workload", "resnet50", "--compute", "10ms", "--measure", *words])
    assert result.exit_code == 2 and result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert said in result.stderr


def test_a_model_that_is_too_large_is_refused_with_what_to_do():
    words = ["workload", "llama2-7b", "--compute", "1s", "--measure", "-n", "2"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2 and "the limit is 268,435,456; add --scale 1/64" in result.stderr
