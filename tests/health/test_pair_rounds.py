"""Rounds of pairs: every pair once, disjoint, and no more rounds than there must be."""

from itertools import combinations

import pytest

from allreduce_bench.health.pair_folder import CheckSettings, PairRow
from allreduce_bench.health.rounds import (
    MOST_FOR_ALL,
    Order,
    circle_rounds,
    neighbour_round,
    pack_pairs,
    pair_slow_with_fast,
    plan_rounds,
    rounds_left,
    second_round,
)


def names(number: int) -> list[str]:
    return [f"n{place}" for place in range(number)]


def are_disjoint(pairs) -> bool:
    return len({name for pair in pairs for name in pair}) == 2 * len(pairs)


@pytest.mark.parametrize("number", [2, 3, 8, 33])
def test_every_pair_has_its_turn_once_in_as_few_rounds_as_possible(number):
    rounds = circle_rounds(names(number))
    assert len(rounds) == (number - 1 if number % 2 == 0 else number) and all(map(are_disjoint, rounds))
    found = [frozenset(pair) for pairs in rounds for pair in pairs]
    assert len(found) == len(set(found)) and set(found) == set(map(frozenset, combinations(names(number), 2)))


@pytest.mark.parametrize("number", [4, 66, 67])
def test_of_two_rounds_the_second_gives_everyone_another_partner(number):
    nodes = names(number)
    first = neighbour_round(nodes)
    rows = [PairRow(1, source, dest, 8, 1, 1.0 + place) for place, (source, dest) in enumerate(first)]
    second = second_round(nodes, first, rows)
    assert are_disjoint(first) and are_disjoint(second)
    assert not set(map(frozenset, first)) & set(map(frozenset, second))
    assert len({name for pair in [*first, *second] for name in pair}) == number


def test_the_slower_half_meets_the_faster_half():
    pairs = pair_slow_with_fast({("a", "b"): 1.0, ("c", "d"): 9.0, ("e", "f"): 2.0, ("g", "h"): 8.0})
    assert pairs == [("a", "g"), ("b", "h"), ("e", "c"), ("f", "d")]
    assert pair_slow_with_fast({("a", "b"): 1.0}) == []


def test_the_second_round_is_planned_when_the_first_is_done():
    nodes = names(MOST_FOR_ALL + 2)
    first = neighbour_round(nodes)
    assert plan_rounds(nodes, [], ()) == [first] and len(plan_rounds(names(MOST_FOR_ALL), [], ())) == 63
    rows = [PairRow(1, *pair, 8, 1, 1.0) for pair in first]
    assert len(plan_rounds(nodes, rows, set(map(frozenset, first)))) == 2


def test_pairs_of_nodes_that_failed_before_come_last():
    rounds = circle_rounds(names(4))
    left = rounds_left(rounds, {frozenset(("n0", "n3"))}, ["n3"])
    assert [len(pairs) for pairs in left] == [1, 1, 1, 1, 1]
    assert all("n3" not in name for pairs in left[:3] for name in pairs) and pack_pairs([]) == []
    assert all("n3" in pair for pairs in left[3:] for pair in pairs)


def test_an_order_is_read_as_it_was_written(tmp_path):
    order = Order(["a", "b"], 3, [[("a", "b")]], CheckSettings(("a", "b")), 5.0, False, True)
    order.write(tmp_path / "rounds.json")
    assert Order.read(tmp_path / "rounds.json") == order
