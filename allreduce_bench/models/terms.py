"""Terms on the critical path of an algorithm: its messages by size and link, and the bytes reduced.

From the priced schedule if it can be enumerated, from the algorithm's declared cost if it is too long. Fits and
predictions of our own algorithms take the declared cost throughout (`listed_steps`): a price that was fitted to one
count and applied to another would be off by their difference, up to a quarter for trees, whose cost is a bound.
"""

from functools import lru_cache
from itertools import islice
from math import ceil, lcm
from typing import NamedTuple

from ..algorithms import builtin_of, is_builtin
from ..schedule.algorithm import Algorithm, AlgorithmError, Cost, Hops, Topology
from ..schedule.price import LinkPrice, walk

ENUMERATED = 20_000  # steps of all ranks together, empty ones included: takes a fraction of a second
WITHIN, BETWEEN = LinkPrice(1e-6, 5e-11), LinkPrice(5e-6, 1e-10)
GAMMA = 1e-11  # nominal prices, which only decide which path is critical


class PathMessage(NamedTuple):
    """Messages of one size over one kind of link."""

    size_bytes: float
    number: float
    between: bool  # between nodes


class Terms(NamedTuple):
    """Terms on the critical path of an all-reduce."""

    messages: tuple[PathMessage, ...]
    reduced_nbytes: float
    enumerated: bool  # from the schedule; False: from the declared cost
    links_apart: bool = True  # messages within and between nodes are told apart

    def scale(self, factor: float) -> "Terms":
        """Return the terms of a vector that is longer by `factor`, of as many messages."""
        messages = tuple(one._replace(size_bytes=one.size_bytes * factor) for one in self.messages)
        return self._replace(messages=messages, reduced_nbytes=self.reduced_nbytes * factor)


def terms(
    algorithm: Algorithm,
    ranks: int,
    nodes: int | None,
    size_bytes: int,
    itemsize: int,
    segment: int | None = None,
    enumerated: int = ENUMERATED,
) -> Terms:
    """Return the critical path of `algorithm` for a vector of `size_bytes`, elements of `itemsize` bytes.

    `nodes` of (nearly) equal size are filled one after the other; None: unknown, all links are alike and count as
    between nodes. `segment` is in elements; None: the whole vector. Schedules of more than `enumerated` steps are not
    listed: 0 selects declared costs, which take no time.
    """
    count = size_bytes // itemsize
    segment = min(segment or count, max(count, 1)) or 1
    return _count_byte_terms(algorithm, ranks, nodes or ranks, count, segment, enumerated).scale(itemsize)


def listed_steps(algorithm: Algorithm) -> int:
    """Return `enumerated` of `terms` for fits: our own algorithms are priced as declared, a user's as they run."""
    return 0 if is_builtin(algorithm.name) and builtin_of(algorithm.name) is algorithm else ENUMERATED


@lru_cache(maxsize=20_000)
def _count_byte_terms(algorithm: Algorithm, ranks: int, nodes: int, count: int, segment: int, enumerated: int) -> Terms:
    """Return the terms of elements of a byte. Equal blocks of two vectors differ by a factor only: one is counted."""
    topology = _filled(ranks, ceil(ranks / nodes))
    factor = _factor(algorithm, ranks, nodes, count, segment)
    if enumerated and factor > 1:
        shorter = segment // factor if algorithm.segmented else count // factor
        return _count_byte_terms(algorithm, ranks, nodes, count // factor, shorter, enumerated).scale(factor)
    if _is_short(algorithm, ranks, topology, count, segment, enumerated):
        walked = walk(algorithm.schedules(ranks, topology, count, segment), topology, WITHIN, BETWEEN, GAMMA)
        messages = (PathMessage(size, number, between) for (size, between), number in walked.messages.items())
        return Terms((*messages,), walked.path.reduced, True)
    cost = _declared(algorithm, ranks, topology, count, segment)
    alike = Hops(cost.messages, cost.elements / max(1, cost.messages), nodes > 1)
    hops = cost.hops or (alike,) * bool(cost.messages)
    messages = (PathMessage(hop.elements, hop.messages, hop.between) for hop in hops)
    return Terms((*messages,), cost.reduced, False, bool(cost.hops) or algorithm.exact)


def _declared(algorithm: Algorithm, ranks: int, topology: Topology, count: int, segment: int) -> Cost:
    try:
        return algorithm.cost(ranks, topology, count, segment)
    except Exception as error:  # a user's function may fail in any way
        raise AlgorithmError(
            f"{algorithm.name}: {ranks} ranks, {count} elements: its cost failed: {type(error).__name__}: {error}"
        ) from error


def _factor(algorithm: Algorithm, ranks: int, nodes: int, count: int, segment: int) -> int:
    """Return the divisor of `count` and `segment` that scales all blocks down exactly; 1: none.

    Segmented vectors are cut into segments, whole or in halves; others as `equal_parts` says.
    """
    if algorithm.segmented:
        equal = segment % 2 == 0 and (count == segment or count % (2 * segment) == 0)
        return segment // 2 if equal else 1
    parts = equal_parts(ranks, ceil(ranks / nodes))
    return 1 if count % parts else count // parts


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


def _is_short(algorithm: Algorithm, ranks: int, topology: Topology, count: int, segment: int, enumerated: int) -> bool:
    """Return whether all steps can be listed, judged from the first and the last rank, one of which has the most.

    Empty steps take as long to generate as others, so they count.
    """
    if ranks > enumerated:
        return False
    most_steps = enumerated // ranks
    step_lists = (algorithm.generate(rank, ranks, topology, count, segment) for rank in (0, ranks - 1))
    return all(sum(1 for _ in islice(steps, most_steps + 1)) <= most_steps for steps in step_lists)
