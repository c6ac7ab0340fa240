"""Findings: few and true. Facts go in, words come out; what is not known makes none."""

import re

import pytest
from made_nodes import codes, found, node

from allreduce_bench.machine import LEVELS, hosts_of, on_nodes
from allreduce_bench.machine.findings import findings, oversubscribed, pypi_finding, singletons

FAST, SLOW = {"mlx5_0:1": 25e9}, {"mlx5_0:1": 12.5e9}


def test_quiet_nodes_have_none():
    assert found(node(), ranks=4) == [] and found(node(1), node(2), ranks=4) == []


def test_a_node_of_which_only_the_cores_are_known_has_none():
    assert found({"cores": 2}, ranks=2) == []
    unknown = dict.fromkeys(set(node()) - {"clock_step_s"}) | {"host": "n1", "cores": 2}
    assert found(unknown, unknown, ranks=2) == []


@pytest.mark.parametrize(
    ("facts", "ranks", "kind"),
    [
        ({}, 5, ("oversubscribed", "severe")),
        ({"cpus_of_ranks": 2}, 3, ("oversubscribed", "severe")),
        ({"cpu_quota": 1.5}, 2, ("oversubscribed", "severe")),
        ({"threads": 8, "cpus_of_ranks": 8}, 5, ("hyperthreads", "caution")),
        ({"threads": 8, "cpus_of_ranks": 8}, 9, ("oversubscribed", "severe")),
        ({"governors": ["performance", "powersave"]}, 2, ("governor", "caution")),
        ({"clock_step_s": 2e-6}, 2, ("timer", "caution")),
        ({"clock_step_s": None}, 2, ("timer", "caution")),
    ],
)
def test_each_trouble_is_found_alone(facts, ranks, kind):
    (one,) = found(node(**facts), ranks=ranks)
    assert (one["code"], one["level"]) == kind
    assert all(len(one[words]) > 10 for words in ("text", "effect", "advice"))


@pytest.mark.parametrize(
    ("facts", "ranks"),
    [
        ({"threads": 8, "cpus_of_ranks": 4}, 2),  # bound to cores
        ({"threads": 8, "cpus_of_ranks": 8}, 4),  # each has a core
        ({"cpu_quota": 2.0}, 2),
        ({"governors": []}, 2),
    ],
)
def test_what_is_in_order_is_not_found(facts, ranks):
    assert found(node(**facts), ranks=ranks) == []


def test_the_label_and_the_finding_of_oversubscription_agree():
    for threads, allowed, quota in ((4, 4, None), (8, 8, None), (8, 2, None), (8, None, 2.5), (None, None, None)):
        for ranks in range(1, 12):
            one = node(threads=threads, cpus_of_ranks=allowed, cpu_quota=quota)
            assert oversubscribed(one, ranks) == (("oversubscribed", "severe") in codes(one, ranks=ranks))


def test_figures_are_those_of_the_worst_node():
    worst = findings([node(1), node(2, cores=2, threads=2, cpus_of_ranks=2)], [2, 6], {})[0]
    assert worst["text"] == "oversubscribed: 6 ranks on a node of 2 usable cores"
    assert found(node(cpu_quota=0.5))[0]["text"].endswith("2 ranks on a node of 0.5 usable cores")


def test_the_worst_comes_first():
    levels = [
        LEVELS.index(one["level"]) for one in found(node(governors=["powersave"], cpu_quota=1.0), declared_nodes=2)
    ]
    assert levels == sorted(levels, reverse=True) and len(levels) == 3


def test_only_the_nodes_concerned_are_named_and_at_most_four():
    slow = found(node(1), node(2, governors=["powersave"]), node(3))[0]
    assert slow["code"] == "governor" and slow["text"].endswith(" powersave on n2")
    assert on_nodes([node(1)], [node(1)]) == "" and hosts_of([*map(node, range(1, 8))]) == "n1, n2, n3, n4 and 3 more"


def test_pretended_nodes_are_severe():
    assert codes(node(), declared_nodes=2) == [("pretended", "severe")]


def test_an_mpi_from_pypi_matters_between_nodes():
    wheel = {"library": "Open MPI 5.0.11", "from_pypi": True}
    assert codes(node(1), mpi=wheel) == []
    for from_pypi in (False, None):
        assert codes(node(1), node(2), mpi={**wheel, "from_pypi": from_pypi}) == []
    assert codes(node(1), node(2), mpi=wheel) == [("pypi", "caution")]
    nodes = [node(number, port_rates_bytes_per_s={"mlx5_0:1": None}) for number in (1, 2)]
    (one,) = found(*nodes, mpi=wheel)
    assert one == pypi_finding("Open MPI 5.0.11", "on 2 nodes", nodes) and one["level"] == "severe"
    assert one["text"].endswith("although the node has mlx5_0")


def test_ranks_that_are_alone_are_severe():
    assert singletons(2, 2) is None
    one = singletons(8, 1)
    assert one["level"] == "severe" and (one["code"], re.findall(r"\d+", one["text"])) == ("singletons", ["8", "1"])


# nodes of several kinds


def test_nodes_of_several_kinds_are_named_with_what_they_have():
    nodes = [node(1, processor="Old"), node(2, processor="Old"), node(3, processor="New", cores=8, threads=8)]
    (mixed,) = found(*nodes)
    assert mixed["level"] == "caution" and mixed["text"] == (
        "heterogeneous nodes: processor Old on n1, n2, New on n3; cores 4 on n1, n2, 8 on n3"
    )


def test_a_node_without_the_fabric_of_the_others_or_with_a_slower_port_is_named():
    nodes = [node(1, port_rates_bytes_per_s=FAST), node(2, port_rates_bytes_per_s=SLOW), node(3)]
    assert [one["text"] for one in found(*nodes)] == [
        "heterogeneous nodes: fabric mlx5_0:1 200 Gbit/s on n1, mlx5_0:1 100 Gbit/s on n2, none on n3"
    ]


@pytest.mark.parametrize(
    "facts",
    [
        [{}, {}],
        [{"processor": "A"}, {}],
        [{"port_rates_bytes_per_s": None}, {"port_rates_bytes_per_s": FAST}],
        [{"cores": 4, "threads": None}, {"cores": 4, "threads": 4}],
    ],
)
def test_nodes_of_one_kind_and_what_is_not_known_say_nothing(facts):
    assert codes(*(node(number, **own) for number, own in enumerate(facts, 1))) == []
