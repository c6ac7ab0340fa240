"""Circulant all-reduce: 2 ceil(log2 p) rounds and the least traffic, for any number of ranks.

The distances between partners halve, rounded up, from p to 1: for p = 5 they are 3, 2, 1. Each rank r is to own block
r. Before a round, it has partial sums of the next blocks r, r+1, ..., as many as the distance before; it sends those
that are at least the new distance ahead to the rank at that distance, and keeps the rest. The allgather runs the same
rounds backwards. No rank is folded, and no block moves twice. For p = 5 (* = finished), what rank a does:

    round                distance   a sends           a receives and adds
    1  reduce-scatter    3          4, 5 to d         1, 2 from c
    2  reduce-scatter    2          3 to c            1 from d
    3  reduce-scatter    1          2 to b            1 from e
    4  allgather         1          1* to e           2* from b
    5  allgather         2          1* to d           3* from c
    6  allgather         3          1*, 2* to c       4*, 5* from d
"""

from collections.abc import Iterator
from itertools import pairwise

from allreduce_bench.algorithms._mirrored import Exchange, crossing, mirrored_cost, reduce_scatter_allgather, shifted
from allreduce_bench.schedule import Step, longest_block, split
from allreduce_bench.schedule.algorithm import Cost, Topology, algorithm


def distances(size: int) -> list[int]:
    """Return the size and its halves, rounded up, down to 1."""
    found = [size]
    while found[-1] > 1:
        found.append(-(-found[-1] // 2))
    return found


def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
    """Return the cost of the blocks between one distance and the next, there and back."""
    halves = distances(size)
    blocks = [before - distance for before, distance in pairwise(halves)]
    return mirrored_cost(blocks, crossing(topology, shifted, tuple(halves[1:])), longest_block(count, size))


@algorithm(
    cost=cost,
    exact=True,
    formula="2 ceil(log2 p) alpha + 2(p-1)/p n beta + (p-1)/p n gamma",
    on_request=True,
    known_as="circulant graph algorithm",
    why=(
        "2 ceil(log2 p): each round halves, rounded up, the blocks of which a rank holds partial sums, until it "
        "has its own alone. The way back takes as many."
    ),
    best="medium and large vectors on any number of ranks, where distance costs nothing.",
    source='Träff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", arXiv 2410.14234, 2024.',
)
def circulant(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
    """Half of what a rank holds goes to ever nearer ranks."""
    block = split(range(count), size)
    rounds = []
    for before, distance in pairwise(distances(size)):
        ahead = [(rank + slot) % size for slot in range(distance, before)]
        own = [(rank + slot) % size for slot in range(before - distance)]
        rounds.append(Exchange((rank + distance) % size, ahead, (rank - distance) % size, own))
    yield from reduce_scatter_allgather(rounds, block)
