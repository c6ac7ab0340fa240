"""How often to write a checkpoint: against the exact model of Daly."""

import numpy as np
import pytest

from allreduce_bench.models.checkpoint_interval import daly_s, share_lost, young_s


@pytest.mark.parametrize("share", [1e-4, 1e-3, 1e-2, 0.1, 0.5])
def test_daly_is_the_best_interval_of_the_exact_model(share):
    """The expected time of work w at interval t is M e^(R/M) (e^((t+d)/M) - 1) w/t (Daly 2006, equation 20)."""
    failure_s = 1000.0
    save_s = share * failure_s
    intervals = np.geomspace(save_s / 10, 10 * failure_s, 20_000)
    best = intervals[np.argmin(np.expm1((intervals + save_s) / failure_s) / intervals)]
    assert daly_s(save_s, failure_s) == pytest.approx(best, rel=0.03)
    assert abs(daly_s(save_s, failure_s) - best) <= abs(young_s(save_s, failure_s) - best)


def test_checkpoints_longer_than_failures_are_written_once_a_failure():
    assert daly_s(30.0, 10.0) == 10.0


def test_the_share_lost_is_least_near_the_best_interval():
    best = daly_s(1.0, 10_000.0)
    shares = [share_lost(factor * best, 1.0, 5.0, 10_000.0) for factor in (0.5, 1.0, 2.0)]
    assert shares[1] < min(shares[0], shares[2]) and share_lost(1.0, 1.0, 50.0, 1.0) == 1.0
