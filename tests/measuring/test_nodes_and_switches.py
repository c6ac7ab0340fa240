"""What is said of nodes of several kinds, and of the switches above them."""

import pytest
from made_nodes import codes, found, node

from allreduce_bench.report.how_measured import environment
from allreduce_bench.watching.lifeline import as_variables, of_hosts


def test_nodes_of_several_kinds_are_named_with_what_they_have():
    small = {"processor": "Old", "memory_nbytes": 64 << 30, "fabric_devices": ["mlx5_0"]}
    large = {"processor": "New", "memory_nbytes": 128 << 30, "fabric_devices": ["mlx5_0"]}
    nodes = [node(1, **small), node(2, **small), node(3, **large, cores=8, threads=16)]
    (one,) = [one for one in found(*nodes) if one["code"] == "mixed"]
    assert one["level"] == "caution"
    assert one["text"] == (
        "nodes of several kinds: processor Old on n1, n2, New on n3; cores 4 on n1, n2, 8 with 16 hardware threads on "
        "n3; memory 64 GiB on n1, n2, 128 GiB on n3"
    )


def test_a_node_without_the_fabric_of_the_others_or_with_a_slower_port_is_named():
    fast = {"fabric_devices": ["mlx5_0"], "port_rates_bytes_per_s": {"mlx5_0:1": 25e9}}
    slow = {"fabric_devices": ["mlx5_0"], "port_rates_bytes_per_s": {"mlx5_0:1": 12.5e9}}
    told = [one["text"] for one in found(node(1, **fast), node(2, **slow), node(3)) if one["code"] == "mixed"]
    assert told == ["nodes of several kinds: fabric mlx5_0:1 200 Gbit/s on n1, mlx5_0:1 100 Gbit/s on n2, none on n3"]


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


def test_switches_reach_rank_0_by_host_with_or_without_its_domain():
    told = as_variables({"n1": "s0/s1", "n2": "s0/s1", "n3": "s0/s2"})
    (text,) = told.values()
    assert of_hosts(text, ["n1", "n3.site.org", "n1", "n9"]) == {"n1": "s0/s1", "n3.site.org": "s0/s2"}
    assert as_variables({}) == {} and as_variables({f"node{i:06}": "s" for i in range(20_000)}) == {}
    assert of_hosts("", ["n1"]) == of_hosts("[1]", ["n1"]) == of_hosts('{"s": 1}', ["n1"]) == {}


def test_the_report_says_which_switches_are_above_the_hosts():
    fact = {"ranks": 4, "hosts": ["n1", "n1", "n2", "n3"], "switches": {"n1": "s0/s1", "n2": "s0/s1", "n3": "s0/s2"}}
    assert ("switches above the hosts", "s0/s1: n1, n2; s0/s2: n3") in environment([fact])
    assert not any("switches" in what for what, _ in environment([{**fact, "switches": {}}]))
