"""Cells are judged over all pairs of an old and a new time."""

import pytest
from made_sides import at_most, rates

from allreduce_bench.comparison.pairs import PairCounts, count_pairs, judge_pairs

EVEN = [1.0] * 5


@pytest.mark.parametrize(
    ("before", "after", "verdict", "counts"),
    [
        (EVEN, [1.06] * 5, "slower", (25, 0, 25)),
        (EVEN, [0.94] * 5, "faster", (0, 25, 25)),
        (EVEN, [1.05] * 5, "same", (25, 0, 25)),  # just within the threshold
        (EVEN, [1.2, 1.2, 1.2, 1.2, 0.9], "undecided", (20, 5, 0)),  # 8 of 10 pairs
        ([1.0] * 9 + [1.3], [1.2] * 10, "slower", (90, 10, 10)),  # 9 of 10 pairs
        ([1.0] * 8 + [1.3] * 2, [1.2] * 10, "undecided", (80, 20, 20)),
        ([1.0] * 9 + [0.7], [0.8] * 10, "faster", (10, 90, 0)),
        ([1.0] * 9 + [0.5], EVEN, "same", (5, 0, 45)),  # medians within 5 %, 9 of 10 pairs within 10 %
        ([1.0] * 8 + [0.5] * 2, EVEN, "undecided", (10, 0, 40)),
        (EVEN, [1.0, 1.0, 1.0, 1.11, 0.9], "undecided", (5, 5, 15)),
    ],
)
def test_a_verdict_is_nine_of_ten_pairs_and_the_medians(before, after, verdict, counts):
    assert judge_pairs(before, after, 0.05) == (verdict, PairCounts(*counts, len(before) * len(after)))


def test_the_threshold_is_of_the_medians_and_twice_it_of_the_pairs():
    assert judge_pairs(EVEN, [1.3] * 5, 0.3).verdict == "same" and judge_pairs(EVEN, [1.3] * 5, 0.2).verdict == "slower"
    assert count_pairs([(1.0, 1.15), (1.0, 1.25), (1.25, 1.0)], 0.1) == (2, 1, 1, 3)


@pytest.mark.parametrize(("launches", "found"), [(5, 0.89), (10, 0.95), (20, 0.98)])
def test_what_is_a_third_slower_is_found_and_equals_are_not(launches, found):
    cells = 1000
    assert 1 - rates(0.1, launches, 1.3, cells).slower <= at_most(1 - found, cells) / cells
    equal = rates(0.3, launches, 1.0, cells)
    assert max(equal.slower, equal.faster) <= at_most(0.02 if launches == 5 else 0.002, cells) / cells
