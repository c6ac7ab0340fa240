"""What the one port of a node must carry: the bytes that a schedule sends from the node to others, and receives.

All ranks of a node share its port, which sends and receives at the same time. A critical path alone does not see them
wait for each other: of eight ranks that exchange halves with another node at the same time it counts one.
"""

from functools import lru_cache
from math import ceil, lcm

from ..schedule import elements
from ..schedule.algorithm import Algorithm
from ..schedule.topology import Topology

ONE_NODE, ALL_NODES = 8_192, 2_048  # steps that are counted, empty ones included: of a node, and of several together


@lru_cache(maxsize=20_000)
def port_share(algorithm: Algorithm, ranks: int, nodes: int) -> float:
    """Bytes that cross the port of the busiest node in one direction, over those of the vector; of long vectors.

    At least 2(N-1)/N, which no algorithm goes below (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009).
    Nodes are filled one after the other. Of long schedules only some nodes are counted, evenly spread: the busiest of
    them carries no more than the busiest of all. Where a node alone has more than ONE_NODE steps, none is.
    """
    least = 2 * (nodes - 1) / nodes
    per_node = ceil(ranks / nodes)
    topology = Topology.filled(ranks, per_node)
    ranks_of = topology.nodes
    parts = lcm(ranks, 1 << ranks.bit_length() - 1, per_node, len(ranks_of[-1]) * len(ranks_of))  # all blocks are equal
    steps_of_node = per_node * max(_steps(algorithm, rank, ranks, topology, parts) for rank in {0, ranks - 1})
    if steps_of_node > ONE_NODE:
        return least
    number = min(len(ranks_of), max(1, ALL_NODES // max(1, steps_of_node)))
    spread = {round(place * (len(ranks_of) - 1) / max(1, number - 1)) for place in range(number)}
    return max(least, *(_crossing(algorithm, ranks_of[node], topology, parts) / parts for node in spread))


def _steps(algorithm: Algorithm, rank: int, ranks: int, topology: Topology, count: int) -> int:
    """The steps of a rank, counted to ONE_NODE and no further."""
    steps = algorithm.generate(rank, ranks, topology, count, count)
    return sum(1 for _, _ in zip(range(ONE_NODE + 1), steps))


def _crossing(algorithm: Algorithm, of_node: tuple[int, ...], topology: Topology, count: int) -> int:
    """Elements that the ranks `of_node` send to other nodes, or receive from them, if that is more."""
    node_of, sent, received = topology.node_of, 0, 0
    node = node_of[of_node[0]]
    for rank in of_node:
        for step in algorithm.generate(rank, len(node_of), topology, count, count):
            sent += elements(step.send) if step.dest is not None and node_of[step.dest] != node else 0
            received += elements(step.recv) if step.source is not None and node_of[step.source] != node else 0
    return max(sent, received)
