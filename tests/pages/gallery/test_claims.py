"""Steps on 1,024 ranks and times over ranks."""

from math import log2

import pytest

from allreduce_bench.pages.gallery.facts import CLAIM_RANKS, CLAIM_SIZES, steps_of, times_over_ranks


def test_1024_ranks_climb_and_descend_ten_levels_and_go_round_twice():
    counted = steps_of(1024)
    assert (counted.tree_height, counted.tree_levels) == (10, 20)
    assert counted.ring_steps == 2046
    assert (counted.doubling_rounds, counted.halving_rounds) == (10, 20)
    assert counted.tree_levels <= counted.tree_rounds <= 2 * counted.tree_levels


@pytest.mark.parametrize("ranks", [2, 4, 32])
def test_other_numbers_of_ranks_follow_the_formulas(ranks):
    counted = steps_of(ranks)
    assert counted.ring_steps == 2 * (ranks - 1)
    assert counted.tree_height == counted.doubling_rounds == log2(ranks)


def test_a_ring_is_nearly_independent_of_the_ranks_for_long_vectors_alone():
    growth = {line.size_bytes: line.growth(16, 1024) for line in times_over_ranks() if line.algorithm == "ring"}
    short, middle, long = (growth[size_bytes] for size_bytes in CLAIM_SIZES)
    assert short == pytest.approx(1023 / 15, rel=0.01)  # messages alone
    assert 20 < middle < short
    assert 1 < long < 1.2


def test_times_are_those_of_the_formula():
    (line,) = [line for line in times_over_ranks([1 << 20]) if line.algorithm == "ring"]
    assert line.ranks == CLAIM_RANKS
    for ranks, time_s in zip(line.ranks, line.times_s):
        assert time_s == pytest.approx(2 * (ranks - 1) * (5e-6 + (1 << 20) / ranks / 12.5e9), rel=1e-3)
