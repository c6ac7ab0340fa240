"""The table of `status`: a line for each job of a sweep, and what to do next. Pure."""

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from ..units import format_ranges
from .endings import RUNNING, UNSURE, by_slurm
from .overview import Overview
from .parsing import duration
from .submissions import Submission
from .tasks import Task
from .told import FORGOTTEN

HEADER = ("name", "job", "nodes", "ranks", "cells", "state")
TIMES = {1: "once", 2: "twice"}


class Line(NamedTuple):
    """One job, as text."""

    name: str
    job: str
    nodes: str
    ranks: str
    cells: str  # done/all
    state: str


def lines(overview: Overview) -> list[Line]:
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
    collecting = [job for one in overview.submissions if (job := overview.told.jobs.get(one.collect or ""))]
    collect = next((job.id for job in collecting if job.queued), None)
    at_work = next((job.id for job in collecting if job.queued or job.running), None)
    if active := overview.active():
        after = f"job {collect} then collects them" if collect else f"then: allreduce-bench collect {sweep}"
        return f"{words}; {len(active)} job{'s' if len(active) > 1 else ''} to end; {after}"
    if at_work and not collected:
        return f"{words}; job {at_work} collects them"
    if done < cells and any(overview.ending(task).kind == UNSURE for task in overview.tasks):
        return f"{words}; next, when no job is left: allreduce-bench collect {sweep}"
    if done < cells:
        why = f"(what is missing: allreduce-bench collect {sweep})"
        return f"{words}; next: allreduce-bench submit --resume -o {sweep} {why}"
    return words if collected else f"{words}; next: allreduce-bench collect {sweep}"


def text(table: Sequence[Line]) -> str:
    """The table in aligned columns, with its header."""
    rows = [HEADER, *table]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADER))]
    aligned = ("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip() for row in rows)
    return "\n".join(aligned) + "\n"


def _line(overview: Overview, task: Task) -> Line:
    launches = overview.launches(task)
    done = [run.progress(launches) for run in overview.runs if run.name == task.run]
    ranks = format_ranges({launch.ranks for launch in launches})
    name = task.name if task.run == "." or task.run in task.name else f"{task.run}/{task.name}"
    cells = "".join(f"{finished}/{planned}" for finished, planned in done)
    return Line(name, task.id, str(task.nodes), ranks, cells, _state(overview, task))


def _state(overview: Overview, task: Task) -> str:
    ending, job = overview.ending(task), overview.told.jobs.get(task.id)
    words = ending.words
    if ending.kind == RUNNING and job and job.limit_s is not None and job.elapsed_s is not None:
        left = max(0.0, job.limit_s - job.elapsed_s)
        words += f", {duration(left)} left of {duration(job.limit_s)}"
    if task.restarts:
        words += f", requeued {TIMES.get(task.restarts, f'{task.restarts} times')}"
    return words


def _collecting(overview: Overview, submission: Submission, newest: int) -> Line | None:
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
    return Line("collect", submission.collect, "1", "", "", state)
