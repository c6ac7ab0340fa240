"""What became of a job, word by word."""

import pytest

from allreduce_bench.slurm.commands import SlurmJob
from allreduce_bench.slurm.job_files import StartRecord
from allreduce_bench.slurm.job_states import (
    DONE,
    ENDED,
    FORGOTTEN,
    QUEUED,
    RUNNING,
    UNSURE,
    Ending,
    JobStates,
    JobTask,
    ending,
)

SILENT = JobStates({}, "scontrol not found in PATH")


def task(**record) -> JobTask:
    """Job 7 with a limit of half an hour; without facts it has no record."""
    facts = {"job": "7", "restart": 0, "only": "8r", "nodes": ("n1", "n2"), "started": "2024", **record}
    records = (StartRecord(**facts),) if record else ()
    return JobTask("7", "4n", ".", 4, "8r", records, 1, limit_s=1800.0, output_file="jobs/1/4n-7.out")


def told(state: str, *rest: str, **more) -> JobStates:
    return JobStates({"7": SlurmJob("7", state, *rest, **more)})


@pytest.mark.parametrize(
    ("what", "kind", "words"),
    [
        (told("PENDING", "Resources"), QUEUED, "queued (Resources)"),
        (told("PENDING"), QUEUED, "queued"),
        (told("RUNNING", "", "n[1-2]"), RUNNING, "running on n[1-2]"),
        (told("COMPLETING", "", "n3"), RUNNING, "running on n3"),
        (told("TIMEOUT"), ENDED, "hit its time limit of 30:00"),
        (told("TIMEOUT", limit_s=7200.0), ENDED, "hit its time limit of 2:00:00"),
        (told("NODE_FAIL", "", "n3"), ENDED, "lost its node n3"),
        (told("NODE_FAIL", "", "n[1-2]"), ENDED, "lost one of its nodes n[1-2]"),
        (told("NODE_FAIL"), ENDED, "lost a node"),
        (told("CANCELLED", by="alice"), ENDED, "was cancelled by alice"),
        (told("CANCELLED"), ENDED, "was cancelled"),
        (told("OUT_OF_MEMORY"), ENDED, "ran out of memory"),
        (told("PREEMPTED"), ENDED, "was preempted"),
    ],
)
def test_slurm_knows_best_what_it_did_to_a_job(what, kind, words):
    for job in (task(), task(end="stopped", why="interrupted"), task(end=None)):
        assert ending(job, what) == Ending(kind, words)


@pytest.mark.parametrize(
    ("record", "kind", "words"),
    [
        ({"end": "done"}, DONE, "done"),
        ({"end": "done", "why": "a check failed"}, DONE, "done: a check failed"),
        ({"end": "warned"}, ENDED, "stopped before its time limit of 30:00"),
        ({"end": "refused", "why": "2 nodes, expected 4"}, ENDED, "refused to measure: 2 nodes, expected 4"),
        ({"end": "stopped", "why": "rank 3 died"}, ENDED, "was stopped: rank 3 died"),
        ({"end": "stopped"}, ENDED, "was stopped"),
    ],
)
@pytest.mark.parametrize(
    "what", [told("FAILED", exit_code="1:0"), told("COMPLETED", exit_code="0:0"), told(FORGOTTEN), SILENT]
)
def test_a_job_knows_best_how_it_ended_by_itself(record, kind, words, what):
    found = ending(task(**record), what)
    assert (found.kind, found.phrase) == (kind, words)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (Ending(DONE, "done"), "ended without measuring it"),
        (Ending(DONE, "done", "left out: --within is done"), "ended without measuring it: left out: --within is done"),
        (Ending(RUNNING, "running on n3"), "is still running on n3"),
        (Ending(ENDED, "was stopped", "rank 3 died"), "was stopped: rank 3 died"),
    ],
)
def test_why_a_job_did_not_measure_a_cell(found, reason):
    assert found.reason == reason


@pytest.mark.parametrize(
    ("what", "kind", "words"),
    [
        (told("FAILED", exit_code="0:9"), ENDED, "was killed by SIGKILL"),
        (told("FAILED", exit_code="137:0"), ENDED, "ended with status 137"),
        (told("FAILED", exit_code="0:99"), ENDED, "was killed by signal 99"),
        (told("COMPLETED", exit_code="0:0"), ENDED, "ended without a message (killed?)"),
        (told(FORGOTTEN), ENDED, "ended without a message (killed?)"),
        (SILENT, UNSURE, "may be running, or ended without a message"),
    ],
)
def test_a_job_that_began_and_wrote_no_end(what, kind, words):
    assert ending(task(end=None), what) == Ending(kind, words)


@pytest.mark.parametrize(
    ("what", "kind", "words"),
    [
        (
            told("FAILED", exit_code="2:0"),
            ENDED,
            "ended with status 2 before it started to measure, see jobs/1/4n-7.out",
        ),
        (told("FAILED"), ENDED, "failed before it started to measure, see jobs/1/4n-7.out"),
        (told("COMPLETED"), ENDED, "ended before it started to measure, see jobs/1/4n-7.out"),
        (told(FORGOTTEN), ENDED, "never started to measure; Slurm has no record of it"),
        (SILENT, UNSURE, "has not started to measure"),
    ],
)
def test_a_job_that_wrote_nothing(what, kind, words):
    assert ending(task(), what) == Ending(kind, words)


def test_the_last_start_counts_and_a_requeued_one_may_begin_again():
    start = {"job": "7", "only": "8r", "started": "2024"}
    first = StartRecord(**start, restart=0, nodes=("n1",), end="warned", requeued=True)
    again = StartRecord(**start, restart=1, nodes=("n2",), end="done")
    both = JobTask("7", "4n", ".", 4, "8r", (first, again))
    assert ending(both, SILENT).kind == DONE and both.restarts == 1
    once = JobTask("7", "4n", ".", 4, "8r", (first,))
    assert ending(once, SILENT) == Ending(UNSURE, "was requeued and has not restarted yet")
    assert ending(once, told(FORGOTTEN)).kind == ENDED
    assert ending(once, told("PENDING", "BeginTime")).kind == QUEUED
