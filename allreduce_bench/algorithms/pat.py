"""PAT (parallel aggregated trees): a binomial tree for each block, all at once; any number of ranks.

Each block b has a tree of its own that ends at rank b. In round k every rank r sends the partial sums of each second,
fourth, eighth, ... block from r + 2^k on to rank r + 2^k, far messages last: where the ranks of a node are neighbours,
the many short blocks stay inside it and only sums leave it. The allgather runs backwards. As many messages and bytes
as `circulant`, but of separate blocks. For p = 4 (* = finished), what rank a does:

    round                distance   a sends           a receives and adds
    1  reduce-scatter    1          2, 4 to b         1, 3 from d
    2  reduce-scatter    2          3 to c            1 from c
    3  allgather         2          1* to c           3* from c
    4  allgather         1          1*, 3* to d       2*, 4* from b
"""

from collections.abc import Iterator

from allreduce_bench.algorithms._mirrored import Exchange, crossing, mirrored_cost, reduce_scatter_allgather, shifted
from allreduce_bench.schedule import Step, longest_block, split
from allreduce_bench.schedule.algorithm import Cost, Topology, algorithm


def distances(size: int) -> list[int]:
    """Return the powers of two below `size`."""
    return [1 << k for k in range((size - 1).bit_length())]


def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
    """Return the cost of each second, fourth, ... block, there and back."""
    blocks = [len(range(distance, size, 2 * distance)) for distance in distances(size)]
    return mirrored_cost(blocks, crossing(topology, shifted, tuple(distances(size))), longest_block(count, size))


@algorithm(
    cost=cost,
    exact=True,
    formula="2 ceil(log2 p) alpha + 2(p-1)/p n beta + (p-1)/p n gamma",
    on_request=True,
    known_as="NCCL PAT, there for reduce-scatter and allgather alone",
    why=(
        "2 ceil(log2 p): each round doubles the ranks that are summed up in a block, as in any binomial tree, and"
        " a message carries the blocks of many trees. The way back takes as many."
    ),
    best="medium vectors on many ranks whose neighbours are near.",
    source=(
        'Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv 2506.20252, 2025'
        "; in NCCL since 2.23. Here with full aggregation: all blocks of a round in one message."
    ),
)
def pat(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
    """Each block climbs a binomial tree, and comes down."""
    block = split(range(count), size)
    rounds = []
    for distance in distances(size):
        to = [(rank + slot) % size for slot in range(distance, size, 2 * distance)]
        own = [(rank + slot - distance) % size for slot in range(distance, size, 2 * distance)]
        rounds.append(Exchange((rank + distance) % size, to, (rank - distance) % size, own))
    yield from reduce_scatter_allgather(rounds, block)
