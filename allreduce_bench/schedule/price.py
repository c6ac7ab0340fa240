"""Price of schedules: the time of the critical path in the latency/bandwidth model.

A message of m elements takes alpha + m beta once both ends are in the matching step; sending and receiving overlap; a
reduction takes another m gamma (Hockney, Parallel Computing 20(3), 1994, with a reduction term as in Thakur,
Rabenseifner and Gropp, IJHPCA 19(1), 2005).
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from math import ceil, log2
from operator import itemgetter
from typing import Any, NamedTuple

from . import Schedule, elements
from .algorithm import Topology
from .verify import rendezvous


class Path(NamedTuple):
    """Critical path: its time (in the units of alpha) and its terms."""

    time: float
    messages: int
    elements: int
    reduced: int


class LinkPrice(NamedTuple):
    """Cost of a message over one kind of link: alpha per message, beta per element moved."""

    alpha: float
    beta: float


class Walked(NamedTuple):
    """Critical path with its individual messages."""

    path: Path
    messages: dict[tuple[int, bool], int]  # (elements, between nodes) -> number


Reached = tuple[float, int, int, int, Any]  # a Path and its trail: (elements, between, the trail before), or None
START: Reached = (0.0, 0, 0, 0, None)
_longer = itemgetter(0, 1, 2, 3)  # compares two paths, ignoring their trails


def price(schedules: Sequence[Schedule], alpha: float, beta: float, gamma: float = 0.0) -> Path:
    """Return the critical path of `schedules`: alpha per message, beta per element moved, gamma per element reduced.

    Raises Refusal if a rank waits for ever.
    """
    link = LinkPrice(alpha, beta)
    return walk(schedules, Topology.one_node(len(schedules)), link, link, gamma).path


def walk(
    schedules: Sequence[Schedule], topology: Topology, within: LinkPrice, between: LinkPrice, gamma: float = 0.0
) -> Walked:
    """Return the critical path with separate alpha and beta for messages within and between nodes.

    Raises Refusal if a rank waits for ever.
    """
    node_of, links = topology.node_of, (within, between)
    began: list[list[Reached]] = [[START] for _ in schedules]  # paths up to the begin of each rank's steps

    def arrival(rank: int, own: Reached, partner: int, index: int, moved: int) -> Reached:
        across = node_of[rank] != node_of[partner]
        time, messages, sent, reduced, trail = max(own, began[partner][index], key=_longer)
        time_of_message = links[across].alpha + links[across].beta * moved
        return time + time_of_message, messages + 1, sent + moved, reduced, (moved, across, trail)

    for rank, index, dest_index, source_index in rendezvous(schedules):
        step = schedules[rank][index]
        end = own = began[rank][index]
        if step.dest is not None and dest_index is not None:
            end = arrival(rank, own, step.dest, dest_index, elements(step.send))
        if step.source is not None and source_index is not None:
            end = max(end, arrival(rank, own, step.source, source_index, elements(step.recv)), key=_longer)
        if step.reduce:
            work = elements(step.recv)
            end = (end[0] + gamma * work, end[1], end[2], end[3] + work, end[4])
        began[rank].append(end)
    last = max((reached[-1] for reached in began), key=_longer, default=START)
    return Walked(Path(*last[:4]), _messages_of_trail(last[4]))


class Border(NamedTuple):
    """Elements that messages carry over the borders between groups of ranks: nodes, or what one switch joins."""

    groups: int
    crossing: int  # in all
    out: int  # most that leave one group
    into: int  # most that reach one group


def border(schedules: Sequence[Schedule], group_of: Sequence[Hashable]) -> Border:
    """Count what `schedules` send from ranks of one group to those of another; `group_of`: of each rank its group."""
    out, into = Counter[Hashable](), Counter[Hashable]()
    for rank, steps in enumerate(schedules):
        for step in steps:
            if step.dest is not None and group_of[rank] != group_of[step.dest]:
                moved = elements(step.send)
                out[group_of[rank]] += moved
                into[group_of[step.dest]] += moved
    groups = len(set(group_of))
    return Border(groups, out.total(), max(out.values(), default=0), max(into.values(), default=0))


def _messages_of_trail(trail: Any) -> dict[tuple[int, bool], int]:
    """Count the messages of each size and kind of link on a trail."""
    messages: Counter = Counter()
    while trail:
        moved, across, trail = trail
        messages[moved, across] += 1
    return dict(messages)


def bound_path(size_bytes, ranks: int):
    """Return the fewest messages and bytes on the critical path of any all-reduce of `size_bytes` (number or array).

    Each message at most doubles the ranks that know of one value; each rank's bytes have to leave it to be reduced, and
    the result has to come back (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009).
    """
    return ceil(log2(ranks)), 2 * (ranks - 1) / ranks * size_bytes
