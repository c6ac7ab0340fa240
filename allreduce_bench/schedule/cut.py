"""Segmentation of schedules: steps in segments, so that parts of a vector travel while others are reduced.

A message is cut by position: its piece k has the elements at positions k * segment up to (k + 1) * segment of its
ranges, in their order. Both ends of a message name the same elements in the same order, so both cut it alike.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from . import Ranges, Schedule, Step, elements
from .verify import Proof, Refusal, verify

MOST_STEPS = 200_000  # of all ranks together: longer cut schedules take long to prove and to bind


class Cut(NamedTuple):
    """Schedules to run, and why they are not cut (empty: they are)."""

    schedules: Sequence[Schedule]
    why_not: str
    proof: Proof


def cut(steps: Sequence[Step], segment: int) -> Schedule:
    """Cut `steps` of one rank into messages of at most `segment` elements.

    A step becomes as many steps as its longer message has pieces; when one side runs out of them, its partner is None.
    A whole step sends values from before it, but a later piece may send what an earlier one received. And a rank that
    waits in one piece for a message may block another. So cut schedules need not be an all-reduce, even if the whole
    ones are: see `cut_schedules`.
    """
    return [piece for step in steps for piece in _pieces_of_step(step, segment)]


def cut_schedules(schedules: Sequence[Schedule], count: int, segment: int) -> Cut:
    """Cut the schedules of all ranks, for `count` elements, at `segment` elements if that can be proved.

    Otherwise return the whole ones. Raises Refusal if these are no all-reduce.
    """
    number = sum(_number_of_pieces(step, segment) for steps in schedules for step in steps)
    if number > max(MOST_STEPS, sum(map(len, schedules))):
        return Cut(schedules, f"segments make {number} steps, more than {MOST_STEPS}", verify(schedules, count))
    pieces = [cut(steps, segment) for steps in schedules]
    try:
        return Cut(pieces, "", verify(pieces, count))
    except Refusal as refusal:
        return Cut(schedules, f"cut into segments it is no all-reduce: {refusal}", verify(schedules, count))


def _pieces_of_step(step: Step, segment: int) -> Iterator[Step]:
    if _number_of_pieces(step, segment) <= 1:
        yield step  # most steps of short vectors
        return
    for send, recv in zip_longest(_pieces(step.send, segment), _pieces(step.recv, segment), fillvalue=()):
        dest, source = step.dest if send else None, step.source if recv else None
        yield Step(dest, send, source, recv, step.reduce and bool(recv), step.original and bool(send))


def _number_of_pieces(step: Step, segment: int) -> int:
    return max(1, -(-max(elements(step.send), elements(step.recv)) // segment))


def _pieces(ranges: Ranges, segment: int) -> Iterator[Ranges]:
    """Cut a message after every `segment` elements."""
    piece: list[range] = []
    room = segment
    for span in ranges:
        while len(span) >= room:
            yield (*piece, span[:room])
            span, piece, room = span[room:], [], segment
        if span:
            piece.append(span)
            room -= len(span)
    if piece:
        yield tuple(piece)
