"""Intervals are held against exact probabilities and against scipy."""

from math import comb, exp, log, sqrt
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from allreduce_bench.stats import geometric_mean, log_interval, median, median_interval, t95

times = st.lists(st.floats(1e-7, 1e2), min_size=2, max_size=31)


@pytest.mark.parametrize("degrees", range(1, 31))
def test_t95_is_students_t(degrees):
    assert t95(degrees) == pytest.approx(student.ppf(0.975, degrees), abs=6e-4)


@pytest.mark.parametrize("degrees", [31, 40, 100, 1000])
def test_t95_beyond_the_table_is_close(degrees):
    assert t95(degrees) == pytest.approx(student.ppf(0.975, degrees), rel=0.041)


@pytest.mark.parametrize("n", [*range(6, 60), 99, 100, 501])
def test_median_interval_covers_the_median_in_95_of_100_samples(n):
    """The k-th smallest of n values is below the median with a binomial probability, whatever the distribution."""
    low, high = map(int, median_interval(range(n)))
    coverage = sum(comb(n, below) for below in range(low + 1, high + 1)) / 2**n
    assert coverage >= 0.95
    narrower = sum(comb(n, below) for below in range(low + 3, high - 1)) / 2**n
    assert narrower < 0.95  # not wider than it needs to be


@pytest.mark.parametrize("n", range(1, 6))
def test_median_interval_of_few_values_is_their_range(n):
    assert median_interval(range(n)) == (0, n - 1)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.randoms())
def test_median_interval_holds_the_median_and_knows_no_order(values, random):
    low, high = median_interval(values)
    assert low <= median(values) <= high
    assert low in values and high in values
    random.shuffle(values)
    assert median_interval(values) == (low, high)


@given(times)
def test_log_interval_is_students_t_on_logarithms(values):
    logs = [log(value) for value in values]
    low, high = student.interval(0.95, len(logs) - 1, loc=fmean(logs), scale=stdev(logs) / sqrt(len(logs)) or 1e-300)
    measured = log_interval(values)
    assert log(measured[0]) == pytest.approx(low, rel=1e-3, abs=1e-3 * (high - low) + 1e-9)
    assert log(measured[1]) == pytest.approx(high, rel=1e-3, abs=1e-3 * (high - low) + 1e-9)


@given(times, st.floats(1e-3, 1e3))
def test_the_geometric_mean_lies_in_its_interval_and_scales(values, factor):
    low, high = log_interval(values)
    mean = geometric_mean(values)
    assert low <= mean * (1 + 1e-9) and mean <= high * (1 + 1e-9)
    assert geometric_mean([value * factor for value in values]) == pytest.approx(mean * factor)


def test_geometric_mean():
    assert geometric_mean([1, 100]) == pytest.approx(10)
    assert geometric_mean([7]) == pytest.approx(7)
    assert log_interval([exp(1), exp(1)]) == pytest.approx((exp(1), exp(1)))
