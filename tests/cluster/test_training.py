"""jobs/train.sbatch: a training that loses a rank or a node goes on, here and in another job without the bad node."""

import re
import subprocess
import time
from pathlib import Path

import pytest
from interpreters import in_turn
from places import ROOT
from waiting import ended

from allreduce_bench.runs.hosts import expand
from allreduce_bench.runs.start import RESTART_VARIABLE
from allreduce_bench.slurm import commands

TRAINED = re.compile(r"training alone gives these losses to (\S+)")
PATIENCE_S = 30.0


@pytest.fixture
def submit(tmp_path, monkeypatch):
    """Submits a training on three nodes; health, which takes longer, names the last node that was asked about."""

    def submitted(python: Path, words: str, **variables: object) -> str:
        (tmp_path / "venv" / "bin").mkdir(parents=True)
        program = tmp_path / "venv" / "bin" / "allreduce-bench"
        last = 'while [[ $1 != --hosts ]]; do shift; done; scontrol show hostnames "$2" | tail -n 1'
        lost_before = f"[[ $SUBMISSIONS == 1 ]] && export {RESTART_VARIABLE}=1"  # then no rank kills itself
        real = f'{lost_before}; exec {python} -m allreduce_bench "$@"'
        program.write_text(f"#!/bin/bash\nif [[ $1 == health ]]; then {last}; else {real}; fi\n")
        program.chmod(0o755)
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        monkeypatch.setenv("VENV", str(tmp_path / "venv"))
        monkeypatch.setenv("TRAIN", f"{python} {ROOT}/analysis/train_numpy.py --every 10 {words}")
        monkeypatch.setenv("CHECKPOINTS", str(tmp_path / "checkpoints"))
        for name, value in variables.items():
            monkeypatch.setenv(name, str(value))
        monkeypatch.chdir(tmp_path)
        return commands.submit(ROOT / "jobs" / "train.sbatch", ["--nodes=3", "--time=5"])

    return submitted


def nodes_of(job: str) -> list[str]:
    """The nodes that a job has."""
    return expand(commands.find_jobs([job])[job].nodelist)


def said(folder: Path, job: str) -> str:
    path = folder / f"allreduce-train-{job}.out"
    words = path.read_text(errors="replace") if path.exists() else ""  # not yet
    assert "\0" not in words
    return words


def trained(words: str) -> bool:
    """Whether the losses at the end are those of training alone from the same checkpoint."""
    found = TRAINED.search(words)
    return found is not None and float(found[1]) < 1e-10


def test_a_lost_rank_is_left_out(python, submit, tmp_path):
    in_turn(0, python)
    job = submit(python, "--lose 2@17 --steps 30")
    assert ended(job).state == "COMPLETED", said(tmp_path, job)
    assert "step 10: goes on with 2 ranks, of 3 before" in said(tmp_path, job) and trained(said(tmp_path, job))


@pytest.mark.parametrize("how", ["down", "killed"])
def test_a_node_that_is_gone_is_left_out(python, submit, tmp_path, cluster, how):
    """Of a killed node the step before keeps the processors: the next start does not wait for them."""
    in_turn(0, python)
    job = submit(python, "--steps 1000000")
    deadline = time.monotonic() + PATIENCE_S
    while not [*tmp_path.glob("checkpoints/step-*")]:
        assert time.monotonic() < deadline, said(tmp_path, job)
        time.sleep(0.1)
    node = nodes_of(job)[-1]
    if how == "killed":
        cluster.kill(node)
    else:
        subprocess.run(["scontrol", "update", f"nodename={node}", "state=down", "reason=test"], check=True)
    try:
        while "goes on with 2 ranks, of 3 before" not in said(tmp_path, job):
            assert time.monotonic() < deadline + PATIENCE_S, said(tmp_path, job)
            time.sleep(0.1)
    finally:
        subprocess.run(["scancel", job], check=True)
        if how == "killed":
            cluster.start(node)
    ended(job)


def test_before_its_limit_the_training_goes_on_in_another_job(python, submit, tmp_path):
    in_turn(0, python)
    job = submit(python, "--steps 1000000", RESTARTS=0, SUBMISSIONS=1)
    deadline = time.monotonic() + 2 * PATIENCE_S
    while not [*tmp_path.glob("checkpoints/step-*")]:
        assert time.monotonic() < deadline, said(tmp_path, job)
        time.sleep(0.1)
    subprocess.run(["scancel", "--batch", "--signal=USR1", job], check=True)  # as Slurm does before the limit
    ended(job)
    assert "near its limit" in said(tmp_path, job)
    (again,) = re.findall(r"Submitted batch job (\d+)", said(tmp_path, job))
    try:
        while not re.search(r"step \d+: goes on with 3 ranks, of 3 before", said(tmp_path, again)):
            assert time.monotonic() < deadline + PATIENCE_S, said(tmp_path, again)
            time.sleep(0.1)
    finally:
        subprocess.run(["scancel", again], check=True)
    ended(again)


def test_without_restarts_the_training_goes_on_in_another_job_without_the_bad_node(python, submit, tmp_path):
    in_turn(1, python)
    job = submit(python, "--lose 2@17 --steps 30", RESTARTS=0, SUBMISSIONS=2)
    ended(job)
    (bad,) = re.findall(r"submitting again without: (n\d)", said(tmp_path, job))
    (again,) = re.findall(r"Submitted batch job (\d+)", said(tmp_path, job))
    assert ended(again).state == "COMPLETED" and bad not in nodes_of(again), said(tmp_path, again)
    assert "step 10: goes on with 3 ranks, of 3 before" in said(tmp_path, again) and trained(said(tmp_path, again))
