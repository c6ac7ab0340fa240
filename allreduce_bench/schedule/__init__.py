"""Schedule of an all-reduce: a list of steps of one rank, where a step is one MPI_Sendrecv.

In: an algorithm, ranks, nodes, a count. Out: steps, proved, priced and drawn without running them; nothing here knows
MPI, buffers or clocks. Read in this order: this file (`Step`), `algorithm` (nodes, and what an algorithm declares),
`verify` (a proof, and rendezvous: no rank waits for ever), `proofs` (of many cases), `price` (critical paths),
`distance` (links of a torus), `draw` (messages by round); `cut` (steps in segments).
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

Ranges = tuple[range, ...]


class Step(NamedTuple):
    """Single `MPI_Sendrecv` of one rank.

    `send` and `recv` are ranges of element numbers of the vector, mostly one; both ends of a message name the same
    elements in the same order. A partner of `None` is MPI_PROC_NULL, and its ranges are `()`.
    """

    dest: int | None
    send: Ranges
    source: int | None
    recv: Ranges
    reduce: bool = False  # combine what arrives with the own value instead of overwriting it
    original: bool = False  # send the rank's untouched input instead of its current value


Schedule = list[Step]


def split(span: range, parts: int) -> tuple[range, ...]:
    """Cut `span` into `parts` contiguous blocks; the first `len(span) % parts` are one element longer."""
    return _split(span.start, len(span), parts)


@lru_cache(maxsize=64)  # all ranks of a schedule cut the same
def _split(start: int, length: int, parts: int) -> tuple[range, ...]:
    size, longer = divmod(length, parts)
    starts = [start + i * size + min(i, longer) for i in range(parts + 1)]
    return tuple(range(a, b) for a, b in zip(starts, starts[1:]))


def longest_block(count: int, parts: int) -> int:
    """Return the elements of the longest block that `split` makes of `count` elements."""
    return -(-count // parts)


def drop_empty(steps: Iterable[Step]) -> Iterator[Step]:
    """Drop what moves no element: empty ranges, then halves, then whole steps.

    Both ends of a message compute its size from the same blocks, so both drop the same half.
    """
    for step in steps:
        send, recv = step.send, step.recv
        if send and recv and all(send) and all(recv):
            yield step  # most steps
            continue
        send, recv = tuple(filter(len, step.send)), tuple(filter(len, step.recv))
        if send or recv:
            yield Step(
                step.dest if send else None,
                send,
                step.source if recv else None,
                recv,
                step.reduce and bool(recv),
                step.original and bool(send),
            )


def elements(ranges: Ranges) -> int:
    """Count the elements in `ranges`."""
    return sum(map(len, ranges))


class Parts:
    """Parts of a vector of `count` elements, cut at both ends of every range of `schedules`.

    Every range is whole parts: those from `of[range][0]` up to, not including, `of[range][1]`.
    """

    def __init__(self, schedules: Iterable[Iterable[Step]], count: int):
        spans = {span for steps in schedules for step in steps for span in (*step.send, *step.recv)}
        self.cuts = sorted({0, count}.union(*((span.start, span.stop) for span in spans)))
        part_from = {cut: part for part, cut in enumerate(self.cuts)}
        self.of = {span: (part_from[span.start], part_from[span.stop]) for span in spans}

    def __len__(self) -> int:
        return len(self.cuts) - 1

    def span(self, part: int) -> range:
        """Return the elements of part number `part`."""
        return range(self.cuts[part], self.cuts[part + 1])


def letter(rank: int) -> str:
    """Name a rank by a letter: a, b, …, z; from 26 up by its number."""
    return chr(ord("a") + rank) if rank < 26 else f"{rank}."


def contribution(rank: int, part: int) -> str:
    """Name what `rank` contributed to part number `part` (from 0): `b1`; `37.1` from rank 26 up."""
    return f"{letter(rank)}{part + 1}"
