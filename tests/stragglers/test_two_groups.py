"""Two groups, and ranks that are none however much they differ."""

import numpy as np
import pytest

from allreduce_bench.stragglers.slow_units import critical_distance, two_groups


@pytest.mark.parametrize(("units", "slow"), [(4, 2), (8, 4), (8, 2), (64, 8), (64, 21), (512, 400)])
def test_groups_of_any_size_are_found(units, slow):
    late_s = np.random.default_rng(1).normal(0, 0.01, units)
    late_s[:slow] += 0.3
    groups = two_groups(late_s, 1.0, 0.005)
    assert groups is not None and np.flatnonzero(groups.slow).tolist() == list(range(slow))
    assert groups.late_s == pytest.approx(0.3, abs=0.02) and groups.distance > critical_distance(units)


@pytest.mark.parametrize("units", [4, 8, 16, 64, 512])
def test_unlike_ranks_are_no_groups(units):
    random = np.random.default_rng(1)
    for _ in range(300):
        assert two_groups(random.normal(0, 0.03, units), 1.0, 0.005) is None
    assert two_groups(np.linspace(0, 1, units), 1.0, 0.005) is None or units < 8


def test_one_rank_is_no_group():
    late_s = np.zeros(16)
    late_s[3] = 1.0
    assert two_groups(late_s, 1.0, 0.0) is None
    assert two_groups(np.array([0.0, 0.0, 1.0]), 1.0, 0.0) is None


def test_what_is_not_known_is_in_no_group():
    late_s = np.array([0.0, 0.3, np.nan, 0.0, 0.3, 0.0, 0.3, np.nan, 0.0])
    groups = two_groups(late_s, 1.0, 0.001)
    assert groups is not None and np.flatnonzero(groups.slow).tolist() == [1, 4, 6]
