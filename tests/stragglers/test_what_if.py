"""Steps replayed with other arrivals."""

import numpy as np
import pytest

from allreduce_bench.stragglers.localise import (
    earlier_s,
    mean_wait_s,
    move_earlier,
    replace_arrivals,
    saved_s,
)
from allreduce_bench.stragglers.slow_units import Late

READY_S = np.array([[1.0, 1.2, 5.0], [1.0, 1.2, 5.0], [1.0, 3.0, np.nan]])
LATE = [Late((2,), 1, 3, 3.9)]


def test_arrivals_are_moved_in_their_period_only():
    moved_s = move_earlier(READY_S, LATE)
    assert moved_s[:2].tolist() == [[1.0, 1.2, 5.0], pytest.approx([1.0, 1.2, 1.1])] and np.isnan(moved_s[2, 2])
    assert READY_S[1, 2] == 5.0


def test_arrivals_are_replaced_by_the_median_of_the_others():
    assert replace_arrivals(READY_S, LATE)[:2].tolist() == [[1.0, 1.2, 5.0], [1.0, 1.2, 1.1]]
    assert np.isnan(replace_arrivals(READY_S, LATE)[2, 2])
    everybody = [Late((0, 1, 2), 0, 3, 1.0)]
    assert np.array_equal(replace_arrivals(READY_S, everybody), READY_S, equal_nan=True)


def test_a_step_ends_earlier_by_as_much_as_its_last_arrival():
    assert saved_s(READY_S, replace_arrivals(READY_S, LATE)) == pytest.approx(5.0 - 1.2)
    assert earlier_s(READY_S, replace_arrivals(READY_S, LATE)).tolist() == pytest.approx([0.0, 3.8, 0.0])
    assert saved_s(np.full((2, 2), np.nan), np.full((2, 2), np.nan)) == 0.0


def test_the_mean_wait_is_that_of_the_ranks_that_are_known():
    assert mean_wait_s(READY_S) == pytest.approx(2 * (4.0 + 3.8) / 3 + 2.0 / 2)
