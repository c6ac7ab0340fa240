"""`health`: a slow node is told from a slow link, by pairs of nodes alone, and over real hosts."""

import re

import pytest

from allreduce_bench.evaluation.node_pairs import (
    LARGE,
    SMALL,
    MeasuredPair,
    PairTime,
    judged_pairs,
    measured_pair,
    pair_table,
    pairs_of,
    slow_part_sentences,
    undecided_sentences,
)

NODES = ("n1", "n2", "n3", "n4", "n5", "n6")
DEAD = "nothing for 60 s"


def found(nodes, slow=None, why=None, fastest=None) -> list:
    """The pairs of nodes: 10 us and 1 ms, times `slow[pair]` = (small, large); `why[pair]` failed.

    The fastest launch of a pair: the same times `fastest[pair]`, else no faster than the others.
    """
    slow, why, fastest, pairs = slow or {}, why or {}, fastest or {}, []
    for pair in pairs_of(nodes):
        small, large = slow.get(pair, (1.0, 1.0))
        low_small, low_large = fastest.get(pair, (small, large))
        times = {SMALL: PairTime(1e-5 * small, 1e-5 * low_small), LARGE: PairTime(1e-3 * large, 1e-3 * low_large)}
        pairs.append(MeasuredPair(pair, {}, why[pair]) if pair in why else MeasuredPair(pair, times))
    return judged_pairs(pairs, 0.2)


def of_node(nodes, node, value) -> dict:
    return {pair: value for pair in pairs_of(nodes) if node in pair}


def names(pairs) -> list[str]:
    """`node n1` and `link n1+n2` of each sentence."""
    return [re.match(r"(node [^:]+|link \S+)", sentence)[1] for sentence in slow_part_sentences(pairs)]


def test_the_pairs_are_a_ring():
    assert pairs_of(["a", "b"]) == [("a", "b")]
    assert pairs_of(["a", "b", "c"]) == [("a", "b"), ("b", "c"), ("c", "a")]


@pytest.mark.parametrize("nodes", [[], ["a"], ["a", "b", "a"]])
def test_other_numbers_of_nodes_make_no_pairs(nodes):
    with pytest.raises(ValueError, match="expected two nodes or more, each once; found"):
        pairs_of(nodes)


def test_where_all_are_alike_nobody_is_named():
    assert slow_part_sentences(found(NODES)) == [] and undecided_sentences(found(NODES), 0.2) == []
    assert slow_part_sentences(found(NODES, {("n1", "n2"): (1.19, 1.19)})) == []


@pytest.mark.parametrize("node", NODES[:4])
@pytest.mark.parametrize("nodes", [NODES, NODES[:4]], ids=len)
@pytest.mark.parametrize("value", [(1.3, 1.0), (1.0, 1.3), (50.0, 50.0)])
def test_a_slow_node_is_named_and_its_neighbours_are_not(node, nodes, value):
    assert names(found(nodes, of_node(nodes, node, value))) == [f"node {node}"]


def test_a_slow_link_is_named_and_its_nodes_are_not():
    (sentence,) = slow_part_sentences(found(NODES, {("n3", "n4"): (1.0, 2.0)}))
    assert sentence == "link n3+n4 has 1.00 times the median latency and 0.500 times the median bandwidth"


def test_a_pair_that_is_slow_in_some_launches_only_names_nobody():
    noisy = {pair: (1.9, 1.5) for pair in pairs_of(NODES)[:2]}
    pairs = found(NODES, noisy, fastest={pairs_of(NODES)[0]: (1.1, 1.19), pairs_of(NODES)[1]: (1.0, 1.3)})
    assert names(pairs) == ["link n2+n3"]
    states = [line.split("  ")[-1] for line in pair_table(pairs)[1:]]
    assert states[:3] == [
        "slow in some launches: latency and bandwidth",
        "slow: bandwidth; slow in some launches: latency",
        "ok",
    ]


def test_slow_in_two_ways_is_not_slow_in_one():
    """Latency with one neighbour, bandwidth with the other: two links, nothing that the node does everywhere."""
    assert names(found(NODES, {("n2", "n3"): (2.0, 1.0), ("n3", "n4"): (1.0, 2.0)})) == ["link n2+n3", "link n3+n4"]


