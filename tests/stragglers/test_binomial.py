"""The upper tail of the binomial distribution."""

from math import comb

import numpy as np
import pytest

from allreduce_bench.stragglers.noise import chance_of_at_least


def test_the_tail_is_the_sum_of_its_terms():
    exact = [sum(comb(20, k) * 0.125**k * 0.875 ** (20 - k) for k in range(count, 21)) for count in range(21)]
    assert chance_of_at_least(np.arange(21), 20, 0.125) == pytest.approx(exact, rel=1e-9)


def test_many_trials_neither_overflow_nor_vanish():
    assert chance_of_at_least(np.array([50_000]), 100_000, 0.5)[0] == pytest.approx(0.5, abs=0.002)
    assert chance_of_at_least(np.array([100_000]), 100_000, 0.5)[0] == 0.0


def test_what_is_sure_has_no_chance():
    assert chance_of_at_least(np.array([0, 5]), 5, 1.0).tolist() == [1.0, 1.0]
    assert chance_of_at_least(np.array([0, 1]), 5, 0.0).tolist() == [1.0, 0.0]
