"""Intervals are held against long real series, series of known dependence, exact probabilities and scipy."""

from math import inf, isclose, sqrt
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import DATA
from scipy.stats import iqr, rankdata, spearmanr
from scipy.stats import t as student

from allreduce_bench import medians, stats
from allreduce_bench.measuring.budget import Budget, Sample, ahead
from allreduce_bench.medians import median_interval, relative_reach
from allreduce_bench.stats import (
    geometric_mean,
    hull,
    launch_confidence,
    launch_interval,
    median,
    t95,
)

LUMI = DATA / "pico_lumi_series.txt"
times = st.lists(st.floats(1e-7, 1e2), min_size=2, max_size=31)
few = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50)


@pytest.mark.parametrize("degrees", range(1, 31))
def test_t95_is_students_t(degrees):
    assert t95(degrees) == pytest.approx(student.ppf(0.975, degrees), abs=6e-4)


def usual_interval(values) -> tuple[float, float]:
    """By order statistics of independent values: Hoefler and Belli, SC'15, section 3.1.3."""
    ordered, n = sorted(values), len(values)
    reach = 1.96 * sqrt(n)
    return ordered[max(0, int((n - reach) / 2) - 1)], ordered[min(n - 1, int(1 + (n + reach) / 2))]


@pytest.fixture(scope="module")
def lumi() -> list[list[int]]:
    """30 series of 2000 consecutive calls, nanoseconds."""
    lines = [line.split() for line in LUMI.read_text().splitlines() if not line.startswith("#")]
    return [list(map(int, line[3:])) for line in lines]


@pytest.mark.parametrize(("length", "usual"), [(50, 0.87), (100, 0.81), (200, 0.81), (500, 0.77)])
def test_pieces_of_real_series_hold_their_long_run_median(lumi, length, usual):
    """At least 88 % do, at most 2.5 times as wide as what supposes independent calls and reaches `usual`."""
    held, held_usually, widths = [], [], []
    for series in lumi:
        truth = median(series)
        for start in range(0, len(series), length):
            piece = series[start : start + length]
            low, high = median_interval(piece)
            usual_low, usual_high = usual_interval(piece)
            held.append(low <= truth <= high)
            held_usually.append(usual_low <= truth <= usual_high)
            widths.append((high - low) / (usual_high - usual_low) if usual_high > usual_low else 1)
    assert len(held) == 30 * 2000 / length
    assert fmean(held_usually) == pytest.approx(usual, abs=0.005)
    assert fmean(held) >= 0.9
    assert median(widths) <= 1.7


def follower(memory: float):
    """A maker of series in which a share `memory` of a value stays in the next; median 0."""

    def series(random: np.random.Generator, n: int) -> np.ndarray:
        innovation = random.standard_normal(n) * sqrt(1 - memory**2)
        values = [random.standard_normal()]
        for step in innovation:
            values.append(memory * values[-1] + step)
        return np.array(values[1:])

    return series


def heavy_tailed(random, n):
    return 1 + random.pareto(1.1, n) - 2 ** (1 / 1.1)


def ticking(random, n):
    return np.round(2 * follower(0.5)(random, n))


def taking_turns(random, n):
    return follower(-0.8)(random, n)


@pytest.mark.parametrize(
    ("series", "n", "least"),
    [
        (follower(0), 30, 0.95),
        (follower(0.5), 300, 0.95),
        (follower(0.9), 1000, 0.93),
        (heavy_tailed, 300, 0.95),
        (ticking, 300, 0.95),
        (taking_turns, 300, 0.95),
    ],
)
def test_median_interval_covers_the_median_of_dependent_values(series, n, least):
    random = np.random.default_rng(1)
    intervals = [median_interval(series(random, n)) for _ in range(400)]
    assert fmean([low <= 0 <= high for low, high in intervals]) >= least


@pytest.mark.parametrize("n", range(1, 15))
def test_median_interval_of_few_values_is_their_range(n):
    assert median_interval(range(n)) == (0, n - 1)


def test_the_interval_of_thousands_of_values_is_narrow_and_soon_found():
    assert launch_interval(range(8)) == (0, 7) and launch_interval(range(9)) == (1, 7)
    assert launch_interval(range(10_000)) == (4901, 5098)


def test_a_shift_of_level_is_spanned():
    assert median_interval([1.0] * 100 + [2.0] * 100) == (1, 2)
    mixed = median_interval([1.0, 2.0] * 100 + [1.0])
    assert mixed == (1, 2)
    assert median_interval([5.0] * 300) == (5, 5)


@given(few)
def test_median_interval_holds_the_median_and_is_made_of_values(values):
    low, high = median_interval(values)
    assert low <= median(values) <= high
    assert low in values and high in values
    assert median_interval([-value for value in values]) == (-high, -low)
    assert median_interval(values[::-1]) == (low, high)


def test_median_is_the_middle_or_the_mean_of_both():
    assert (medians.median([3.0, 1.0, 2.0]), medians.median([4.0, 1.0, 2.0, 3.0])) == (2.0, 2.5)


def test_relative_reach_is_the_farther_end():
    values = [10.0] * 9 + [11.0]
    assert relative_reach(values) == pytest.approx(0.1)
    assert relative_reach([9.0, *values[1:-1], 10.5]) == pytest.approx(0.1)
    assert relative_reach([10.0] * 10) == 0
    assert relative_reach([0.0] * 20) == inf


