"""Intervals of ratios and verdicts are held against known truths, by simulation with fixed seeds and by theory."""

from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.stats import binom, nct, t

from allreduce_bench.evaluation.comparison.ratio import MOST, estimate, more_units, verdict

SPREADS = (0.01, 0.05, 0.15)  # of a launch's median
LAUNCHES = (3, 5, 10)
CELLS = (1, 10, 50)
THRESHOLD = 0.05


def drawn(random: np.random.Generator, spread: float, launches: int, factor: float = 1.0, day: float = 0.0) -> list:
    """The launch medians of one run."""
    return list(np.exp(random.normal(log(factor) + random.normal(0, day), spread, launches)))


def at_most(share: float, trials: int) -> float:
    """As many as a rate of `share` gives in 999 of 1000 experiments."""
    return binom.ppf(0.999, trials, share)


@pytest.mark.parametrize("cells", CELLS)
@pytest.mark.parametrize("launches", LAUNCHES)
@pytest.mark.parametrize("spread", SPREADS)
def test_equal_cells_are_told_apart_no_more_often_than_promised(spread, launches, cells):
    random, trials = np.random.default_rng(1), 500
    missed = false = 0
    for _ in range(trials):
        sides = ([drawn(random, spread, launches)], [drawn(random, spread, launches)])
        found = estimate(*sides, 0.05 / cells)
        missed += not found.low <= 1 <= found.high
        false += verdict(found.low, found.high, THRESHOLD) in ("slower", "faster")
    assert missed <= at_most(0.05 / cells, trials)  # so of all cells together at most 5 %
    assert false <= missed


@pytest.mark.parametrize(("launches", "spreads"), [((10, 5), (1, 1)), ((30, 3), (1, 1)), ((5, 5), (1, 3))])
def test_sides_need_not_be_alike(launches, spreads):
    """Fewer launches, or another spread, on one side."""
    random, trials = np.random.default_rng(2), 2000
    missed = 0
    for _ in range(trials):
        sides = ([drawn(random, 0.05 * of, count)] for of, count in zip(spreads, launches))
        found = estimate(*sides, 0.05)
        missed += not found.low <= 1 <= found.high
    assert missed <= at_most(0.06, trials)


def least_power(spread: float, launches: int, cells: int, factor: float) -> float:
    """Of the verdict slower: Student's t with as few degrees of freedom as Welch's can have."""
    critical = t.ppf(1 - 0.025 / cells, launches - 1)
    return nct.sf(critical, 2 * launches - 2, log(factor / (1 + THRESHOLD)) / (spread * sqrt(2 / launches)))


POWERFUL = [
    (spread, launches, cells, factor)
    for spread in SPREADS
    for launches in LAUNCHES
    for cells in CELLS
    for factor in (1.1, 1.3, 2.0)
    if least_power(spread, launches, cells, factor) >= 0.9
]


def test_theory_allows_something():
    assert len(POWERFUL) >= 20 and (0.01, 5, 1, 1.1) in POWERFUL and (0.05, 10, 10, 1.3) in POWERFUL


@pytest.mark.parametrize(("spread", "launches", "cells", "factor"), POWERFUL)
def test_what_became_slower_is_found_where_theory_allows_it(spread, launches, cells, factor):
    random, trials = np.random.default_rng(3), 200
    kinds = []
    for _ in range(trials):
        found = estimate([drawn(random, spread, launches)], [drawn(random, spread, launches, factor)], 0.05 / cells)
        kinds.append(verdict(found.low, found.high, THRESHOLD))
    assert trials - kinds.count("slower") <= at_most(0.1, trials)
    assert not {"same", "faster"} & set(kinds)


@pytest.mark.parametrize("cells", [1, 20])
@pytest.mark.parametrize(("spread", "launches"), [(0.01, 3), (0.01, 5), (0.05, 5), (0.05, 10)])
def test_as_many_further_launches_as_are_named_decide_mostly(spread, launches, cells):
    """Whatever the truth is: it is drawn anew in every case."""
    random = np.random.default_rng(4)
    decided = []
    while len(decided) < 150:
        truth = exp(random.uniform(-0.2, 0.2))
        sides = [[drawn(random, spread, launches)], [drawn(random, spread, launches, truth)]]
        found = estimate(*sides, 0.05 / cells)
        more = more_units(found, THRESHOLD, 0.05 / cells)
        if verdict(found.low, found.high, THRESHOLD) == "undecided" and more is not None:
            assert 1 <= more <= MOST
            longer = [[side[0] + drawn(random, spread, more, f)] for side, f in zip(sides, (1, truth))]
            found = estimate(*longer, 0.05 / cells)
            decided.append(verdict(found.low, found.high, THRESHOLD) != "undecided")
    assert np.mean(decided) >= 2 / 3


