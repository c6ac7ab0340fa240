"""Bidirectional ring: one half of the vector goes round to the right, the other to the left.

Two rings at once: each rank passes a block of the first half to its right neighbour and a block of the second half to
its left one, so that both directions of every link carry half of what `ring` sends over one. A step is one
`MPI_Sendrecv`, so the two follow each other; where they are pipelined (`@pipelined`) they overlap. For p = 3:

    round                rank 0 sends to 1   to 2           rank 1 sends to 2   to 0          rank 2 ...
    1, 2  reduce-scatter block 3 of half 1   2 of half 2    block 1 of half 1   3 of half 2   ...
    3, 4  reduce-scatter block 2             3              block 3             1             ...
    5, 6  allgather      block 1*            1*             block 2*            2*            (* = finished)
    7, 8  allgather      block 3*            2*             block 1*            3*
"""

from collections.abc import Iterator

from allreduce_bench.algorithms._ring_phases import ring_allgather, ring_reduce_scatter
from allreduce_bench.schedule import Step, longest_block, split
from allreduce_bench.schedule.algorithm import Cost, Topology, algorithm


def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
    """Return the cost of two rings, one after the other, each of half the vector."""
    hops, block = 2 * (size - 1), longest_block(longest_block(count, 2), size)
    return Cost(2 * hops, 2 * hops * block, hops * block)


@algorithm(
    cost=cost,
    exact=True,
    formula="4(p-1) alpha + 2(p-1)/p n beta + (p-1)/p n gamma, half of the beta on two ports",
    on_request=True,
    known_as="bidirectional ring, NCCL Ring on two channels of opposite directions",
    why=(
        "4(p-1): each half of the vector goes twice round the ring, 2(p-1) hops, and the two directions take "
        "turns, since a step is one MPI_Sendrecv."
    ),
    best="large vectors where a rank has a link to each neighbour, or links are used in one direction only.",
    source=(
        'Jain and Sabharwal, "Optimal bucket algorithms for large MPI collectives on torus interconnects", ICS 2010, '
        "on one dimension."
    ),
)
def bidirectional_ring(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
    """Halves travel round a ring in opposite directions."""
    ways = [(range(size), rank), (range(size)[::-1], size - 1 - rank)]  # members in their order, the rank's place there
    blocks = [split(half, size) for half in split(range(count), 2)]
    for phase in (ring_reduce_scatter, ring_allgather):
        right, left = (phase(members, place, block) for (members, place), block in zip(ways, blocks))
        for pair in zip(right, left):
            yield from pair
