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
    found = []
    for line in lines:
        text = line.text.lstrip()
        if text.startswith("{") and '"resources"' in text and '"tasks"' in text:
            try:
                job = _job(line.number, json.loads(text))
            except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
                continue  # cut off or of another version: it says nothing, and --ranks can
            if 0 < job.ranks <= MAX_RANKS and (job.nodes is None or 0 < job.nodes <= job.ranks):
                found.append(job)
    return found


def _job(number: int, spec: dict[str, Any]) -> FluxJob:
    (resource,) = spec["resources"]
    nodes = int(resource["count"]) if resource["type"] == "node" else None
    slot = resource["with"][0] if nodes else resource
    if slot["type"] != "slot":
        raise ValueError(f"a slot was expected, found {slot['type']}")
    slots = int(slot["count"]) * (nodes or 1)
    (task,) = spec["tasks"]
    count = task["count"]
    return FluxJob(number, nodes, int(count["total"]) if "total" in count else slots * int(count["per_slot"]))


def job_of(number: int, found: Sequence[FluxJob]) -> FluxJob | None:
    """The job of a table that begins in line `number`: the first one behind it, else the last one before it."""
    return next((job for job in found if job.number > number), found[-1] if found else None)
