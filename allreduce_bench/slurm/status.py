"""What `status` and `collect` say of a sweep: where its jobs are, which cells are missing, what to do next. Pure."""

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from ..evaluation.missing import FAILED, MissingCell, group_missing
from ..runs.folder import key_of
from ..units import aligned, format_ranges
from .endings import RUNNING, UNSURE, by_slurm
from .job_files import Submission
from .job_states import FORGOTTEN
from .parsing import duration
from .sweep import Overview, SweepRun
from .tasks import JobTask

HEADER = ("name", "job", "nodes", "ranks", "cells", "state")
TIMES = {1: "once", 2: "twice"}


class StatusLine(NamedTuple):
    """One job, as text."""

    name: str
    job: str
    nodes: str
    ranks: str
    cells: str  # done/all
    state: str


def lines(overview: Overview) -> list[StatusLine]:
    """The jobs of the newest submission, and of what was before it those that have not ended."""
    newest = max((submission.number for submission in overview.submissions), default=0)
    shown = [task for task in overview.tasks if task.submission == newest or overview.ending(task).active]
    collecting = [line for one in overview.submissions if (line := _collecting(overview, one, newest))]
    return [*(_line(overview, task) for task in shown), *collecting]


def next_step(overview: Overview, collected: bool) -> str:
    """`74 of 240 cells done; next: ...`; `collected`: there is a report of all of them."""
    done, cells = overview.progress
    sweep = shlex.quote(str(overview.sweep))
    words = f"{done} of {cells} cells done"
    known = [job for one in overview.submissions if (job := overview.told.jobs.get(one.collect or ""))]
    collecting = next((job for job in known if job.queued or job.running), None)
    if active := overview.active():
        waits = collecting and collecting.queued and f"job {collecting.id} then collects them"
        after = waits or f"then: allreduce-bench collect {sweep}"
        return f"{words}; {len(active)} job{'s' if len(active) > 1 else ''} to end; {after}"
    if collecting:
        return f"{words}; job {collecting.id} {'collects them now' if collecting.running else 'is to collect them'}"
    if done < cells and any(overview.ending(task).kind == UNSURE for task in overview.tasks):
        return f"{words}; next, when no job is left: allreduce-bench collect {sweep}"
    if done < cells:
        why = f"(what is missing: allreduce-bench collect {sweep})"
        return f"{words}; next: allreduce-bench submit --resume -o {sweep} {why}"
    return words if collected else f"{words}; next: allreduce-bench collect {sweep}"


def text(table: Sequence[StatusLine]) -> str:
    """The table in aligned columns, with its header."""
    return "\n".join(aligned([HEADER, *table], left=range(len(HEADER)))) + "\n"


def account(overview: Overview, missing: Sequence[Sequence[MissingCell]]) -> list[str]:
    """The lines; `missing`: what of each run of the overview has no time although it should."""
    said = []
    for run, found in zip(overview.runs, missing):
        where = "" if len(overview.runs) == 1 else f"{run.name}: "
        said += [where + group.sentence for group in group_missing(run.plan, found)]
    return [*said, _count(overview, sum(map(len, missing))), *_to_do(overview, missing)]


def _line(overview: Overview, task: JobTask) -> StatusLine:
    launches = overview.launches(task)
    done = [run.progress(launches) for run in overview.runs if run.name == task.run]
    ranks = format_ranges({launch.ranks for launch in launches})
    name = task.name if task.run == "." or task.run in task.name else f"{task.run}/{task.name}"
    cells = "".join(f"{finished}/{planned}" for finished, planned in done)
    return StatusLine(name, task.id, str(task.nodes), ranks, cells, _state(overview, task))


def _state(overview: Overview, task: JobTask) -> str:
    ending, job = overview.ending(task), overview.told.jobs.get(task.id)
    words = ending.words
    if ending.kind == RUNNING and job and job.limit_s is not None and job.elapsed_s is not None:
        left = max(0.0, job.limit_s - job.elapsed_s)
        words += f", {duration(left)} left of {duration(job.limit_s)}"
    if task.restarts:
        words += f", requeued {TIMES.get(task.restarts, f'{task.restarts} times')}"
    return words


def _collecting(overview: Overview, submission: Submission, newest: int) -> StatusLine | None:
    """The job that collects, of the newest submission or where it has not ended."""
    job = overview.told.jobs.get(submission.collect or "")
    if submission.collect is None or (submission.number != newest and not (job and (job.queued or job.running))):
        return None
    if job is None or job.state == FORGOTTEN:
        state = "not known"
    elif known := by_slurm(job):
        state = known.words
    else:
        state = "done" if job.state == "COMPLETED" else "failed, or found cells missing"
    return StatusLine("collect", submission.collect, "1", "", "", state)


def _count(overview: Overview, missing: int) -> str:
    """`286 of 300 cells are there, 4 of them skipped on purpose`."""
    cells = overview.progress[1]
    skipped = sum(map(_skipped, overview.runs))
    there = f"{cells - missing} of {cells} cells are there" if missing else f"all {cells} cells are there"
    return there + (f", {skipped} of them skipped on purpose" if skipped else "")


def _skipped(run: SweepRun) -> int:
    return len({(mark["launch"], key_of(mark)) for mark in run.marks if mark["state"] == "skipped"})


def _to_do(overview: Overview, missing: Sequence[Sequence[MissingCell]]) -> list[str]:
    """The one command that measures what is missing; none where no attempt would change anything."""
    runs = [run for run, found in zip(overview.runs, missing) if any(one.state not in FAILED for one in found)]
    if active := overview.active():
        jobs = ", ".join(task.id for task in active)
        return [f"still queued or running: job {jobs}; collect again when it has ended"]
    if runs and overview.tasks:
        when = ", when no job of the sweep is left" if overview.told.silence else ""
        return [f"submit those again{when}: allreduce-bench submit --resume -o {shlex.quote(str(overview.sweep))}"]
    return [f"measure those: allreduce-bench run --resume -o {shlex.quote(str(run.folder.path))}" for run in runs]