def test_a_node_between_two_slow_ones_is_doubted():
    nodes = [f"n{number}" for number in range(1, 10)]
    sentences = slow_part_sentences(found(nodes, of_node(nodes, "n2", (2, 2)) | of_node(nodes, "n4", (2, 2))))
    doubted = [sentence[:7] for sentence in sentences if sentence.endswith("so this node may be healthy")]
    assert [sentence[:7] for sentence in sentences] == ["node n2", "node n3", "node n4"] and doubted == ["node n3"]


def test_a_dead_node_is_named_with_the_reason_said_once():
    assert slow_part_sentences(found(NODES, why=of_node(NODES, "n3", DEAD))) == [
        f"node n3: n2+n3 and n3+n4 failed: {DEAD}"
    ]


def test_the_neighbour_of_a_dead_node_is_judged_by_its_other_pair():
    pairs = found(NODES, {("n4", "n5"): (2.0, 2.0)}, of_node(NODES, "n3", DEAD))
    assert names(pairs) == ["node n3", "link n4+n5"]


def test_one_pair_that_failed_is_a_link():
    assert slow_part_sentences(found(NODES, why={("n6", "n1"): DEAD})) == [f"link n6+n1 failed: {DEAD}"]


def test_where_every_pair_failed_no_node_is_blamed():
    assert names(found(NODES[:3], why={pair: DEAD for pair in pairs_of(NODES[:3])})) == [
        "link n1+n2",
        "link n2+n3",
        "link n3+n1",
    ]
    assert names(found(NODES[:2], why={("n1", "n2"): DEAD})) == ["link n1+n2"]


def test_what_two_or_three_nodes_cannot_tell_is_said():
    assert slow_part_sentences(found(NODES[:2], {("n1", "n2"): (99, 99)})) == []
    assert undecided_sentences(found(NODES[:2]), 0.2)[0].startswith(
        "slow nodes cannot be identified: fewer than two pairs"
    )
    even = undecided_sentences(found(NODES[:3]), 0.2)[0]
    assert even == (
        "slow nodes cannot be identified: a slow node affects two of 3 pairs and thus the median; "
        "name four nodes or more"
    )
    (odd,) = undecided_sentences(found(NODES[:3], of_node(NODES[:3], "n3", (1.0, 2.0))), 0.2)
    assert odd == f"{even}; n1+n2 is faster than both other pairs, so n3 may be slow"
    assert names(found(NODES[:3], {("n1", "n2"): (1.0, 2.0)})) == ["link n1+n2"]  # but a slow link is told
    assert undecided_sentences(
        found(NODES, why={**of_node(NODES, "n3", DEAD), ("n6", "n1"): DEAD}), 0.2
    )  # three pairs are left


def test_the_table_holds_every_pair_against_the_median():
    lines = pair_table(found(("n1", "n2", "n3", "node4"), {("n2", "n3"): (1.0, 2.0)}, {("node4", "n1"): DEAD}))
    assert lines == [
        "pair      latency us  / median  busbw GB/s  / median  state",
        "n1+n2           10.0      1.00        4.19      1.00  ok",
        "n2+n3           10.0      1.00         2.1      0.50  slow: bandwidth",
        "n3+node4        10.0      1.00        4.19      1.00  ok",
        "node4+n1           -         -           -         -  failed",
    ]


def row(nbytes=SMALL, **facts) -> dict:
    return {
        "algorithm": "ring",
        "nbytes": nbytes,
        "state": "done",
        "reason": None,
        "nodes": 2,
        "time_s": 1e-5,
        "spread_low_s": 9e-6,
    } | facts


def test_of_a_run_the_faster_algorithm_counts():
    rows = [
        row(),
        row(time_s=2e-5),
        row(LARGE, time_s=1e-3, spread_low_s=7e-4),
        row(LARGE, time_s=9e-4, spread_low_s=8e-4),
    ]
    times = {SMALL: PairTime(1e-5, 9e-6), LARGE: PairTime(9e-4, 7e-4)}
    assert measured_pair(("a", "b"), rows) == MeasuredPair(("a", "b"), times)


def test_a_run_that_is_not_what_it_seems_is_a_failed_pair():
    assert measured_pair(("a", "b"), [row(), row(LARGE, state="wrong", reason="3 wrong elements")]).failure == (
        "ring 4 MiB: wrong, 3 wrong elements"
    )
    assert "both ranks on one node" in measured_pair(("a", "b"), [row(nodes="1")]).failure
