"""Ring all-reduce: 2(p-1) rounds between neighbours, the least possible traffic per rank.

Each round, every rank passes one block to its right neighbour. During the reduce-scatter a block gathers one
contribution per hop, so after p-1 hops rank r owns the finished block r+1. During the allgather the finished blocks
travel round the ring once more. For p = 3 (* = finished):

    round                rank 0 sends   rank 1 sends   rank 2 sends
    1  reduce-scatter    block 0        block 1        block 2
    2  reduce-scatter    block 2        block 0        block 1
    3  allgather         block 1*       block 2*       block 0*
    4  allgather         block 0*       block 1*       block 2*
"""

from collections.abc import Iterator

from allreduce_bench.schedule import Step, longest_block, split
from allreduce_bench.schedule.algorithm import Cost, Topology, algorithm


def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
    """Return the cost: the longest block makes 2(p-1) hops and is reduced on p-1 of them."""
    block = longest_block(count, size)
    return Cost(2 * (size - 1), 2 * (size - 1) * block, (size - 1) * block)


@algorithm(
    cost=cost,
    exact=True,
    formula="2(p-1) alpha + 2(p-1)/p n beta + (p-1)/p n gamma",
    known_as="NCCL Ring, Open MPI tuned 4 (ring)",
    why=(
        "2(p-1): a block needs p-1 hops round the ring until all p ranks have added their part, and its sum p-1 "
        "hops more until all have it. All p blocks travel at once, one from each rank, so that every link works "
        "in every round."
    ),
    best="vectors of many bytes per rank; its latency grows with p.",
    source="Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009.",
)
def ring(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
    """Blocks travel twice round a ring of neighbours."""
    block = split(range(count), size)
    right, left = (rank + 1) % size, (rank - 1) % size

    for hop in range(size - 1):  # reduce-scatter
        send, recv = block[(rank - hop) % size], block[(rank - hop - 1) % size]
        yield Step(dest=right, send=(send,), source=left, recv=(recv,), reduce=True)

    for hop in range(size - 1):  # allgather
        send, recv = block[(rank - hop + 1) % size], block[(rank - hop) % size]
        yield Step(dest=right, send=(send,), source=left, recv=(recv,))
