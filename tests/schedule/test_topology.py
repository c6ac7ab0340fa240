"""Which ranks share a node."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allreduce_bench.schedule.algorithm import Topology

label_lists = st.lists(st.sampled_from(["node07", "node3", "a", "b", "login"]), min_size=1, max_size=20)


@given(label_lists)
def test_from_labels_puts_ranks_of_equal_labels_together_in_the_order_of_their_lowest_rank(labels):
    topology = Topology.from_labels(labels)
    for one, label in enumerate(labels):
        for other, other_label in enumerate(labels):
            assert (topology.node_of[one] == topology.node_of[other]) == (label == other_label)
    lowest = [node[0] for node in topology.nodes]
    assert lowest == sorted(lowest)


@given(label_lists)
def test_nodes_are_the_ranks_once_each_ascending(labels):
    topology = Topology.from_labels(labels)
    assert sorted(rank for node in topology.nodes for rank in node) == list(range(len(labels)))
    for number, node in enumerate(topology.nodes):
        assert list(node) == sorted(node)
        assert all(topology.node_of[rank] == number for rank in node)


@given(st.integers(1, 40), st.integers(1, 12))
def test_filled_nodes_are_consecutive_and_only_the_last_may_be_smaller(size, ranks_per_node):
    nodes = Topology.filled(size, ranks_per_node).nodes
    assert [rank for node in nodes for rank in node] == list(range(size))
    assert all(len(node) == ranks_per_node for node in nodes[:-1])
    assert 1 <= len(nodes[-1]) <= ranks_per_node


def test_filled_with_all_ranks_is_one_node():
    assert Topology.filled(5, 5) == Topology.filled(5, 9) == Topology.one_node(5)


def test_labels_may_be_any_hashable():
    assert Topology.from_labels([7, (1, 2), 7, "x"]).nodes == ((0, 2), (1,), (3,))


@pytest.mark.parametrize(
    "labels, words",
    [("aabb", "2x2"), ("abab", "2x2"), ("a", "1x1"), ("abc", "3x1"), ("aaaabbbc", "4+3+1"), ("abbb", "1+3")],
)
def test_describe_says_the_layout_in_one_word(labels, words):
    assert Topology.from_labels(labels).describe() == words
