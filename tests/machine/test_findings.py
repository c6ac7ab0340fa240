"""Findings: few and true. Facts go in, words come out; what is not known makes none."""

import re

import pytest
from made_nodes import QUIET, codes, found, node

from allreduce_bench.machine import LEVELS
from allreduce_bench.machine.findings import findings, oversubscribed, pypi_finding, singletons


def test_quiet_nodes_have_none():
    assert found(node(), ranks=4) == [] and found(node(1), node(2), ranks=4) == []


def test_a_node_of_which_only_the_cores_are_known_has_none():
    assert found({"cores": 2}, ranks=2) == []
    unknown = dict.fromkeys(node()) | {"host": "n1", "cores": 2}
    assert found(unknown, unknown, ranks=2) == []


@pytest.mark.parametrize(
    ("facts", "ranks", "kind"),
    [
        ({}, 5, ("oversubscribed", "severe")),
        ({"cpus_of_ranks": 2}, 3, ("oversubscribed", "severe")),
        ({"threads": 8, "cpus_of_ranks": 8}, 5, ("hyperthreads", "caution")),
        ({"threads": 8, "cpus_of_ranks": 8}, 9, ("oversubscribed", "severe")),
        ({"threads": 8, "cpus_of_ranks": 8}, 2, ("hyperthreads", "info")),
        ({"cpu_quota": 1.5}, 2, ("quota", "severe")),
        ({"governors": ["performance", "powersave"]}, 2, ("governor", "caution")),
        ({"timer": {**QUIET, "cost_s": 2e-6}}, 2, ("timer", "caution")),
        ({"timer": {**QUIET, "step_s": 1.5e-5}}, 2, ("timer", "caution")),
        ({"timer": {**QUIET, "resolution_s": 1.5e-2}}, 2, ("timer", "caution")),
        ({"timer": {**QUIET, "step_s": None}}, 2, ("timer", "caution")),
        ({"huge_pages": {"transparent": "never", "reserved": 0}}, 2, ("huge pages", "info")),
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
        ({"threads": 8, "cpus_of_ranks": 8}, 1),
        ({"cpu_quota": 2.0}, 2),
        ({"load_1min": 9.0}, 2),  # the launches before are in it
        ({"governors": []}, 2),
        ({"huge_pages": {"transparent": "never", "reserved": 512}}, 2),
        ({"huge_pages": None}, 2),
    ],
)
def test_what_is_in_order_is_not_found(facts, ranks):
    assert found(node(**facts), ranks=ranks) == []


def test_the_label_and_the_finding_of_oversubscription_agree():
    for threads, allowed in ((4, 4), (8, 8), (8, 2), (8, None), (None, None)):
        for ranks in range(1, 12):
            one = node(threads=threads, cpus_of_ranks=allowed)
            said = ("oversubscribed", "severe") in codes(one, ranks=ranks)
            assert oversubscribed(one, ranks) == said


def test_figures_are_those_of_the_worst_node_and_affinity_is_named():
    nodes = [node(1), node(2, cores=2, threads=2, cpus_of_ranks=2)]
    worst = findings(nodes, [2, 6], {}, None)[0]
    assert worst["code"] == "oversubscribed" and re.findall(r"\d+ \w+", worst["text"]) == ["6 ranks", "2 cores"]
    limited = found(node(cpus_of_ranks=1))[0]
    assert limited["code"] == "oversubscribed" and "their affinity)" in limited["text"]
    assert re.findall(r"\d+ \w+", limited["text"]) == ["2 ranks", "1 hardware", "4 cores"]


def test_the_worst_comes_first():
    bad = node(governors=["powersave"], cpu_quota=1.0, huge_pages={"transparent": "never", "reserved": 0})
    levels = [LEVELS.index(one["level"]) for one in found(bad, declared=2)]
    assert levels == sorted(levels, reverse=True) and len(levels) == 4


def test_only_the_nodes_concerned_are_named():
    slow = found(node(1), node(2, governors=["powersave"]), node(3))[0]
    assert slow["code"] == "governor" and slow["text"].endswith(" powersave on n2")
    many = [node(number, governors=["ondemand"]) for number in range(1, 8)]
    assert found(*many)[0]["text"].endswith("on n1, n2, n3, n4 and 3 more")


def test_pretended_nodes_are_severe():
    assert codes(node(), declared=2) == [("pretended", "severe")]


def test_an_mpi_from_pypi_matters_between_nodes():
    wheel = {"library": "Open MPI 5.0.11", "from_pypi": True}
    assert codes(node(1), mpi=wheel) == []
    assert codes(node(1), node(2), mpi={**wheel, "from_pypi": False}) == []
    assert codes(node(1), node(2), mpi={**wheel, "from_pypi": None}) == []
    assert codes(node(1), node(2), mpi=wheel) == [("pypi", "caution")]
    one, other = found(node(1), node(2, fabric_devices=["mlx5_0"]), mpi=wheel)
    assert other["code"] == "mixed"
    assert one["level"] == "severe" and one == pypi_finding("Open MPI 5.0.11", "on 2 nodes", ["mlx5_0"])


def test_ranks_that_are_alone_are_severe():
    assert singletons(2, 2) == []
    (one,) = singletons(8, 1)
    assert one["level"] == "severe" and (one["code"], re.findall(r"\d+", one["text"])) == ("singletons", ["8", "1"])
