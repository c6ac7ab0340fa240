"""Prices schedules: the time of the critical path in the latency/bandwidth model.

A message of m elements takes alpha + m beta once both ends are in the matching step; sending and receiving overlap; a
reduction takes another m gamma (Hockney, Parallel Computing 20(3), 1994, with a reduction term as in Thakur,
Rabenseifner and Gropp, IJHPCA 19(1), 2005).
"""

from collections.abc import Sequence
from typing import NamedTuple

from .rendezvous import rendezvous
from .schedule import Schedule, elements


class Path(NamedTuple):
    """A critical path: its time (in the units of alpha) and what lies on it."""

    time: float
    messages: int
    elements: int
    reduced: int


START = Path(0.0, 0, 0, 0)


def price(schedules: Sequence[Schedule], alpha: float, beta: float, gamma: float = 0.0) -> Path:
    """The critical path of `schedules`: alpha per message, beta per element moved, gamma per element reduced.

    Raises Refusal where a rank waits for ever.
    """
    began = [[START] for _ in schedules]  # when each rank began each of its steps
    for rank, index, dest_index, source_index in rendezvous(schedules):
        step = schedules[rank][index]
        end = own = began[rank][index]
        if step.dest is not None and dest_index is not None:
            end = _message(max(own, began[step.dest][dest_index]), elements(step.send), alpha, beta)
        if step.source is not None and source_index is not None:
            arrival = _message(max(own, began[step.source][source_index]), elements(step.recv), alpha, beta)
            end = max(end, arrival)
        if step.reduce:
            work = elements(step.recv)
            end = Path(end.time + gamma * work, end.messages, end.elements, end.reduced + work)
        began[rank].append(end)
    return max((paths[-1] for paths in began), default=START)


def _message(start: Path, moved: int, alpha: float, beta: float) -> Path:
    return Path(start.time + alpha + beta * moved, start.messages + 1, start.elements + moved, start.reduced)
