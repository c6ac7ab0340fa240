"""Which node is in more failed pairs than chance explains."""

from itertools import combinations

import pytest

from allreduce_bench.health.failed_pairs import chance_of_failures, failing_nodes


def pairs_of(nodes: int) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in combinations([f"n{number}" for number in range(nodes)], 2)}


def pairs(*words: str) -> set[frozenset[str]]:
    return {frozenset(word.split("+")) for word in words}


def test_the_chance_is_hypergeometric():
    assert chance_of_failures(0, 18, 16, 136) == pytest.approx(1.0)
    assert chance_of_failures(1, 1, 3, 6) == pytest.approx(0.5)  # one failed pair of six, of which three are the node's
    assert chance_of_failures(2, 2, 3, 6) == pytest.approx(3 / 15)


def test_a_node_in_most_of_the_failed_pairs_is_named():
    failed = {frozenset((f"n{number}", "n3")) for number in (0, 1, 5, 6, 7, 8, 9, 10)}
    failed |= pairs("n0+n1", "n4+n5", "n6+n12", "n11+n2", "n13+n14", "n15+n16", "n2+n7", "n8+n10", "n9+n14", "n5+n16")
    (found,) = failing_nodes(pairs_of(17), failed)
    assert (found.node, found.failed, found.tried, found.all_failed) == ("n3", 8, 16, 18)
    assert found.expected == pytest.approx(2.12, abs=0.01) and found.p_value < 0.01


@pytest.mark.parametrize("failed", [set(), pairs("n0+n1"), pairs("n0+n1", "n2+n3", "n4+n5", "n0+n6"), pairs_of(8)])
def test_failures_that_chance_explains_or_that_are_everywhere_name_nobody(failed):
    assert failing_nodes(pairs_of(8), failed) == []


def test_a_dead_node_is_named_also_of_few_and_so_is_a_second_one():
    dead = {pair for pair in pairs_of(4) if "n2" in pair}
    assert [one.node for one in failing_nodes(pairs_of(4), dead)] == ["n2"]
    two = {pair for pair in pairs_of(12) if pair & {"n2", "n5"}}
    assert sorted(one.node for one in failing_nodes(pairs_of(12), two)) == ["n2", "n5"]
