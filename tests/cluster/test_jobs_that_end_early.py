"""Jobs that are warned, cancelled, killed, or lose a node: at most the cell in progress is lost, none counts twice."""

import json
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from interpreters import FULL, in_turn
from waiting import ended

from allreduce_bench.runs.folder import RunFolder, key_of
from allreduce_bench.slurm import commands

PLANNED, PATIENCE_S = 9, 150.0
SCRIPT = """#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --time=5 --requeue --open-mode=append
export PYTHONPATH={package}
exec {python} -m allreduce_bench run --ranks-per-node 1 --sizes 8,64K,256K -a native,ring,tree --min-time 0.8s \\
    --identify=never --no-reference-times --launches 1 --resume --requeue --output {folder}
"""


def submitted(python: Path, folder: Path) -> str:
    script = folder.with_suffix(".sbatch")
    package = Path(__file__).parents[2]
    script.write_text(SCRIPT.format(package=package, python=python, folder=folder))
    return commands.submit(script, [f"--output={folder}.out"])


def done(folder: Path) -> Counter:
    """Every finished cell, and in how many attempts it stands."""
    if not any(folder.glob("launches/*.cells.csv")):
        return Counter()
    rows = (row for attempt in RunFolder(folder).kept() for row in attempt.cells)
    return Counter(key_of(row) for row in rows if row["state"] == "done")


def until(condition, patience_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def records(folder: Path) -> dict[str, dict]:
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("jobs/job-*.json")}


def started(python: Path, folder: Path) -> tuple[str, set]:
    """A job that has finished some cells, and these."""
    job = submitted(python, folder)
    until(lambda: len(done(folder)) >= 3)
    return job, set(done(folder))


def test_a_warned_job_goes_on_by_itself(python, tmp_path):
    in_turn(0, python)
    folder = tmp_path / "run"
    job, before = started(python, folder)
    subprocess.run(["scancel", "--batch", "--signal=USR1", job], check=True)
    until(lambda: f"job-{job}.1" in records(folder))
    ended(job)
    first, second = (records(folder)[f"job-{job}.{restart}"] for restart in range(2))
    assert first["end"] == "warned" and first["requeued"] and second["end"] == "done"
    assert set(done(folder).values()) == {1} and before < set(done(folder)) and len(done(folder)) == PLANNED


@pytest.mark.parametrize("number", [None, signal.SIGKILL])
def test_a_job_that_is_cancelled_or_killed_keeps_its_cells_and_another_goes_on(python, tmp_path, number):
    in_turn(0 if number is None else 1, python)
    folder = tmp_path / "run"
    job, before = started(python, folder)
    subprocess.run(["scancel", *([] if number is None else ["--batch", "--signal=KILL"]), job], check=True)
    ended(job)
    kept = done(folder)
    assert before <= set(kept) and len(kept) < PLANNED
    assert records(folder)[f"job-{job}.0"]["end"] == ("stopped" if number is None else None)
    again = submitted(python, folder)
    ended(again)
    assert records(folder)[f"job-{again}.0"]["end"] == "done"
    assert set(done(folder).values()) == {1} and set(kept) < set(done(folder)) and len(done(folder)) == PLANNED


@pytest.mark.parametrize("place", [0, 1])
def test_a_job_whose_node_dies_goes_on_elsewhere(python, cluster, tmp_path, place):
    """With the first node the job itself is gone, and Slurm starts it again; with another the run says it, and ends."""
    in_turn(place, python)
    if place and not FULL:
        pytest.skip("it takes a minute; ALLREDUCE_BENCH_FULL=1 make slurm-test has it")
    folder = tmp_path / "run"
    job, before = started(python, folder)
    lost = records(folder)[f"job-{job}.0"]["nodes"][place]
    cluster.kill(lost)
    try:
        ended(job, patience_s=PATIENCE_S)
        first = records(folder)[f"job-{job}.0"]
        assert first["end"] == (None if place == 0 else "stopped"), first
        name = f"job-{job}.1"
        if name not in records(folder):
            name = f"job-{submitted(python, folder)}.0"
            until(lambda: name in records(folder) and records(folder)[name]["ended"])
    finally:
        cluster.start(lost)
    assert records(folder)[name]["end"] == "done" and lost not in records(folder)[name]["nodes"]
    marks = [key_of(row) for row in RunFolder(folder).marks() if row["state"] == "done"]
    assert len(marks) == len(set(marks)) == PLANNED and before <= set(marks)


def test_hosts_and_switches_are_those_that_slurm_gave(python, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    job = submitted(python, folder)
    ended(job)
    (facts,) = RunFolder(folder).attempts()
    nodes = records(folder)[f"job-{job}.0"]["nodes"]
    assert facts["hosts"] == nodes and facts["node_of"] == [0, 1] and len(nodes) == 2
    assert facts["switches"] == {node: "s0/s1" if node in ("n1", "n2") else "s0/s2" for node in nodes}
    assert len(facts["binding"]) == 2 and facts["variables"]["SLURM_JOB_ID"] == job
