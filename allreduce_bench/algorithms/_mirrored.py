"""A reduce-scatter whose allgather is its mirror image: what was sent as a part of a sum comes back as the sum.

In each round a rank sends some blocks, adds what it receives to others, and never needs the sent ones again before the
allgather. There the rounds run backwards, each message from its receiver to its sender.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..schedule import Ranges, Step
from ..schedule.algorithm import Cost, Hops, Topology


class Exchange(NamedTuple):
    """Round of one rank in the reduce-scatter: the numbers of the blocks that it sends and receives."""

    dest: int
    sent: Collection[int]
    source: int
    received: Collection[int]


def reduce_scatter_allgather(rounds: Sequence[Exchange], block: Sequence[range]) -> Iterator[Step]:
    """Yield the steps of one rank: its rounds, then their mirror images."""
    moves = [(dest, spans(block, sent), source, spans(block, received)) for dest, sent, source, received in rounds]
    for dest, sent, source, received in moves:
        yield Step(dest, sent, source, received, reduce=True)
    for dest, sent, source, received in reversed(moves):
        yield Step(source, received, dest, sent)


def spans(block: Sequence[range], numbers: Collection[int]) -> Ranges:
    """Return the elements of some blocks in ascending order, neighbours as one range."""
    joined: list[range] = []
    for span in map(block.__getitem__, sorted(numbers)):
        if joined and joined[-1].stop == span.start:
            joined[-1] = range(joined[-1].start, span.stop)
        else:
            joined.append(span)
    return tuple(joined)


def mirrored_cost(blocks: Sequence[int], between: Sequence[bool], longest: int) -> Cost:
    """Return the cost of rounds of so many blocks of `longest` elements, in which some ranks reach other nodes."""
    hops = [Hops(2, number * longest, across) for number, across in zip(blocks, between)]
    return Cost.of(hops, reduced=sum(blocks) * longest)


@lru_cache(maxsize=256)
def crossing(topology: Topology, partner: Callable[[int, int, int], int], rounds: tuple[int, ...]) -> tuple[bool, ...]:
    """Return for each of `rounds` whether `partner(rank, round, size)` is on another node than some rank."""
    node_of = topology.node_of
    size = len(node_of)
    return tuple(any(node_of[r] != node_of[partner(r, number, size)] for r in range(size)) for number in rounds)


def shifted(rank: int, distance: int, size: int) -> int:
    """Return the rank that is `distance` further round the ring."""
    return (rank + distance) % size
