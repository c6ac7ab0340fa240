"""What crosses the port of a node: held against whole schedules, and against the bound of all algorithms."""

import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.models.prediction import port_share
from allreduce_bench.schedule import elements
from allreduce_bench.schedule.algorithm import Topology


def busiest(name: str, ranks: int, per_node: int, count: int) -> float:
    """The same of every step of every rank."""
    topology = Topology.filled(ranks, per_node)
    sent, received = [0] * len(topology.nodes), [0] * len(topology.nodes)
    for rank, steps in enumerate(builtin()[name].schedules(ranks, topology, count, count)):
        node = topology.node_of[rank]
        for step in steps:
            sent[node] += elements(step.send) if step.dest is not None and topology.node_of[step.dest] != node else 0
            from_others = step.source is not None and topology.node_of[step.source] != node
            received[node] += elements(step.recv) if from_others else 0
    return max(*sent, *received) / count


@pytest.mark.parametrize("name", builtin())
@pytest.mark.parametrize("ranks, per_node", [(8, 4), (12, 4), (16, 2), (10, 4), (6, 1)])
def test_the_busiest_node_is_that_of_the_whole_schedule(name, ranks, per_node):
    if builtin()[name].unmet(ranks, Topology.filled(ranks, per_node)):
        pytest.skip("cannot run")
    nodes = -(-ranks // per_node)
    least = max(busiest(name, ranks, per_node, 16 * 3 * 5 * ranks), 2 * (nodes - 1) / nodes)
    assert port_share(builtin()[name], ranks, nodes) == pytest.approx(least, rel=1e-3)


def test_no_algorithm_is_below_the_bound_of_all():
    for algorithm in builtin().values():
        for nodes in (2, 128):
            assert port_share(algorithm, 4 * nodes, nodes) >= 2 * (nodes - 1) / nodes
    assert port_share(builtin()["hierarchical_ring"], 512, 128) == pytest.approx(2 * 127 / 128)
    assert port_share(builtin()["recursive_doubling"], 512, 128) == 4 * 7  # four ranks send all, seven times
    assert port_share(builtin()["naive"], 1 << 15, 1 << 14) == 2 - 2 / (1 << 14)  # too long to be counted
