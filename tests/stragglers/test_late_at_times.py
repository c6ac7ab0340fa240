"""Ranks that are late in some of their steps. Whole reports: test_stragglers.py."""

import numpy as np
import pytest

from allreduce_bench.stragglers.slow_units import late_at_times, period_of
from allreduce_bench.stragglers.synthetic import synthetic_arrivals

NOBODY = np.zeros(8, dtype=bool)


def ready(**options):
    return synthetic_arrivals(8, 300, 1, **{"noise": 0.05, **options}).ready_s


def found(ready_s, left_out=NOBODY):
    return [(each.unit, each.every) for each in late_at_times(ready_s, 1.0, 0.0, left_out)]


def test_late_steps_are_found_with_their_share_and_size():
    ready_s = ready()
    ready_s[np.random.default_rng(2).random(300) < 0.2, 3] += 0.4
    (late,) = late_at_times(ready_s, 1.0, 0.0, NOBODY)
    assert (late.unit, late.every) == (3, 0) and late.share == pytest.approx(0.2, abs=0.05)
    assert late.late_s == pytest.approx(0.4, abs=0.05) and late.at.sum() == pytest.approx(60, abs=15) and late.z > 4
    assert found(ready_s, np.arange(8) == 3) == []


def test_a_period_is_found():
    ready_s = ready(spikes=0.0)
    ready_s[7::25, 3] += 0.5
    assert found(ready_s) == [(3, 25)]


@pytest.mark.parametrize("lag1", [0.3, 0.9])
def test_noise_is_none(lag1):
    assert found(ready(lag1=lag1, noise=0.2)) == []


def test_a_stretch_of_late_steps_is_none():
    ready_s = ready()
    ready_s[100:150, 3] += 0.4
    assert found(ready_s) == []


def test_all_ranks_in_turn_are_none():
    ready_s = ready(spikes=0.0)
    for number, step in enumerate(range(0, 300, 5)):
        ready_s[step, number % 8] += 1.0
    assert found(ready_s) == []


def test_less_than_the_clock_is_not_claimed():
    ready_s = ready(spikes=0.0)
    ready_s[::10, 3] += 0.3
    assert late_at_times(ready_s, 1.0, 0.29, NOBODY) and not late_at_times(ready_s, 1.0, 0.6, NOBODY)


def test_periods():
    steps = np.zeros(100, dtype=bool)
    assert period_of(steps) == 0
    steps[[10, 30, 50, 70, 90]] = True
    assert period_of(steps) == 20
    steps[33] = True
    assert period_of(steps) == 20
    steps[[1, 2, 3, 4, 5]] = True
    assert period_of(steps) == 0 and period_of(np.ones(100, dtype=bool)) == 0
