"""The output about a submission: its jobs as a table, their node-hours, and the facts kept of them."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..message import say
from ..units import three_digits
from .job_files import JOBS, SubmissionChoices
from .jobs import SweepJob, format_limit
from .scripts import COLLECT, Rendering
from .submit import SubmissionOrder, next_number

HEADS = ("", "job", "nodes", "ranks", "cells", "limit")  # of the table


def node_hours(rendering: Rendering, jobs: Sequence[SweepJob]) -> tuple[float, float]:
    """Return the node-hours expected, and those if each job takes all of its time once."""
    longest = sum(job.node_hours(rendering.limit_s(job.expected_s)) for job in jobs)
    return sum(job.node_hours(job.expected_s) for job in jobs), longest + rendering.collecting_limit_s(jobs) / 3600


def node_hours_sentence(rendering: Rendering, jobs: Sequence[SweepJob]) -> str:
    """Return the node-hours in a sentence."""
    expected, longest = map(three_digits, node_hours(rendering, jobs))
    return say("slurm.node_hours_expected_every", expected=expected, longest=longest)


def overrun_sentence(rendering: Rendering, jobs: Sequence[SweepJob]) -> str:
    """Name the jobs that will hardly end within their limit, in a sentence; empty: none."""
    names = [job.label for job in jobs if job.expected_s > rendering.limit_s(job.expected_s)]
    return say("slurm.may_exceed_time_limit", names=", ".join(names)) if names else ""


def order_rows(rendering: Rendering, jobs: Sequence[SweepJob], ids: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the table: HEADS, then every job, the collecting one last; an id each, or none at all."""
    limits = [format_limit(rendering.limit_s(job.expected_s)) for job in jobs]
    measuring = [
        (job.label, str(job.nodes), str(job.ranks), str(job.cells), f"{job.tasks} x {limit}" if job.array else limit)
        for job, limit in zip(jobs, limits)
    ]
    rows = [*measuring, (COLLECT, "1", "", "", format_limit(rendering.collecting_limit_s(jobs)))]
    return [HEADS, *((name, number, *others) for (name, *others), number in zip(rows, ids or [""] * len(rows)))]


def commands_of(order: SubmissionOrder) -> list[str]:
    """Return the command lines that would submit it."""
    number = next_number(order.sweep)
    folder = order.sweep / JOBS / str(number)
    scripts = [(script, ()) for script in order.scripts] + [(order.collecting, [s.name for s in order.scripts])]
    return [
        shlex.join(["sbatch", "--parsable", *order.sbatch_arguments(script, number, behind), str(folder / script.file)])
        for script, behind in scripts
    ]


def submission_facts(
    rendering: Rendering,
    jobs: Sequence[SweepJob],
    again: SubmissionChoices,
    submitted: str,
    ids: Sequence[str],
    collect: str,
) -> dict[str, Any]:
    """Return the content of submission.json: the choices, and the task of every job."""
    return {
        "submitted": submitted,
        "command": list(rendering.command),
        "system": rendering.system.name,
        "arguments": list(again.arguments),
        "again": asdict(again),
        "jobs": [_job_facts(rendering, job, number) for job, number in zip(jobs, ids)],
        "collect": collect,
    }


def _job_facts(rendering: Rendering, job: SweepJob, number: str) -> dict[str, Any]:
    return {
        "name": job.name,
        "nodes": job.nodes,
        "ranks_per_node": job.start.ranks_per_node,
        "run": job.run,
        "only": job.only,
        "script": rendering.script(job).file,
        "job": number,
        "array": job.array,
        "limit_s": rendering.limit_s(job.expected_s),
        "expected_s": round(job.expected_s, 1),
    }
