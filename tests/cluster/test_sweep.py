"""A sweep from one command to its report, as a user submits it."""

import subprocess
from pathlib import Path

import pytest
from interpreters import in_turn, interpreters
from waiting import ended

from allreduce_bench.runs.folder import RunFolder, key_of
from allreduce_bench.runs.hosts import expand
from allreduce_bench.slurm import commands
from allreduce_bench.slurm.job_files import read_submissions

WHAT = (
    "--ranks-per-node",
    "1",
    "--sizes",
    "8,64K",
    "-a",
    "native,ring",
    "--cell-time",
    "100ms",
    "--no-reference-times",
    "--identify=never",
)
PATIENCE_S = 240.0


def bench(python: Path, *words: str, status: int = 0) -> str:
    """What the command prints, after it ended with this exit status."""
    program = [str(python.parent / "allreduce-bench"), *words]
    result = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == status, result.stdout + result.stderr
    return result.stdout + result.stderr


def queue() -> set[str]:
    """The jobs that are in it."""
    asked = subprocess.run(["squeue", "--noheader", "--format=%i"], capture_output=True, text=True, check=True)
    return set(asked.stdout.split())


def finished(sweep: Path) -> list[tuple]:
    """Every cell that stands as done, with its launch."""
    return [(row["launch"], *key_of(row)) for row in RunFolder(sweep).marks() if row["state"] == "done"]


def test_one_command_from_submitting_to_the_report(python, tmp_path):
    """The jobs of 1, 2 and 4 nodes share the nodes, so they write into the run at the same time."""
    in_turn(1, python)
    sweep, array = tmp_path / "a sweep", ["--array"] if interpreters().index(python) else []
    words = ["--nodes", "1,2,4", *WHAT, "--launches", "2", "--system", "one_machine", *array, "-o", str(sweep)]
    said = bench(python, "submit", *words)
    (submission,) = read_submissions(sweep)
    assert all(job.job in said for job in submission.jobs)
    collecting = ended(submission.collect.job, patience_s=PATIENCE_S)
    assert collecting.state == "COMPLETED", bench(python, "status", str(sweep))
    cells = finished(sweep)
    assert len(cells) == len(set(cells)) == 3 * 2 * 4
    jobs = commands.find_jobs([job.job for job in submission.jobs])
    for facts in RunFolder(sweep).attempts():
        number = facts["variables"]["SLURM_JOB_ID"]
        given = [job for job in jobs.values() if facts["hosts"] == expand(job.nodelist)]
        assert given and facts["nodes"] == facts["ranks"] == len(facts["hosts"]), (number, facts["hosts"], jobs)
    assert "4 ranks" in (sweep / "report.html").read_text()
    assert "24 of 24 cells done" in bench(python, "status", str(sweep))
    assert "all 24 cells complete" in bench(python, "collect", str(sweep))


def test_a_cancelled_job_is_named_and_submitted_again(python, tmp_path):
    in_turn(0, python)
    sweep = tmp_path / "sweep"
    words = ["--nodes", "1,2", *WHAT, "--launches", "1", "--system", "one_machine", "-o", str(sweep)]
    bench(python, "submit", *words, "--", "--begin=now+1hour")
    (first,) = read_submissions(sweep)
    refusal = bench(python, "submit", "--resume", "-o", str(sweep), status=2)
    assert "the queue" in refusal and "submit --cancel" in refusal
    cancelled = bench(python, "submit", "--cancel", str(sweep))
    assert all(job.job in cancelled for job in (*first.jobs, first.collect))
    said = bench(python, "collect", str(sweep), status=1)
    assert f"job {first.jobs[0].job} was cancelled" in said and "submit --resume -o" in said
    again = bench(python, "submit", "--resume", "-o", str(sweep), "--", "--comment=again")
    last = read_submissions(sweep)[-1]
    assert last.number == 2 and all(job.job in again for job in last.jobs)
    assert ended(last.collect.job, patience_s=PATIENCE_S).state == "COMPLETED"
    assert len(finished(sweep)) == 2 * 4


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--nodes", "1,5"], "Node count specification invalid"),
        (["--nodes", "1,2", "--time", "1", "--", "--partition=small"], "Node count specification invalid"),
        (["--nodes", "1,2", "--", "--partition=gold"], "invalid partition specified: gold"),
        (["--nodes", "0"], "--nodes: "),
        (["--nodes", "1", "--time", "90m"], "time limit"),
    ],
)
def test_what_slurm_refuses_is_said_in_its_words_and_nothing_is_submitted(python, tmp_path, words, why):
    in_turn(len(words) // 2, python)
    before = queue()
    said = bench(python, "submit", *WHAT, "-o", str(tmp_path / "sweep"), *words, status=2)
    assert why in said and said.count("\n") == 1 and "Traceback" not in said
    assert not (tmp_path / "sweep").exists()
    assert queue() == before
