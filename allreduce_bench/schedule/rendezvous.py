"""Plays the schedules of all ranks as if no message were buffered, step by step, and says who would wait for ever.

A message moves when its sender and its receiver are both inside the matching step, so what completes here completes
under any MPI, whatever it buffers. Messages between two ranks keep their order, as MPI guarantees for one tag.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from . import Step


class Refusal(ValueError):
    """A schedule that is not an all-reduce; `round` (from 1) and `rank` say where, the message says why."""

    def __init__(self, round_number: int, rank: int, reason: str):
        super().__init__(f"round {round_number}: rank {rank} {reason}")
        self.round, self.rank = round_number, rank


class Completed(NamedTuple):
    """A step that ended, `schedules[rank][step_index]`, and the indices of its partners' matching steps."""

    rank: int
    step_index: int
    dest_index: int | None  # in the schedule of `dest`; None: nothing was sent
    source_index: int | None  # in the schedule of `source`; None: nothing was received


def rendezvous(schedules: Sequence[Sequence[Step]]) -> Iterator[Completed]:
    """Yield every step as it completes, in an order in which they can complete.

    Raises Refusal where a rank waits for ever.
    """
    size = len(schedules)
    at = [-1] * size
    dest_of: list[int | None] = [None] * size  # to whom the rank's current step still has to send
    source_of: list[int | None] = [None] * size  # from whom it still has to receive
    sent_to: list[int | None] = [None] * size
    received: list[int | None] = [None] * size
    ready = list(range(size))
    while ready:
        rank = ready.pop()
        at[rank] += 1
        if at[rank] == len(schedules[rank]):
            continue
        step = schedules[rank][at[rank]]
        dest, source = dest_of[rank], source_of[rank] = step.dest, step.source
        sent_to[rank] = received[rank] = None
        if dest is not None and source_of[dest] == rank:
            dest_of[rank] = source_of[dest] = None
            sent_to[rank], received[dest] = at[dest], at[rank]
            if dest_of[dest] is None:
                yield Completed(dest, at[dest], sent_to[dest], received[dest])
                ready.append(dest)
        if source is not None and dest_of[source] == rank:
            dest_of[source] = source_of[rank] = None
            sent_to[source], received[rank] = at[rank], at[source]
            if source_of[source] is None:
                yield Completed(source, at[source], sent_to[source], received[source])
                ready.append(source)
        if dest_of[rank] is None and source_of[rank] is None:
            yield Completed(rank, at[rank], sent_to[rank], received[rank])
            ready.append(rank)
    _refuse_waiting(schedules, at, dest_of, source_of)


def _refuse_waiting(schedules, at, dest_of, source_of) -> None:
    """Raises Refusal for the first rank that has not finished."""
    for rank, index in enumerate(at):
        if index == len(schedules[rank]):
            continue
        partner = dest_of[rank] if dest_of[rank] is not None else source_of[rank]
        verb = "send to" if dest_of[rank] is not None else "receive from"
        where = f"is in round {at[partner] + 1}" if at[partner] < len(schedules[partner]) else "has finished"
        raise Refusal(index + 1, rank, f"waits forever to {verb} rank {partner}, which {where}")
