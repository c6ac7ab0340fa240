"""Intervals of ratios are held against known truths, by simulation with fixed seeds and by theory."""

from math import exp, log, sqrt

import numpy as np
import pytest
from made_sides import Truth, alone, at_most, drawn, drawn_sides
from scipy.stats import t

from allreduce_bench.comparison.decision import MISSED_SHARE, Estimate, difference, estimates

SPREADS = (0.01, 0.05, 0.15)  # of a launch's median


def is_missed(found: Estimate, ratio: float = 1.0) -> bool:
    return not found.low <= ratio <= found.high


def width(found: Estimate) -> float:
    return log(found.high / found.low)


@pytest.mark.parametrize("launches", [3, 5, 10])
@pytest.mark.parametrize("spread", SPREADS)
def test_intervals_hold_as_often_as_promised(spread, launches):
    random, trials = np.random.default_rng(1), 500
    sides = [([drawn(random, spread, launches)], [drawn(random, spread, launches)]) for _ in range(trials)]
    assert sum(is_missed(alone(*of_cell)) for of_cell in sides) <= at_most(MISSED_SHARE, trials)


@pytest.mark.parametrize("uneven", [0.0, 0.35, 0.7])
def test_borrowed_intervals_are_shorter_and_hold_as_often(uneven):
    random, missed, shares = np.random.default_rng(2), 0, []
    for _ in range(100):
        sides = drawn_sides(random, Truth(0.05, uneven), [1.0] * 12)
        found = estimates([difference(*of_cell) for of_cell in sides])
        missed += sum(map(is_missed, found))
        shares += [
            log(cell.high / cell.low) / log(own.high / own.low) for cell, own in zip(found, [alone(*c) for c in sides])
        ]
    assert missed <= at_most(MISSED_SHARE, 1200)
    assert np.median(shares) < 0.97 if uneven < 0.7 else np.median(shares) < 1


def test_runs_and_launches_do_not_borrow_from_each_other():
    random = np.random.default_rng(3)
    launches = [difference(*of_cell) for of_cell in drawn_sides(random, Truth(0.01), [1.0] * 5)]
    days = [difference([drawn(random, 0.01, 5, day=0.2) for _ in range(4)], [drawn(random, 0.01, 5)]) for _ in range(5)]
    assert estimates([*launches, *days]) == [*estimates(launches), *estimates(days)]
    assert {cell.own.unit for cell in estimates(days)} == {"run"}


@pytest.mark.parametrize(("launches", "spreads"), [((10, 5), (1, 1)), ((30, 3), (1, 1)), ((5, 5), (1, 3))])
def test_sides_need_not_be_alike(launches, spreads):
    """Fewer launches, or another spread, on one side."""
    random, trials = np.random.default_rng(2), 1000
    missed = 0
    for _ in range(trials):
        sides = ([drawn(random, 0.05 * of, count)] for of, count in zip(spreads, launches))
        missed += is_missed(alone(*sides))
    assert missed <= at_most(MISSED_SHARE + 0.01, trials)


@pytest.mark.parametrize(("runs", "new_runs"), [(5, 1), (20, 1), (10, 2), (5, 5)])
def test_the_spread_between_days_is_in_the_intervals(runs, new_runs):
    random, trials, missed = np.random.default_rng(5), 400, 0
    for _ in range(trials):
        sides = [[drawn(random, 0.02, 5, day=0.05) for _ in range(count)] for count in (runs, new_runs)]
        found = alone(*sides)
        assert found.own.unit == "run" and found.own.units == (runs, new_runs)
        missed += is_missed(found)
    assert missed <= at_most(MISSED_SHARE, trials)


def test_a_run_of_fewer_launches_than_the_baseline_has_is_known_less_well():
    """Launches that differ much, days that do not: the runs' means say too little about a run of 2 launches."""
    random, trials, missed = np.random.default_rng(7), 400, 0
    for _ in range(trials):
        days = [drawn(random, 0.15, 20) for _ in range(10)]
        missed += is_missed(alone(days, [drawn(random, 0.15, 2)]))
    assert missed <= at_most(MISSED_SHARE, trials)


def test_a_prediction_interval_by_hand():
    days = [1.0, 1.1, 0.9, 1.05]
    found = alone([[day, day] for day in days], [[2.0, 2.0]])
    logs = np.log(days)
    reach = t.ppf(0.95, 3) * logs.std(ddof=1) * sqrt(1 + 1 / 4)
    assert found.ratio == pytest.approx(2 / exp(logs.mean()))
    assert (found.low, found.high) == pytest.approx((found.ratio * exp(-reach), found.ratio * exp(reach)))


def test_welch_by_scipy():
    from scipy.stats import ttest_ind

    random = np.random.default_rng(8)
    sides = drawn(random, 0.02, 6), drawn(random, 0.05, 6, 1.2)
    interval = ttest_ind(np.log(sides[1]), np.log(sides[0]), equal_var=False).confidence_interval(0.9)
    found = alone([sides[0]], [sides[1]])
    assert (log(found.low), log(found.high)) == pytest.approx((interval.low, interval.high))
    pooled = sqrt((np.log(sides[0]).var(ddof=1) + np.log(sides[1]).var(ddof=1)) / 2)
    assert found.own.hedges_g == pytest.approx(found.own.value / pooled * (1 - 3 / 39))


def test_times_without_any_spread():
    found = alone([[1.0] * 3], [[1.5] * 3])
    assert (found.low, found.high) == pytest.approx((1.5, 1.5)) and found.own.hedges_g is None


def test_launches_whose_medians_are_the_same_tick_are_not_known_better_than_the_clock():
    same = [[105e-9] * 3], [[115e-9] * 3]
    blind, seeing = alone(*same), alone(*same, tick_s=10e-9)
    assert blind.low == pytest.approx(blind.high) and seeing.low < 1.07 < seeing.ratio < seeing.high
    calm = [difference([[1.0, 1.0001, 0.9999]], [[1.0, 1.0001, 0.9999]]) for _ in range(9)]
    borrowing = estimates([*calm, difference(*same, 10e-9)])[-1]
    assert borrowing.own.error(borrowing.variance) >= seeing.own.error(seeing.variance)


def test_a_noisy_cell_is_no_surer_of_an_alarm_for_calm_peers():
    random = np.random.default_rng(9)
    calm = [difference(*of_cell) for of_cell in drawn_sides(random, Truth(0.01), [1.0] * 11)]
    noisy = difference([[1.0, 1.02, 0.98]], [[1.1, 1.13, 1.07]])
    for found in estimates([*calm, noisy]):
        assert found.cautious_error >= max(found.own.error(found.variance), found.own.error(found.own.variance))
