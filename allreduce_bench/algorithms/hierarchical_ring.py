"""Hierarchical ring: reduce-scatter inside the node, rings between nodes per local rank, allgather inside the node.

With N nodes of L ranks, the ranks of a node first reduce-scatter among themselves, so that local rank k owns slice k
of the node's sum. The k-th ranks of all nodes then all-reduce slice k on a ring of their own (a rail); the rails run
at the same time. At last each node gathers the finished slices. For N = 2 nodes of L = 2 ranks (* = finished):

    round                      rank 0           rank 1           rank 2           rank 3
    1  reduce-scatter, node    slice 2 to 1     slice 1 to 0     slice 2 to 3     slice 1 to 2
    2  reduce-scatter, rail    1st half to 2    1st half to 3    2nd half to 0    2nd half to 1
    3  allgather, rail         ...              the halves that were finished go back
    4  allgather, node         slice 1* to 1    slice 2* to 0    slice 1* to 3    slice 2* to 2

Nodes of unequal sizes have as many rails as the smallest node has ranks. In a larger node the slices first move from
their owners to the rails' ranks and afterwards back: extra messages, so it pays where nodes are (nearly) equal. Ranks
need not be numbered node by node.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from allreduce_bench.algorithms._ring_phases import ring_allgather, ring_reduce_scatter
from allreduce_bench.schedule import Step, longest_block, split
from allreduce_bench.schedule.algorithm import Cost, Hops, Topology, algorithm

Move = tuple[int, int, range]  # source and destination as local ranks, elements


def moves_to_rails(owned: Sequence[range], slices: Sequence[range]) -> list[list[Move]]:
    """Return rounds of moves that bring each slice's elements from their owners to local rank = slice.

    In a round no local rank sends or receives twice. Reversed, the rounds bring everything back.
    """
    rounds: list[list[Move]] = []
    busy: list[set[tuple[str, int]]] = []  # senders and receivers of each round
    first = 0
    for source, own in enumerate(owned):
        while first < len(slices) and slices[first].stop <= own.start:
            first += 1  # both are in order: a slice that ended is over for later owners, too
        for dest in range(first, len(slices)):
            span = range(max(own.start, slices[dest].start), min(own.stop, slices[dest].stop))
            if slices[dest].start >= own.stop:
                break
            if source == dest or not span:
                continue
            ends = {("from", source), ("to", dest)}
            free = next((number for number, others in enumerate(busy) if not others & ends), len(rounds))
            if free == len(rounds):
                rounds.append([])
                busy.append(set())
            rounds[free].append((source, dest, span))
            busy[free] |= ends
    return rounds


def redistribute(node: Sequence[int], local: int, rounds: Sequence[Sequence[Move]]) -> Iterator[Step]:
    """Yield the steps of the node's `local`-th rank in these rounds of moves."""
    for moves in rounds:
        outgoing = next((move for move in moves if move[0] == local), None)
        incoming = next((move for move in moves if move[1] == local), None)
        yield Step(
            dest=node[outgoing[1]] if outgoing else None,
            send=(outgoing[2],) if outgoing else (),
            source=node[incoming[0]] if incoming else None,
            recv=(incoming[2],) if incoming else (),
        )


def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
    """Return the cost of the slowest node's two phases, redistribution both ways, and the longest slice's rail."""
    ranks_of_nodes = Counter(topology.node_of).values()
    nodes, sizes, rails = len(ranks_of_nodes), set(ranks_of_nodes), min(ranks_of_nodes)
    inside = max((local - 1) * longest_block(count, local) for local in sizes)
    across = (nodes - 1) * longest_block(longest_block(count, rails), nodes)
    unequal, slices = sizes - {rails}, split(range(count), rails)
    extra = max((len(moves_to_rails(split(range(count), local), slices)) for local in unequal), default=0)
    hops_within = [
        Hops(2 * (max(sizes) - 1), inside / max(1, max(sizes) - 1)),
        Hops(2 * extra, longest_block(count, rails + 1)),
    ]
    hops_between = Hops(2 * (nodes - 1), across / max(1, nodes - 1), between=True)
    return Cost.of([hops for hops in (*hops_within, hops_between) if hops.messages], reduced=inside + across)


@algorithm(
    cost=cost,
    exact=True,
    formula="(2(L-1) + 2(N-1)) alpha + 2(p-1)/p n beta + (p-1)/p n gamma on N equal nodes of L ranks",
    known_as="2D ring, Horovod hierarchical all-reduce, BlueConnect on two levels",
    why=(
        "2(L-1) + 2(N-1): rings inside the nodes of L ranks take L-1 rounds before and L-1 after; in between each"
        " slice goes twice round a ring of N nodes."
    ),
    best="large vectors on many nodes, and wherever messages inside a node are much cheaper than between nodes.",
    source='Cho et al., "BlueConnect", MLSys 2019, on two levels; called 2D ring by Jeaugey (NCCL 2.4, 2019).',
)
def hierarchical_ring(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
    """Rings inside each node, between nodes, inside again."""
    nodes = topology.nodes
    node = nodes[topology.node_of[rank]]
    local, rails = node.index(rank), min(map(len, nodes))
    owned, slices = split(range(count), len(node)), split(range(count), rails)
    to_rails = moves_to_rails(owned, slices)

    yield from ring_reduce_scatter(node, local, owned)
    yield from redistribute(node, local, to_rails)
    if local < rails:
        rail = [members[local] for members in nodes]
        block = split(slices[local], len(nodes))
        yield from ring_reduce_scatter(rail, topology.node_of[rank], block)
        yield from ring_allgather(rail, topology.node_of[rank], block)
    back = [[(dest, source, span) for source, dest, span in moves] for moves in reversed(to_rails)]
    yield from redistribute(node, local, back)
    yield from ring_allgather(node, local, owned)
