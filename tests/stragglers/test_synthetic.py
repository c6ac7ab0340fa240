"""Made arrivals have the truth they were made with."""

import numpy as np
import pytest
from synthetic_arrivals import Slow, synthetic_arrivals


def work(arrivals):
    return arrivals.ready_s - arrivals.begin_s[:, None]


def test_noise_correlation_and_spikes_are_as_asked_for():
    shares = work(synthetic_arrivals(64, 4000, 1, noise=0.1, lag1=0.3, spikes=0.02, spike=5.0))
    assert (shares > 4).mean() == pytest.approx(0.02, rel=0.1)
    logs = np.log(np.where(shares > 4, shares - 5.0, shares))
    assert np.median(logs) == pytest.approx(0, abs=2e-3) and logs.std() == pytest.approx(0.1, rel=0.02)
    assert np.corrcoef(logs[1:].ravel(), logs[:-1].ravel())[0, 1] == pytest.approx(0.3, abs=0.01)


def test_slow_ranks_are_slow_in_their_period():
    shares = work(synthetic_arrivals(4, 10, 1, [Slow((1, 3), 0.5, 4, 6), Slow((2,), 0.1, 8)], noise=0.0, spikes=0.0))
    expected = np.ones((10, 4))
    expected[4:6, [1, 3]], expected[8:, 2] = 1.5, 1.1
    assert shares == pytest.approx(expected)


def test_steps_end_with_their_last_rank_and_their_call():
    made = synthetic_arrivals(5, 50, 1, work_s=0.02, call_s=0.001, ranks_per_node=2)
    assert made.begin_s[1:] == pytest.approx(made.begin_s[:-1] + made.step_s[:-1])
    assert made.begin_s + made.step_s == pytest.approx(made.ready_s.max(axis=1) + 0.001)
    assert (made.node_of, made.nodes, made.clock_error_s) == ((0, 0, 1, 1, 2), ("n0", "n1", "n2"), 0.0)
    assert np.array_equal(made.ready_s, synthetic_arrivals(5, 50, 1, work_s=0.02, call_s=0.001).ready_s)
