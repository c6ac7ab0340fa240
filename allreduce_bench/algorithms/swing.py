"""Swing: Rabenseifner's exchanges with partners that stay nearer: left and right in turn, at 1, 1, 3, 5, 11, ... ranks.

On a ring or a torus a message to a rank at distance d takes d links. Recursive halving needs the distances 1, 2, 4, 8,
...; Swing reaches as many ranks with about a third of that, since each rank alternates between its two sides (see
`_alternating`). A block b goes the way that leads to rank b: whom the last step brings to b, whom the one before brings
to those, and so on; a rank that several ways lead from takes the last. The allgather runs backwards. For p = 4
(* = finished), what rank a does:

    round                distance   a sends           a receives and adds
    1  reduce-scatter    1          2, 3 to b         1, 4 from b
    2  reduce-scatter    -1         4 to d            1 from d
    3  allgather         -1         1* to d           4* from d
    4  allgather         1          1*, 4* to b       2*, 3* from b
"""

from collections.abc import Iterator
from functools import lru_cache

from allreduce_bench.algorithms._alternating import alternating, alternating_cost, partner
from allreduce_bench.schedule import Step, split
from allreduce_bench.schedule.algorithm import Cost, Topology, algorithm


@lru_cache(maxsize=8)
def sent_by_0(size: int) -> list[list[int]]:
    """Return the blocks that rank 0 sends in each step of the reduce-scatter."""
    steps = (size - 1).bit_length()
    sent: list[list[int]] = [[] for _ in range(steps)]
    reached = {0: None}  # ranks from which block 0 finds its way, in order
    for step in reversed(range(steps)):
        for rank in [partner(rank, step, size) for rank in reached]:
            if rank not in reached:
                reached[rank] = None
                sent[step].append(rank if rank % 2 else -rank % size)  # what it is to block 0, rank 0 is to this block
    return sent


def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
    """Return the cost of the exchanges, and of folding if the ranks are odd."""
    return alternating_cost(size, topology, count, sent_by_0)


@algorithm(
    cost=cost,
    exact=False,
    formula="2 ceil(log2 p) alpha + 2(p-1)/p n beta + (p-1)/p n gamma for an even p",
    on_request=True,
    known_as="Swing (bandwidth variant), libswing SWING_B",
    why=(
        "2 ceil(log2 p), as in rabenseifner: exchanges halve what a rank sums up, and double it on the way back. "
        "The partners differ: they are nearer. An odd number of ranks takes two more."
    ),
    best="medium vectors on a ring or torus of ranks, whose links messages to far ranks share.",
    source='De Sensi et al., "Swing: Short-cutting Rings for Higher Bandwidth Allreduce", NSDI 2024, arXiv 2401.09356.',
)
def swing(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
    """Halves are exchanged left and right, ever further."""
    yield from alternating(rank, size, count, sent_by_0, split(range(count), max(1, size - size % 2)))
