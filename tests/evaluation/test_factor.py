"""The factor between two series of launches is the ratio of their printed times, and lies in its interval."""

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allreduce_bench.evaluation.spread import factor_of
from allreduce_bench.stats import geometric_mean, median


def named(values) -> dict[str, float]:
    return {f"2r-{number}": float(value) for number, value in enumerate(values, 1)}


def test_it_is_the_ratio_of_the_medians_and_not_the_mean_of_ratios():
    found = factor_of([(named([5, 6, 30, 5, 6]), named([2, 3, 3, 3, 1]))])
    assert found.value == 6 / 3 and found.launches == 5
    assert (found.low, found.high) == pytest.approx((5 / 3, 10))  # the range of the ratios of launches


def test_of_several_sizes_it_is_the_geometric_mean():
    pairs = [(named([4, 4, 4]), named([1, 1, 1])), (named([1, 1, 1]), named([1, 1, 1]))]
    assert factor_of(pairs)[:3] == pytest.approx((2, 2, 2))


@given(st.integers(3, 12), st.integers(1, 4), st.integers(0, 2**31))
def test_it_lies_in_its_interval_which_is_the_same_every_time(launches, sizes, seed):
    random = np.random.default_rng(seed)
    pairs = [tuple(named(random.lognormal(0, 0.3, launches)) for _ in range(2)) for _ in range(sizes)]
    found = factor_of(pairs)
    assert found.value == pytest.approx(geometric_mean([median(a.values()) / median(b.values()) for a, b in pairs]))
    assert found.low <= found.value <= found.high and found == factor_of(pairs)
    if launches <= 5 and sizes == 1:
        (slower, faster) = pairs[0]
        ratios = [slower[launch] / faster[launch] for launch in slower]
        assert (found.low, found.high) == pytest.approx((min(ratios), max(ratios)))


def test_launches_that_lack_one_of_the_times_say_nothing_of_the_interval():
    found = factor_of([(named([2, 2.1, 2.2, 8]), named([1, 1.1, 1.2]))])
    assert found.launches == 3 and found.value == pytest.approx(2.15 / 1.1)
    assert found.low == pytest.approx(2.2 / 1.2) and found.high == pytest.approx(2)
    few = factor_of([(named([2, 2]), named([1, 1]))])
    assert (few.value, few.low, few.high, few.launches) == (2, None, None, 2)


@pytest.mark.parametrize(("launches", "least"), [(3, 0.68), (4, 0.82), (5, 0.90), (10, 0.92)])
@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_it_holds_the_true_factor_about_as_often_as_is_said(launches, least, shared):
    """`tests/studies/error_rates.py` asks for more kinds of launches, more often."""
    random, held = np.random.default_rng(3), 0
    for _ in range(300):
        noise = [random.normal(0, 0.05 * (1 - share) ** 0.5, launches) for share in (shared, shared, 1 - shared)]
        found = factor_of([(named(np.exp(0.2 + noise[0] + noise[2])), named(np.exp(noise[1] + noise[2])))])
        held += found.low <= exp(0.2) <= found.high
    assert held / 300 >= least
