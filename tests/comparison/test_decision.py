"""Verdicts are held against known truths by simulation, and their parts against known results."""

from math import exp, log, sqrt

import numpy as np
import pytest
from made_sides import THRESHOLD, Truth, alone, at_most, drawn, drawn_sides, false_same, rates, verdicts_of
from scipy.stats import t

from allreduce_bench.comparison.decision import (
    ERROR_SHARE,
    MOST_UNITS,
    beyond_p,
    decide,
    difference,
    estimates,
    more_units,
    need,
    place,
)

SIMPLE = [Truth(spread, uneven) for spread in (0.01, 0.05, 0.15) for uneven in (0.0, 0.35)]
PROMISED = [Truth(0.01), Truth(0.03), Truth(0.05), Truth(0.05, 0.35)]
ROUGH = [Truth(0.1, 0.35, lag=0.3), Truth(0.1, 0.7), Truth(0.05, 0.35, spikes=0.1), Truth(0.3, 0.35)]


@pytest.mark.parametrize("truth", PROMISED)
def test_equal_cells_are_decided_and_a_third_slower_is_found_up_to_a_spread_of_5_percent(truth):
    comparisons = 40
    found = rates(truth, [0.3], comparisons)
    assert found.undecided <= 0.3 and found.alarms <= at_most(0.05, comparisons) / comparisons
    assert 1 - found.found[0] <= at_most(0.1, comparisons * 3) / (comparisons * 3)


@pytest.mark.parametrize("truth", ROUGH)
def test_no_false_alarm_however_launches_differ(truth):
    comparisons = 40
    assert rates(truth, [], comparisons).alarms <= at_most(0.05, comparisons) / comparisons


@pytest.mark.parametrize("truth", SIMPLE)
def test_a_cell_at_the_threshold_raises_no_alarm_and_is_rarely_the_same(truth):
    """The hardest case of both errors: all cells differ by just the threshold."""
    random, comparisons = np.random.default_rng(3), 100
    factors = [1 + THRESHOLD] * 12
    alarms = sum("slower" in verdicts_of(drawn_sides(random, truth, factors)) for _ in range(comparisons))
    assert alarms <= at_most(0.06, comparisons)
    assert false_same(truth, comparisons) <= at_most(0.055, comparisons * 12) / (comparisons * 12)


def test_a_spread_too_large_for_the_launches_is_said_with_how_many_it_takes():
    random = np.random.default_rng(4)
    found = need(
        estimates([difference(*of_cell) for of_cell in drawn_sides(random, Truth(0.1), [1.0] * 100)]), THRESHOLD
    )
    assert 0.08 < found.spread < 0.12 and found.found == 5 and 16 <= found.units <= 19
    kinds = verdicts_of(drawn_sides(random, Truth(0.1), [1.0] * 100, found.units))
    assert 0.6 < kinds.count("same") / 100 <= 0.95


def test_a_single_run_that_is_as_slow_as_no_day_was_is_found():
    random, kinds = np.random.default_rng(6), []
    for _ in range(200):
        days = [drawn(random, 0.02, 5, day=0.05) for _ in range(20)]
        found = alone(days, [drawn(random, 0.02, 5, factor=1.5, day=0.05)])
        kinds += [decision.verdict for decision in decide([found], 0.05)]
    assert kinds.count("slower") >= 190


@pytest.mark.parametrize("cells", [1, 20])
@pytest.mark.parametrize(("spread", "launches"), [(0.01, 3), (0.03, 5), (0.05, 10)])
def test_as_many_further_launches_as_are_named_decide_mostly(spread, launches, cells):
    """Whatever the truth is: it is drawn anew in every case."""
    random, level = np.random.default_rng(4), ERROR_SHARE / cells
    decided = []
    while len(decided) < 100:
        truth = exp(random.uniform(-0.2, 0.2))
        sides = [[drawn(random, spread, launches)], [drawn(random, spread, launches, truth)]]
        found = alone(*sides)
        more = more_units(found, 0.05, level)
        if place(found.low, found.high, 0.05) == "undecided" and more is not None:
            assert 1 <= more <= MOST_UNITS
            longer = [[side[0] + drawn(random, spread, more, f)] for side, f in zip(sides, (1, truth))]
            found = alone(*longer)
            decided.append(place(found.low, found.high, 0.05) == "same" or beyond_p(found, 0.05) <= level)
    assert np.mean(decided) >= 2 / 3


def test_what_is_beyond_the_threshold_by_hand():
    found = alone([[1.0, 1.1, 0.9, 1.05]], [[1.3, 1.4, 1.2, 1.35]])
    error, distance = sqrt(found.own.variance / 2), found.own.value
    tails = [t.sf((distance - sign * log(1.05)) / error, found.degrees) for sign in (1, -1)]
    assert beyond_p(found, 0.05) == pytest.approx(sum(tails))


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
def test_where_an_interval_lies(low, high, kind):
    assert place(low, high, 0.05) == kind


def test_an_interval_beyond_the_threshold_is_no_alarm_yet_among_many_cells():
    random = np.random.default_rng(5)
    while True:
        cells = estimates([difference(*of_cell) for of_cell in drawn_sides(random, Truth(0.08), [1.25] + [1.0] * 30)])
        if place(cells[0].low, cells[0].high, THRESHOLD) == "slower" and beyond_p(cells[0], THRESHOLD) > 0.05 / 31:
            break
    first = decide(cells, THRESHOLD)[0]
    assert first.verdict == "undecided" and first.p_holm > ERROR_SHARE and first.level == ERROR_SHARE / 31


def test_times_without_any_spread_are_decided_and_need_nothing():
    for times, kind in (((1.0, 1.5), "slower"), ((1.0, 1.01), "same")):
        found = alone(*([[time_s] * 3] for time_s in times))
        assert decide([found], 0.05)[0].verdict == kind and more_units(found, 0.5, 0.05) is None
