"""The half of an all-reduce that reduces: each element ends on the rank that has it finished first, its owner.

The other half spreads what is finished, and is left out. Backwards, the half is an all-reduce's end: the owner of an
element gives it to all ranks whose values went into it, the way that they came. Of the four messages of `ring` on two
ranks, the first two are the half (* = finished):

    round              rank a              rank b
    1                  half 2 to b         half 1 to a         a owns half 1, b owns half 2
    1, backwards       half 1* to b        half 2* to a

An algorithm need not know of it: what leads to the owners is found from its steps.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..schedule import Parts, Ranges, Schedule, Step, elements
from ..schedule.algorithm import Algorithm, Hops, Topology
from ..schedule.draw import messages_of_rounds
from ._mirrored import spans


class Message(NamedTuple):
    """Message between two local ranks of a node."""

    source: int
    dest: int
    moved: Ranges
    reduce: bool


class Half(NamedTuple):
    """Rounds that reduce every element to its owner, and which local rank owns which elements, in their order."""

    rounds: Sequence[Sequence[Message]]
    owned: Sequence[tuple[range, int]]

    def steps(self, node: Sequence[int], local: int, backwards: bool = False) -> Iterator[Step]:
        """Yield the steps of the node's `local`-th rank; `backwards` the owners give all ranks what they have."""
        for messages in reversed(self.rounds) if backwards else self.rounds:
            step = Step(None, (), None, ())
            for message in messages:
                source, dest, moved, reduce = message
                if backwards:
                    source, dest, reduce = dest, source, False
                if source == local:
                    step = step._replace(dest=node[dest], send=moved)
                if dest == local:
                    step = step._replace(source=node[source], recv=moved, reduce=reduce)
            yield step

    def owner(self, element: int) -> int:
        """Return the local rank that owns an element."""
        return self.owned[bisect_right(self.owned, element, key=lambda own: own[0].start) - 1][1]


class Move(NamedTuple):
    """Message of the whole all-reduce, with what it moves of the vector as numbers of parts."""

    source: int
    dest: int
    parts: Sequence[int]
    reduce: bool
    original: bool


class Owner(NamedTuple):
    """Rank that has a part finished first, the lowest of several, and the round (from 1) in which it has."""

    round: int
    rank: int


@lru_cache(maxsize=64)
def half_of(algorithm: Algorithm, size: int, count: int, segment: int) -> Half:
    """Return the half of an algorithm on `size` ranks of a node."""
    schedules = algorithm.schedules(size, Topology.one_node(size), count, segment)
    parts = Parts(schedules, count)
    span_of = [parts.span(part) for part in range(len(parts))]
    rounds = _rounds(schedules, parts)
    owners = _owners(rounds, size, len(parts))
    kept = [
        [Message(one.source, one.dest, spans(span_of, one.parts), one.reduce) for one in moves if one.parts]
        for moves in _leading_to(owners, rounds)
    ]
    return Half(kept, [(span, owner.rank) for span, owner in zip(span_of, owners)])


def _rounds(schedules: Sequence[Schedule], parts: Parts) -> list[list[Move]]:
    """Return the messages of each round."""
    rounds = []
    for messages in messages_of_rounds(schedules):
        ends = [(schedules[one.source][one.source_step], schedules[one.dest][one.dest_step], one) for one in messages]
        rounds.append(
            [
                Move(one.source, one.dest, _numbers(into.recv, parts), into.reduce, out.original)
                for out, into, one in ends
            ]
        )
    return rounds


def _numbers(ranges: Ranges, parts: Parts) -> list[int]:
    return [part for span in ranges for part in range(*parts.of[span])]


def _owners(rounds: Sequence[Sequence[Move]], size: int, parts: int) -> list[Owner]:
    """Return the owner of each part; of a single rank, which owns all from the start, in round 0."""
    everyone = (1 << size) - 1
    held = [[1 << rank] * parts for rank in range(size)]  # sets of ranks, as bits
    owners: dict[int, Owner] = {}
    for number, moves in enumerate(rounds, start=1):
        arrived = [
            (dest, part, (1 << source if original else held[source][part]) | (held[dest][part] if reduce else 0))
            for source, dest, moved, reduce, original in moves
            for part in moved
        ]
        for dest, part, value in sorted(arrived):
            held[dest][part] = value
            if value == everyone:
                owners.setdefault(part, Owner(number, dest))
    return [owners.get(part, Owner(0, 0)) for part in range(parts)]


def _leading_to(owners: Sequence[Owner], rounds: Sequence[Sequence[Move]]) -> list[list[Move]]:
    """Return the rounds with those parts of their messages that go into the value of an owner, from the last back."""
    kept = []
    wanted: set[tuple[int, int]] = set()  # (rank, part) whose value goes into that of an owner
    for number, moves in reversed([*enumerate(rounds, start=1)]):
        wanted |= {(owner.rank, part) for part, owner in enumerate(owners) if owner.round == number}
        useful = [move._replace(parts=[part for part in move.parts if (move.dest, part) in wanted]) for move in moves]
        wanted -= {(move.dest, part) for move in useful if not move.reduce for part in move.parts}
        wanted |= {(move.source, part) for move in useful if not move.original for part in move.parts}
        kept.append(useful)
    return kept[::-1]


def hops_inside(half: Half) -> list[Hops]:
    """Return the messages of the half and of its way back, in each round the longest."""
    return [Hops(2, max(elements(message.moved) for message in messages)) for messages in half.rounds if messages]
