"""Naive all-reduce: everyone sends its whole original vector to everyone.

In round j every rank sends its untouched input to the rank j places up and adds what comes from j places down. Each
round is a permutation, so no rank is a hot spot, but every vector crosses the network p-1 times. The ranks add in
different orders, so from three ranks up their floating-point results differ in the last bits. For p = 4:

    round   rank a sends   rank b sends   rank c sends   rank d sends
    1       a to b         b to c         c to d         d to a
    2       a to c         b to d         c to a         d to b
    3       a to d         b to a         c to b         d to c
"""

from collections.abc import Iterator

from allreduce_bench.schedule import Step
from allreduce_bench.schedule.algorithm import Cost, Topology, algorithm


def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
    """Return the cost of p-1 exchanges of the whole vector."""
    return Cost(size - 1, (size - 1) * count, (size - 1) * count)


@algorithm(
    cost=cost,
    exact=True,
    formula="(p-1) alpha + (p-1) n beta + (p-1) n gamma",
    bounded=True,
    why=("p-1: a rank sends its vector to each of the p-1 others, one a round."),
    best="two ranks; otherwise the control that shows what an algorithm is worth.",
    source="none; it is what one writes first.",
)
def naive(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
    """Everyone sends its whole original vector to everyone."""
    vector = (range(count),)
    for distance in range(1, size):
        yield Step(
            dest=(rank + distance) % size,
            send=vector,
            source=(rank - distance) % size,
            recv=vector,
            reduce=True,
            original=True,
        )
