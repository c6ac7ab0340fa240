"""Parameter server: one master gathers, reduces and sends back; or every rank is the master of one block."""

from collections.abc import Iterator

from allreduce_bench.schedule import Step, longest_block, split
from allreduce_bench.schedule.algorithm import Cost, Hops, Topology, algorithm

SOURCE = (
    'Li et al., "Scaling Distributed Machine Learning with the Parameter Server", OSDI 2014; the sharded form '
    "is the pairwise-exchange reduce-scatter of Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, and its "
    "mirror image."
)


def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
    """Return the cost of the master's path: p-1 vectors in, p-1 vectors out, some of them within its node."""
    beside = topology.node_of.count(topology.node_of[0]) - 1
    hops = [Hops(2 * beside, count), Hops(2 * (size - 1 - beside), count, between=True)]
    return Cost.of([hop for hop in hops if hop.messages], reduced=(size - 1) * count)


def sharded_cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
    """Return the cost of 2(p-1) messages of the longest block."""
    block = longest_block(count, size)
    return Cost(2 * (size - 1), 2 * (size - 1) * block, (size - 1) * block)


@algorithm(
    cost=cost,
    exact=True,
    formula="2(p-1) alpha + 2(p-1) n beta + (p-1) n gamma",
    bounded=True,
    why=("2(p-1): the master takes one vector at a time, p-1 times, and sends the sum p-1 times."),
    best="tiny vectors on very few ranks.",
    source=SOURCE,
)
def parameter_server(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
    """One master gathers, reduces and sends back.

    Rank 0 receives the vectors one after the other, adds them up and sends the result to each. All traffic meets at one
    rank, which is the lesson. For p = 4 (* = finished):

        round   1        2         3           4           5           6
        moves   b to a   c to a    d to a      a* to b     a* to c     a* to d
        a has   a+b      a+b+c     a+b+c+d     .           .           .

    The sum is the serial one, in rank order. A receive from any source would be faster and make the bits depend on
    luck, so the order is fixed.
    """
    vector = (range(count),)
    if rank == 0:
        for worker in range(1, size):
            yield Step(dest=None, send=(), source=worker, recv=vector, reduce=True)
        for worker in range(1, size):
            yield Step(dest=worker, send=vector, source=None, recv=())
    else:
        yield Step(dest=0, send=vector, source=None, recv=())
        yield Step(dest=None, send=(), source=0, recv=vector)


@algorithm(
    cost=sharded_cost,
    exact=True,
    formula="2(p-1) alpha + 2(p-1)/p n beta + (p-1)/p n gamma",
    known_as="reduce-scatter and allgather by pairwise exchange",
    why=("2(p-1): each rank takes its block from the p-1 others, one a round, and sends them its sum, one a round."),
    best="full-bandwidth switches, where many partners cost nothing.",
    source=SOURCE,
)
def parameter_server_sharded(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
    """Every rank is the master of one block.

    Rank r is the master of block r. In round j every rank sends its part of block r+j to that block's master; then
    every master sends its finished block to rank r+j in turn. The same volume as the ring, but p-1 partners in place of
    two.
    """
    block = split(range(count), size)
    for distance in range(1, size):
        up, down = (rank + distance) % size, (rank - distance) % size
        yield Step(dest=up, send=(block[up],), source=down, recv=(block[rank],), reduce=True)
    for distance in range(1, size):
        up, down = (rank + distance) % size, (rank - distance) % size
        yield Step(dest=up, send=(block[rank],), source=down, recv=(block[down],))
