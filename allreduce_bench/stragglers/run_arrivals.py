"""When each rank was ready for the calls of a run: what the stamps of --compute and --arrival say, cell by cell."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..evaluation.frames import stamps_of
from ..runs.folder import RunFolder
from ..runs.rows import Row
from ..runs.schema import STAMPS
from .arrivals import Arrivals


class RunArrivals(NamedTuple):
    """The arrivals at the timed calls of one cell in one launch."""

    launch: str
    cell: Row  # its mark, as in CELLS
    arrivals: Arrivals


def arrivals_of_run(folder: RunFolder) -> list[RunArrivals]:
    """The arrivals of all finished cells that have them, launch by launch, in the order in which they were measured.

    A step is one timed call; it begins when the first rank begins its work and ends when the last rank leaves the call,
    since between calls the ranks check results and decide how to go on. Empty for a run without --compute and
    --arrival: its stamps begin after the common start. Raises RunError.
    """
    facts_of = {(facts["launch"], str(facts["attempt"])): facts for facts in folder.attempts()}
    found = []
    for mark in folder.marks():
        if mark["state"] != "done" or not mark["stamps"]:
            continue
        stamps = stamps_of(folder, mark)
        if len(stamps) == len(STAMPS):
            facts = facts_of.get((mark["launch"], mark["attempt"]), {})
            found.append(RunArrivals(mark["launch"], mark, _arrivals(stamps, mark, facts)))
    return found


def _arrivals(stamps: np.ndarray, mark: Row, facts: Mapping) -> Arrivals:
    """The arrivals at the timed calls of `stamps`, float64 [4, call, rank], in a launch of these facts."""
    warmups = stamps.shape[1] - int(mark["repetitions"] or 0)
    begin, ready, _, exit = stamps[:, warmups:]
    node_of, nodes = nodes_of_ranks(facts, stamps.shape[2])
    return Arrivals(
        ready_s=ready,
        step_s=np.fmax.reduce(exit, axis=1) - np.fmin.reduce(begin, axis=1),  # a log may lack a rank
        clock_error_s=float(mark["clock_error_s"] or 0.0),
        node_of=node_of,
        nodes=nodes,
        begin_s=np.fmin.reduce(begin, axis=1),
    )


def nodes_of_ranks(facts: Mapping, ranks: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The node of each rank of a launch, numbered in the order of their first ranks, and the names of these nodes.

    No names where they are unknown, or where nodes were only declared, so that several have one name.
    """
    labels = facts.get("node_of") or []
    if len(labels) != ranks:
        return (0,) * ranks, ()
    order = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    node_of = tuple(order[label] for label in labels)
    hosts = facts.get("hosts") or []
    names = tuple(hosts[node_of.index(node)] for node in range(len(order))) if len(hosts) == ranks else ()
    return node_of, names if len({*names}) == len(names) else ()
