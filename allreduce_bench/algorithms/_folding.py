"""Fewer ranks, a power of two of them, that all-reduce for all: what exchanges with partners at powers of two need.

Of the first 2r ranks, r = p - 2^floor(log2 p), every even one hands its vector to the odd one behind it and gets the
result from it in the end; the others, which stay in order, exchange.
Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", Int. J. High
Performance Computing Applications 19(1), 2005, section 4.4.
"""

from collections.abc import Iterator
from functools import lru_cache

from ..schedule import Step
from ..schedule.algorithm import Hops, Topology


def exchanging(size: int) -> int:
    """How many ranks exchange: the largest power of two that `size` holds."""
    return 1 << size.bit_length() - 1


def place_of(rank: int, size: int) -> int | None:
    """Where `rank` stands among those that exchange; None: it hands its vector over."""
    rest = size - exchanging(size)
    if rank >= 2 * rest:
        return rank - rest
    return rank // 2 if rank % 2 else None


def rank_at(place: int, size: int) -> int:
    """The rank that stands at `place` among those that exchange."""
    rest = size - exchanging(size)
    return 2 * place + 1 if place < rest else place + rest


def fold(rank: int, size: int, count: int) -> Iterator[Step]:
    """The step of `rank` before the exchange, if it has one."""
    vector = (range(count),)
    if rank < 2 * (size - exchanging(size)):
        yield Step(None, (), rank - 1, vector, reduce=True) if rank % 2 else Step(rank + 1, vector, None, ())


def unfold(rank: int, size: int, count: int) -> Iterator[Step]:
    """The step of `rank` after the exchange, if it has one."""
    vector = (range(count),)
    if rank < 2 * (size - exchanging(size)):
        yield Step(rank - 1, vector, None, ()) if rank % 2 else Step(None, (), rank + 1, vector)


def folding_hops(size: int, topology: Topology, count: int) -> list[Hops]:
    """The two messages of the whole vector that folding costs; none where `size` is a power of two.

    Where only some of the pairs are on two nodes, both count as between nodes, which is a bound.
    """
    rest, node_of = size - exchanging(size), topology.node_of
    crossing = any(node_of[rank] != node_of[rank + 1] for rank in range(0, 2 * rest, 2))
    return [Hops(2, count, crossing)] if rest else []


@lru_cache(maxsize=256)
def crossing(size: int, topology: Topology) -> tuple[bool, ...]:
    """For each round, whether some of the ranks that exchange, 1, 2, 4, ... places apart, are on different nodes."""
    node = [topology.node_of[rank_at(place, size)] for place in range(exchanging(size))]
    distances = [1 << j for j in range(len(node).bit_length() - 1)]
    return tuple(any(node[place] != node[place ^ distance] for place in range(len(node))) for distance in distances)
