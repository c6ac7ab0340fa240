"""Ranks and nodes from the job that Flux appends to its output."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..units import MAX_RANKS
from .lines import LogLine


class FluxJob(NamedTuple):
    """What was started."""

    number: int  # of its line
    nodes: int | None
    ranks: int


def jobs(lines: Sequence[LogLine]) -> list[FluxJob]:
    """The jobs of a log in order: a jobspec is one line of JSON with `resources` and `tasks`."""
    jobs_of_log = []
    for line in lines:
        text = line.text.lstrip()
        if text.startswith("{") and '"resources"' in text and '"tasks"' in text:
            try:
                job = _job_of_spec(line.number, json.loads(text))
            except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
                continue  # cut off or of another version: it says nothing, and --ranks can
            if 0 < job.ranks <= MAX_RANKS and (job.nodes is None or 0 < job.nodes <= job.ranks):
                jobs_of_log.append(job)
    return jobs_of_log


def _job_of_spec(number: int, spec: dict[str, Any]) -> FluxJob:
    (resource,) = spec["resources"]
    nodes = int(resource["count"]) if resource["type"] == "node" else None
    slot = resource["with"][0] if nodes else resource
    if slot["type"] != "slot":
        raise ValueError(f"a slot was expected, found {slot['type']}")
    slots = int(slot["count"]) * (nodes or 1)
    (task,) = spec["tasks"]
    count = task["count"]
    return FluxJob(number, nodes, int(count["total"]) if "total" in count else slots * int(count["per_slot"]))


def job_of(number: int, jobs_of_log: Sequence[FluxJob]) -> FluxJob | None:
    """The job of a table that begins in line `number`: the first one behind it, else the last one before it."""
    return next((job for job in jobs_of_log if job.number > number), jobs_of_log[-1] if jobs_of_log else None)
