"""The hierarchical ring on any layout of nodes: proved, within its declared cost, and rarely in rank order."""

from hypothesis import given, settings
from hypothesis import strategies as st
from interpreters import FULL

from allreduce_bench.algorithms import builtin
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.price import price
from allreduce_bench.schedule.verify import verify

MODELS = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1), (5, 1, 0.5), (1, 7, 3), (100, 0.01, 0.3)]  # alpha, beta, gamma
HIERARCHICAL_RING = builtin()["hierarchical_ring"]


@settings(max_examples=400 if FULL else 60, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=14), st.integers(0, 60), st.sampled_from(MODELS))
def test_any_layout_of_nodes_is_proved_and_within_its_declared_cost(labels, count, model):
    size, topology = len(labels), Topology.from_labels(labels)
    alpha, beta, gamma = model
    schedules, cost = (
        HIERARCHICAL_RING.schedules(size, topology, count, max(count, 1)),
        HIERARCHICAL_RING.cost(size, topology, count, 1),
    )
    assert verify(schedules, count).same_bits
    declared = alpha * cost.messages + beta * cost.elements + gamma * cost.reduced
    assert price(schedules, alpha, beta, gamma).time <= declared * (1 + 1e-9)


def test_hierarchical_ring_keeps_rank_order_only_on_two_nodes_of_two_in_a_row():
    for labels, ordered in (("aabb", True), ("abab", False), ("aaaabbbb", False), ("aabbccdd", False)):
        schedules = HIERARCHICAL_RING.schedules(len(labels), Topology.from_labels(labels), 16, 16)
        assert verify(schedules, 16).rank_ordered == ordered, labels
