"""How many independent steps steps are worth, against processes of known correlation time."""

import numpy as np
import pytest

from allreduce_bench.stragglers.noise import correlation_time, correlation_time_of_events
from allreduce_bench.stragglers.synthetic import correlate


def noise(lag1, steps=300, units=64, seed=1):
    return correlate(np.random.default_rng(seed).standard_normal((steps, units)), lag1)


@pytest.mark.parametrize("lag1", [0.0, 0.3, 0.6, 0.9, 0.95])
def test_it_is_that_of_an_autoregressive_process(lag1):
    assert correlation_time(noise(lag1)) == pytest.approx((1 + lag1) / (1 - lag1), rel=0.35)


def test_at_lag_095_300_steps_are_worth_about_8():
    assert 300 / correlation_time(noise(0.95)) == pytest.approx(7.7, abs=2)


def test_what_wanders_for_ever_is_worth_next_to_nothing():
    walk = np.cumsum(np.random.default_rng(1).standard_normal((300, 64)), axis=0)
    assert 300 / correlation_time(walk) < 2


def test_one_slow_rank_does_not_count():
    late = noise(0.3, units=8)
    late[150:, 3] += 20.0
    assert correlation_time(late) < 4
    few = noise(0.3, units=2)
    few[150:, 0] += 3.0
    assert correlation_time(few) < 15


def test_what_is_not_known_or_has_no_noise():
    late = noise(0.3)
    late[:, :3] = np.nan
    late[::7, 5] = np.nan
    assert 1 < correlation_time(late) < 4
    assert correlation_time(np.zeros((300, 4))) == correlation_time(noise(0.3, steps=3)) == 1.0


def test_events_in_a_row_are_worth_one():
    alone = np.random.default_rng(1).random((400, 4)) < 0.1
    assert correlation_time_of_events(alone) < 2
    assert correlation_time_of_events(np.repeat(alone, 10, axis=0)) > 6
    assert correlation_time_of_events(np.zeros((400, 4), dtype=bool)) == 1.0
    assert correlation_time_of_events(np.ones((1, 4), dtype=bool)) == 1.0
