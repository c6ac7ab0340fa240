"""A finding, and the nodes that it names."""

from allreduce_bench.machine import finding, first_hosts, on_nodes

NODES = [{"host": f"n{number}"} for number in range(1, 7)]


def test_a_finding_is_what_is_kept():
    kept = {"code": "timer", "level": "info", "text": "t", "effect": "e", "advice": "a"}
    assert finding("timer", "info", "t", "e", "a") == kept


def test_the_first_four_nodes_are_named():
    assert first_hosts(NODES[:4]) == "n1, n2, n3, n4" and first_hosts(NODES) == "n1, n2, n3, n4 and 2 more"


def test_on_one_node_no_node_is_named():
    assert on_nodes(NODES[:1], NODES[:1]) == "" and on_nodes(NODES[1:2], NODES) == " on n2"
