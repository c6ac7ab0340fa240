"""The edges of a slow period are found, and none where there is none."""

import numpy as np
import pytest

from allreduce_bench.stragglers.noise import find_slow_period


def late(steps, start, stop, level=0.12, noise=0.03, seed=1):
    values = np.random.default_rng(seed).normal(0, noise, steps)
    values[start:stop] += level
    return values


@pytest.mark.parametrize("start, stop", [(0, 400), (150, 400), (0, 220), (150, 220)])
def test_the_period_is_found_to_a_few_steps(start, stop):
    found = find_slow_period(late(400, start, stop), 0.12, 0.03)
    assert found == pytest.approx((start, stop), abs=4)
    assert [edge in (0, 400) for edge in found] == [edge in (0, 400) for edge in (start, stop)]


def test_always_slow_has_no_edges_in_almost_all_cases():
    assert sum(find_slow_period(late(200, 0, 200, 0.12, 0.1, seed), 0.12, 0.1) != (0, 200) for seed in range(500)) <= 2


def test_spikes_and_single_quick_steps_make_no_edge():
    values = late(300, 100, 300)
    values[[10, 50, 51]] = 4.0
    values[[150, 200, 298, 299]] = -1.0
    values[180:190] = np.nan
    assert find_slow_period(values, 0.12, 0.03) == pytest.approx((100, 300), abs=3)


def test_of_two_periods_the_longer_one_counts():
    values = late(1000, 100, 200)
    values[500:900] += 0.12
    assert find_slow_period(values, 0.12, 0.03) == pytest.approx((500, 900), abs=3)
