"""`health`: pairs of nodes from the command line, on hosts with one slow link."""

import json
import os
import subprocess

import pytest
from click.testing import CliRunner
from interpreters import in_turn, interpreters
from places import ROOT
from virtual_hosts import INTERFACE, virtual_hosts

from allreduce_bench.cli import main
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.runs.folder import RunFolder


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "no nodes given: add --hosts n1,n2,n3,n4, or run it inside a Slurm job"),
        (["--hosts", "n1"], "expected two nodes or more, each once; found n1"),
        (["--hosts", "n1,$(touch x)"], "is not a host"),
        (["--hosts", "n1,n2", "--timeout", "100ms"], "would end healthy launches"),
        (["--hosts", "n1,n2", "--launcher", "nobody"], "unknown launcher 'nobody'"),
    ],
)
def test_bad_usage_is_one_sentence_and_starts_nothing(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    result = CliRunner().invoke(main, ["health", *words])
    assert result.exit_code == 2 and said in result.output and result.output.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_nodes_of_a_job_are_taken_from_slurm(tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1]")
    result = CliRunner().invoke(main, ["health", "-o", str(tmp_path / "health")])
    assert result.exit_code == 2 and "each once; found n1" in result.output


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_the_host_with_the_slow_link_is_named_and_what_was_measured_is_not_measured_again(python, tmp_path):
    in_turn(1, python)
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with virtual_hosts(4, rate=None) as hosts:
        slow = ["tc", "qdisc", "add", "dev", INTERFACE, "root", "tbf", "rate", "60mbit", "burst", "64kb"]
        hosts.run(2, [*slow, "latency", "400ms"], check=True)
        words = ["--remote-shell", hosts.agent, "--launches", "1", "--threshold", "99%", "-o", tmp_path / "health"]
        health = [python, "-m", "allreduce_bench", "health", *words, "--hosts"]
        first = hosts.run(0, [*health, "h1,h2,h3,h4"], env=environ, stdin=subprocess.DEVNULL)
        dead = hosts.run(0, [*health, "h1,h2,h3,h4,nobody"], env=environ, stdin=subprocess.DEVNULL)
    assert first.returncode == 1, first.stderr
    lines = {line.split()[0]: line for line in first.stdout.splitlines() if "+" in line.split(" ")[0]}
    assert sorted(lines) == ["h1+h2", "h2+h3", "h3+h4", "h4+h1"]
    assert ["bandwidth" in lines[pair] for pair in lines] == [False, True, True, False], first.stdout
    assert "node h3: h2+h3 has" in first.stdout
    for name in lines:
        folder = RunFolder(tmp_path / "health" / name)
        (facts,) = folder.attempts()
        assert facts["hosts"] == name.split("+") and len(summarise(folder)) == 4
        assert json.loads(folder.run_json.read_text())["plan"]["start"]["ranks_per_node"] == 1
    assert dead.returncode == 1 and "node nobody: h4+nobody and nobody+h1 failed: host 'nobody'" in dead.stdout
    assert "mpirun" not in dead.stderr and not (tmp_path / "health" / "h4+nobody").exists()
