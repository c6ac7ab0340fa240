"""Folding to a power of two of ranks, for algorithms that exchange with partners at powers of two.

Of the first 2r ranks, r = p - 2^floor(log2 p), every even one hands its vector to the next odd one and receives the
result from it in the end; the other ranks, in order, exchange. Source: Thakur, Rabenseifner and Gropp, "Optimization of
collective communication operations in MPICH", Int. J. High Performance Computing Applications 19(1), 2005, section 4.4.
"""

from collections.abc import Iterator
from functools import lru_cache

from ..schedule import Step
from ..schedule.algorithm import Hops, Topology


def exchanging(size: int) -> int:
    """Return the number of ranks that exchange: the largest power of two up to `size`."""
    return 1 << size.bit_length() - 1


def place_of(rank: int, size: int) -> int | None:
    """Return the place of `rank` among those that exchange; None: it hands its vector over."""
    rest = size - exchanging(size)
    if rank >= 2 * rest:
        return rank - rest
    return rank // 2 if rank % 2 else None


def rank_at(place: int, size: int) -> int:
    """Return the rank at `place` among those that exchange."""
    rest = size - exchanging(size)
    return 2 * place + 1 if place < rest else place + rest


def fold(rank: int, size: int, count: int) -> Iterator[Step]:
    """Yield the step of `rank` before the exchange, if it has one."""
    vector = (range(count),)
    if rank < 2 * (size - exchanging(size)):
        yield Step(None, (), rank - 1, vector, reduce=True) if rank % 2 else Step(rank + 1, vector, None, ())


def unfold(rank: int, size: int, count: int) -> Iterator[Step]:
    """Yield the step of `rank` after the exchange, if it has one."""
    vector = (range(count),)
    if rank < 2 * (size - exchanging(size)):
        yield Step(rank - 1, vector, None, ()) if rank % 2 else Step(None, (), rank + 1, vector)


def folding_hops(size: int, topology: Topology, count: int) -> list[Hops]:
    """Return the two messages of the whole vector that folding costs; none if `size` is a power of two.

    If only some of the pairs span two nodes, both count as between nodes, which is a bound.
    """
    rest, node_of = size - exchanging(size), topology.node_of
    crossing = any(node_of[rank] != node_of[rank + 1] for rank in range(0, 2 * rest, 2))
    return [Hops(2, count, crossing)] if rest else []


@lru_cache(maxsize=256)
def crossing(size: int, topology: Topology) -> tuple[bool, ...]:
    """Return for each round whether some ranks that exchange, 1, 2, 4, ... places apart, are on different nodes."""
    node = [topology.node_of[rank_at(place, size)] for place in range(exchanging(size))]
    distances = [1 << j for j in range(len(node).bit_length() - 1)]
    return tuple(any(node[place] != node[place ^ distance] for place in range(len(node))) for distance in distances)