@pytest.mark.parametrize(("runs", "new_runs"), [(5, 1), (20, 1), (10, 2), (5, 5)])
def test_the_spread_between_days_raises_no_alarm(runs, new_runs):
    random, trials, cells = np.random.default_rng(5), 1000, 5
    missed = false = 0
    for _ in range(trials):
        sides = [[drawn(random, 0.02, 5, day=0.05) for _ in range(count)] for count in (runs, new_runs)]
        found = estimate(*sides, 0.05 / cells)
        assert found.unit == "run" and found.units == (runs, new_runs)
        missed += not found.low <= 1 <= found.high
        false += verdict(found.low, found.high, THRESHOLD) in ("slower", "faster")
    assert false <= missed <= at_most(0.05 / cells, trials)


def test_a_single_run_that_is_as_slow_as_no_day_was_is_found():
    random, kinds = np.random.default_rng(6), []
    for _ in range(200):
        days = [drawn(random, 0.02, 5, day=0.05) for _ in range(20)]
        found = estimate(days, [drawn(random, 0.02, 5, factor=1.5, day=0.05)], 0.05)
        kinds.append(verdict(found.low, found.high, THRESHOLD))
    assert kinds.count("slower") >= 190


def test_a_run_of_fewer_launches_than_the_baseline_has_is_known_less_well():
    """Launches that differ much, days that do not: the runs' means say too little about a run of 2 launches."""
    random, trials, missed = np.random.default_rng(7), 1000, 0
    for _ in range(trials):
        days = [drawn(random, 0.15, 20) for _ in range(10)]
        found = estimate(days, [drawn(random, 0.15, 2)], 0.05)
        missed += not found.low <= 1 <= found.high
    assert missed <= at_most(0.05, trials)


def test_a_prediction_interval_by_hand():
    days = [1.0, 1.1, 0.9, 1.05]
    found = estimate([[day, day] for day in days], [[2.0, 2.0]], 0.05)
    logs = np.log(days)
    reach = t.ppf(0.975, 3) * logs.std(ddof=1) * sqrt(1 + 1 / 4)
    assert found.ratio == pytest.approx(2 / exp(logs.mean()))
    assert (found.low, found.high) == pytest.approx((found.ratio * exp(-reach), found.ratio * exp(reach)))


def test_welch_by_scipy():
    from scipy.stats import ttest_ind

    random = np.random.default_rng(8)
    sides = drawn(random, 0.02, 6), drawn(random, 0.05, 6, 1.2)
    interval = ttest_ind(np.log(sides[1]), np.log(sides[0]), equal_var=False).confidence_interval(0.99)
    found = estimate([sides[0]], [sides[1]], 0.01)
    assert (log(found.low), log(found.high)) == pytest.approx((interval.low, interval.high))
    pooled = sqrt((np.log(sides[0]).var(ddof=1) + np.log(sides[1]).var(ddof=1)) / 2)
    assert found.hedges_g == pytest.approx(log(found.ratio) / pooled * (1 - 3 / 39))


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [
        (1.06, 1.2, "slower"),
        (1.05, 1.2, "undecided"),
        (0.8, 0.95, "faster"),
        (0.8, 0.953, "undecided"),
        (0.953, 1.049, "same"),
        (0.953, 1.05, "undecided"),
        (0.9, 1.1, "undecided"),
    ],
)
def test_a_verdict_is_where_the_interval_lies(low, high, kind):
    assert verdict(low, high, THRESHOLD) == kind


def test_times_without_any_spread():
    found = estimate([[1.0] * 3], [[1.5] * 3], 0.05)
    assert (found.low, found.high) == pytest.approx((1.5, 1.5)) and found.hedges_g is None
    assert more_units(found, 0.5, 0.05) is None


def test_launches_whose_medians_are_the_same_tick_are_not_known_better_than_the_clock():
    same = [[105e-9] * 3], [[115e-9] * 3]
    blind = estimate(*same, 0.05)
    assert blind.low == blind.high
    seeing = estimate(*same, 0.05, tick_s=10e-9)
    assert seeing.low < 1.05 < seeing.ratio < seeing.high and verdict(seeing.low, seeing.high, 0.05) == "undecided"
