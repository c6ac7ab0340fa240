"""Terms on the critical path of an algorithm, as its declared cost says: its messages by size and link, bytes reduced.

A price that was fitted to one count of messages and applied to another would be off by their difference: fits and
predictions take the same one.
"""

from functools import lru_cache
from math import ceil, lcm
from typing import NamedTuple

from ..schedule.algorithm import Algorithm, Hops, Topology


class PathMessage(NamedTuple):
    """Messages of one size over one kind of link."""

    size_bytes: float
    number: float
    between: bool  # between nodes


class Terms(NamedTuple):
    """Terms on the critical path of an all-reduce."""

    messages: tuple[PathMessage, ...]
    reduced_nbytes: float
    links_apart: bool = True  # messages within and between nodes are told apart


@lru_cache(maxsize=20_000)
def terms(
    algorithm: Algorithm, ranks: int, nodes: int | None, size_bytes: int, itemsize: int, segment: int | None = None
) -> Terms:
    """Return the critical path of `algorithm` for a vector of `size_bytes`, elements of `itemsize` bytes.

    `nodes` of (nearly) equal size are filled one after the other; None: unknown, all links are alike and count as
    between nodes. `segment` is in elements; None: the whole vector.
    """
    count, nodes = size_bytes // itemsize, nodes or ranks
    segment = min(segment or count, max(count, 1)) or 1
    cost = algorithm.cost(ranks, _filled(ranks, ceil(ranks / nodes)), count, segment)
    alike = Hops(cost.messages, cost.elements / max(1, cost.messages), nodes > 1)
    hops = cost.hops or (alike,) * bool(cost.messages)
    messages = (PathMessage(hop.elements * itemsize, hop.messages, hop.between) for hop in hops)
    return Terms((*messages,), cost.reduced * itemsize, bool(cost.hops) or algorithm.exact)


def equal_parts(ranks: int, per_node: int) -> int:
    """Return the least elements of a vector of equal blocks, whichever algorithm that is not segmented cuts it.

    It cuts it by the ranks, halves and quarters too (a torus), by a power of two of them or an even number, or by those
    of a node and then by the nodes.
    """
    smallest, number = ranks % per_node or per_node, ceil(ranks / per_node)
    return lcm(4 * ranks, 1 << ranks.bit_length() - 1, ranks - ranks % 2 or 1, per_node, smallest * number)


@lru_cache(maxsize=64)
def _filled(ranks: int, ranks_per_node: int) -> Topology:
    return Topology.filled(ranks, ranks_per_node)