def test_calling_until_the_reach_is_small_ends_near_the_long_run_median(lumi):
    """What the docstring of `relative_reach` says of it."""
    budget, calls, errors = Budget(0, None, 1e9, precision=0.03), [], []
    for series in lumi:
        truth = median(series)
        for start in range(10, 1000, 50):
            done = 0
            while batch := ahead(budget, Sample(done, done * 1e-5, series[start : start + done]), 0.0).calls:
                done += batch
            calls.append(done)
            errors.append(abs(median(series[start : start + done]) / truth - 1))
    assert median(calls) == 40 and round(fmean(calls)) == 66 and sorted(calls)[len(calls) * 9 // 10] == 80
    assert round(fmean([error <= 0.03 for error in errors]), 3) == 0.998


@given(times, st.floats(1e-3, 1e3))
def test_the_geometric_mean_lies_between_the_values_and_scales(values, factor):
    mean = geometric_mean(values)
    assert min(values) <= mean * (1 + 1e-9) and mean <= max(values) * (1 + 1e-9)
    assert geometric_mean([value * factor for value in values]) == pytest.approx(mean * factor)


def test_geometric_mean():
    assert geometric_mean([1, 100]) == pytest.approx(10)
    assert geometric_mean([7]) == pytest.approx(7)


def test_hull():
    assert hull([(2, 3)]) == (2, 3)
    assert hull([(2, 3), (5, 7), (1, 2)]) == (1, 7)


@pytest.mark.parametrize(("share", "least"), [(5, 72), (25, 13), (75, 13), (95, 72), (99, 368), (99.9, 3688)])
def test_a_quantile_is_said_where_its_interval_exists(share, least):
    """Which is where the largest value (the smallest for low shares) lies beyond it with 97.5 %."""
    assert stats.quantile(range(least - 1), share) is None
    value = stats.quantile(range(least), share)
    assert value + 1 >= least * share / 100 > value  # one value less would be a smaller share
    thick = max(share, 100 - share) / 100
    assert thick**least <= 0.025 < thick ** (least - 1)


@given(st.lists(st.integers(0, 30), min_size=13, max_size=200), st.sampled_from([5, 25, 75, 95]))
def test_a_quantile_is_the_smallest_value_that_enough_do_not_exceed(values, share):
    found = stats.quantile(values, share)
    if found is not None:
        assert found in values
        assert sum(value <= found for value in values) >= len(values) * share / 100
        assert sum(value < found for value in values) < len(values) * share / 100
    else:
        assert share in (5, 95) and len(values) < 72


@given(st.lists(st.floats(0, 1e3), min_size=4, max_size=60))
def test_outliers_lie_beyond_tukeys_fences(values):
    lower, upper = np.quantile(values, [0.25, 0.75])
    low, high = lower - 1.5 * iqr(values), upper + 1.5 * iqr(values)
    away = [value for value in values if not (isclose(value, low) or isclose(value, high))]
    if len(away) == len(values):  # none so near to a fence that rounding decides
        assert stats.outliers(values) == sum(not low <= value <= high for value in values)


def test_outliers_are_counted_on_both_sides():
    assert stats.outliers([0, 9, 10, 10, 11, 11, 12, 50, 60]) == 3
    assert stats.outliers([1, 1, 100]) is None


@given(st.lists(st.integers(0, 20), min_size=10, max_size=60))
def test_lag1_is_the_correlation_of_consecutive_ranks(values):
    found = stats.lag1(values)
    if found is None:
        assert len(set(values[1:])) == 1 or len(set(values[:-1])) == 1
    else:
        ranks = rankdata(values)
        assert found == pytest.approx(np.corrcoef(ranks[:-1], ranks[1:])[0, 1])


def test_lag1_is_not_decided_by_one_slow_call():
    values = [*range(30), 1e9, *range(30)]
    assert stats.lag1(values) > 0.75
    assert stats.lag1(range(9)) is None
    assert stats.lag1([5] * 20) is None
    assert stats.lag1([1, 2] * 20) == pytest.approx(-1)
    assert stats.lag1(range(40)) == pytest.approx(spearmanr(range(39), range(1, 40)).statistic)


def test_drift_compares_thirds():
    assert stats.drift([2, 2, 9, 7, 7, 7, 7, 3, 3, 1]) == pytest.approx(3 / 2)
    assert stats.drift(range(8)) is None
    assert stats.drift([0] * 9) is None


@pytest.mark.parametrize(
    ("count", "left_out", "confidence"),
    [(1, 0, 0), (2, 0, 0.5), (3, 0, 0.75), (4, 0, 0.875), (5, 0, 0.9375), (6, 0, 0.95), (8, 0, 0.95), (9, 1, 0.95)],
)
def test_the_interval_over_launches_leaves_out_as_few_as_it_must(count, left_out, confidence):
    values = np.random.default_rng(1).permutation(count).tolist()
    assert launch_interval(values) == (left_out, count - 1 - left_out)
    assert launch_confidence(count) == confidence


@pytest.mark.parametrize("count", [3, 4, 5, 6, 9, 12, 30])
def test_the_interval_over_launches_holds_the_median_as_often_as_it_promises(count):
    samples = np.random.default_rng(2).lognormal(0, 1, (2000, count)).tolist()
    held = sum(low <= 1 <= high for low, high in map(launch_interval, samples)) / 2000
    assert held >= launch_confidence(count) - 0.02
    assert all(low <= median(sample) <= high for sample in samples for low, high in [launch_interval(sample)])
