"""Waits follow from ready times; clocks are put on one by the common ends of calls."""

import numpy as np
import pytest

from allreduce_bench.importers.common_ends import aligned_by_common_end
from allreduce_bench.stragglers.arrivals import waits


def test_the_last_one_causes_waits_and_the_others_suffer_them():
    found = waits(np.array([[1.0, 4.0, 2.0], [3.0, 1.0, 3.0], [np.nan, 2.0, 1.0], [np.nan, np.nan, 7.0]]))
    assert found.last.tolist() == [1, -1, 1, -1]
    assert found.caused_s.tolist() == [2.0, 0.0, 1.0, 0.0]
    assert found.suffered_s.tolist() == [[3.0, 0.0, 2.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    assert found.skew_s[:3].tolist() == [3.0, 2.0, 1.0] and np.isnan(found.skew_s[3])


def clocks(steps=60, ranks=4, jitter_s=1e-6, seed=1):
    """Ready times and ends on clocks that are off by up to 1,000 s and drift by up to 20 ppm, and the truth."""
    random = np.random.default_rng(seed)
    end_s = np.cumsum(random.uniform(0.5, 1.5, steps))[:, None] + jitter_s * random.standard_normal((steps, ranks))
    ready_s = end_s - random.uniform(0.01, 0.2, (steps, ranks))
    offset_s, drift = random.uniform(-1e3, 1e3, ranks), random.uniform(-2e-5, 2e-5, ranks)
    return *(offset_s + times_s * (1 + drift) for times_s in (ready_s, end_s)), ready_s


def differences(times_s):
    return times_s - times_s[:, :1]


def test_clocks_that_are_off_and_drift_are_aligned_within_the_error_that_is_said():
    ready_s, end_s, truth_s = clocks()
    aligned_s, error_s = aligned_by_common_end(ready_s, end_s)
    assert 0.3e-6 < error_s < 3e-6
    assert np.abs(differences(aligned_s) - differences(truth_s)).max() < 5 * error_s


def test_ends_that_are_missing_or_late_now_and_then_do_not_matter():
    ready_s, end_s, truth_s = clocks()
    end_s[5:9, 2] = end_s[20, :] = np.nan
    end_s[30, 1] += 5.0
    aligned_s, error_s = aligned_by_common_end(ready_s, end_s)
    assert error_s < 3e-6 and np.abs(differences(aligned_s) - differences(truth_s)).max() < 5 * error_s


@pytest.mark.parametrize(("jump", "until"), [(50, 60), (47, 60), (10, 20), (43, 53)])
def test_a_clock_that_jumps_for_few_steps_makes_the_error_larger_than_what_it_could_feign(jump, until):
    ready_s, end_s, _ = clocks()
    ready_s[jump:until, 2] += 0.5
    end_s[jump:until, 2] += 0.5
    assert 3 * aligned_by_common_end(ready_s, end_s)[1] > 0.5  # nobody is later than that


def test_a_clock_that_changes_its_speed_late_makes_the_error_as_large_as_it_is_off():
    ready_s, end_s, _ = clocks(steps=500)
    for times_s in (ready_s, end_s):
        times_s[400:, 2] += 500e-6 * np.arange(100)
    assert aligned_by_common_end(ready_s, end_s)[1] > 0.03


def test_few_calls_give_offsets_without_drift_and_a_rank_without_ends_is_not_known():
    ready_s, end_s, truth_s = clocks(steps=5)
    end_s[:, 3] = np.nan
    aligned_s, error_s = aligned_by_common_end(ready_s, end_s)
    assert np.isnan(aligned_s[:, 3]).all() and np.abs(differences(aligned_s - truth_s)[:, :3]).max() < 2e-4
    assert error_s > 1e-6


def test_nothing_is_aligned_to_nothing():
    assert aligned_by_common_end(np.empty((0, 3)), np.empty((0, 3)))[1] == 0.0
    aligned_s, error_s = aligned_by_common_end(np.ones((2, 2)), np.full((2, 2), np.nan))
    assert np.isnan(aligned_s).all() and error_s == 0.0
    with pytest.raises(ValueError, match="not both"):
        aligned_by_common_end(np.ones((2, 2)), np.ones((2, 3)))
