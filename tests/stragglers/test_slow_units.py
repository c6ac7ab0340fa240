"""The test of ranks or nodes: false alarms are as rare as it says, and a clear lateness is found. More: the study."""

import numpy as np
import pytest

from allreduce_bench.stragglers.slow_units import measure_standing, number_of_blocks, unknown_standing
from allreduce_bench.stragglers.synthetic import Slow, synthetic_arrivals


def found(units, steps, seed, slow=(), noise=0.2, clock_error_s=0.0):
    ready_s = synthetic_arrivals(units, steps, seed, slow, noise=noise).ready_s
    return measure_standing(ready_s, 1.0, clock_error_s)


@pytest.mark.parametrize("units", [2, 3, 8, 32])
@pytest.mark.parametrize("steps", [10, 20, 100])
def test_false_alarms_are_rare_even_in_much_noise(units, steps):
    assert sum(bool(found(units, steps, seed).slow) for seed in range(60)) <= 1


def test_what_is_found_is_what_was_made():
    stands = found(8, 200, 1, [Slow((3,), 0.12)], noise=0.05)
    (slow,) = stands.slow
    assert (slow.unit, slow.from_step, slow.to_step) == (3, 0, 200)
    assert slow.late_s == stands.late_s[3] == pytest.approx(0.12, abs=0.02) and slow.z > 5
    assert np.abs(np.delete(stands.late_s, 3)).max() < stands.noise_s < 0.05


def test_a_slow_while_is_found_of_which_the_median_knows_nothing():
    (slow,) = found(8, 400, 1, [Slow((3,), 0.3, 300, 360)], noise=0.05).slow
    assert (slow.from_step, slow.to_step) == pytest.approx((300, 360), abs=4)


def test_less_than_three_clock_errors_is_not_claimed():
    assert found(8, 200, 1, [Slow((3,), 0.3)], noise=0.05, clock_error_s=0.09).slow
    assert not found(8, 200, 1, [Slow((3,), 0.3)], noise=0.05, clock_error_s=0.11).slow


def test_a_noisy_rank_is_not_a_slow_one():
    ready_s = synthetic_arrivals(8, 100, 1, noise=0.01, spikes=0.0).ready_s
    ready_s[:, 2] += np.random.default_rng(1).normal(0, 1.0, 100)
    assert not measure_standing(ready_s, 1.0, 0.0).slow


def test_a_rank_that_is_known_in_few_steps_is_held_against_their_noise():
    for seed in range(40):
        ready_s = synthetic_arrivals(8, 200, seed, noise=0.1).ready_s
        ready_s[15:, 3] = np.nan
        assert not measure_standing(ready_s, 1.0, 0.0).slow
    ready_s[:9, 3] += 5.0
    ready_s[9:, 3] = np.nan
    assert not measure_standing(ready_s, 1.0, 0.0).slow


def test_blocks_hold_ten_steps_where_there_are_neither_few_nor_very_many():
    assert [number_of_blocks(steps) for steps in (10, 49, 200, 500, 10**6)] == [5, 5, 20, 50, 50]
    assert unknown_standing(3).slow == () and np.isnan(unknown_standing(3).late_s).all()
