"""How one competitor stands to another, round by round."""

import random

import pytest

from allreduce_bench.evaluation.rounds import is_nearly_all, ratios_by_round, relation, times_by_round
from allreduce_bench.runs.schema import EQUAL, FASTEST, SLOWER, UNCLEAR

LEAST = {5: 5, 6: 6, 7: 7, 8: 8, 9: 8, 10: 9, 11: 10, 12: 10, 15: 12, 20: 15, 30: 21}


@pytest.mark.parametrize(("rounds", "least"), LEAST.items())
def test_nearly_all_rounds(rounds, least):
    assert [is_nearly_all(count, rounds) for count in (least - 1, least, rounds)] == [False, True, True]


def test_ratios_are_of_rounds_that_both_have():
    assert ratios_by_round({"2r-1": 1.0, "2r-2": 2.0}, {"2r-2-forced": 4.0, "2r-9": 1.0}) == {"2r-2": 0.5}


def test_four_of_four_are_not_enough():
    assert not is_nearly_all(4, 4) and not is_nearly_all(1, 9)


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ([2.0, 1.1, 1.06, 1.3, 1.01], SLOWER),
        ([1 / 2.0, 1 / 1.1, 1 / 1.06, 1 / 1.3, 1 / 1.01], FASTEST),
        ([2.0, 1.1, 1.06, 1.3, 0.99], UNCLEAR),  # lower in four of five
        ([1.04, 1.03, 1.04, 1.04, 1.02], EQUAL),  # always slower, but by less than 5 %
        ([1.04, 1.03, 0.98, 1.0, 1.11], UNCLEAR),  # a round 11 % apart
        ([1.0] * 4, UNCLEAR),
        ([2.0] * 8 + [0.5], SLOWER),  # eight of nine
        ([], UNCLEAR),
    ],
)
def test_the_relation_of_two_competitors(ratios, expected):
    times_s = {f"2r-{number}": ratio for number, ratio in enumerate(ratios)}
    others_s = dict.fromkeys([*times_s, "2r-99"], 1.0)
    assert relation(times_s, others_s) == expected
    reverse = {SLOWER: FASTEST, FASTEST: SLOWER}.get(expected, expected)
    assert relation(others_s, times_s) == reverse


def test_a_launch_that_one_lacks_costs_that_pair_only():
    times_s = times_by_round({f"2r-{number}-ring": 2.0 for number in range(1, 7)})
    others_s = times_by_round({f"2r-{number}": 1.0 for number in range(2, 7)})
    assert relation(times_s, others_s) == SLOWER
    assert relation(times_s, {name: 1.0 for name in list(others_s)[1:]}) == UNCLEAR


def test_two_that_are_equal_are_rarely_told_apart():
    draw = random.Random(48)
    noisy = [{f"2r-{launch}": draw.lognormvariate(0, 0.1) for launch in range(8)} for _ in range(2000)]
    found = [relation(one, other) for one, other in zip(noisy[::2], noisy[1::2])]
    assert sum(standing in (SLOWER, FASTEST) for standing in found) < 0.025 * 1000
