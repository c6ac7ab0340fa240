"""Nodes of several kinds in one launch are named with what they have."""

import pytest
from made_nodes import codes, found, node


def test_nodes_of_several_kinds_are_named_with_what_they_have():
    small = {"processor": "Old", "memory_nbytes": 64 << 30, "fabric_devices": ["mlx5_0"]}
    large = {"processor": "New", "memory_nbytes": 128 << 30, "fabric_devices": ["mlx5_0"]}
    nodes = [node(1, **small), node(2, **small), node(3, **large, cores=8, threads=16)]
    (mixed,) = [finding for finding in found(*nodes) if finding["code"] == "mixed"]
    assert mixed["level"] == "caution"
    title, _, differences = mixed["text"].partition(": ")
    assert title == "heterogeneous nodes" and differences.split("; ") == [
        "processor Old on n1, n2, New on n3",
        "cores 4 on n1, n2, 8 with 16 hardware threads on n3",
        "memory 64 GiB on n1, n2, 128 GiB on n3",
    ]


def test_a_node_without_the_fabric_of_the_others_or_with_a_slower_port_is_named():
    fast = {"fabric_devices": ["mlx5_0"], "port_rates_bytes_per_s": {"mlx5_0:1": 25e9}}
    slow = {"fabric_devices": ["mlx5_0"], "port_rates_bytes_per_s": {"mlx5_0:1": 12.5e9}}
    texts = [
        finding["text"] for finding in found(node(1, **fast), node(2, **slow), node(3)) if finding["code"] == "mixed"
    ]
    assert texts == ["heterogeneous nodes: fabric mlx5_0:1 200 Gbit/s on n1, mlx5_0:1 100 Gbit/s on n2, none on n3"]


@pytest.mark.parametrize(
    "facts",
    [
        [{}, {}],
        [{"memory_nbytes": 1000 << 20}, {"memory_nbytes": 1010 << 20}],  # what firmware keeps
        [{"memory_nbytes": 1000 << 20}, {"memory_nbytes": None}],
        [{"processor": "A"}, {}],
        [{"fabric_devices": None}, {"fabric_devices": ["mlx5_0"]}],
        [{"cores": 4, "threads": None}, {"cores": 4, "threads": 4}],
    ],
)
def test_nodes_of_one_kind_and_what_is_not_known_say_nothing(facts):
    assert ("mixed", "caution") not in codes(*(node(number, **own) for number, own in enumerate(facts, 1)))
