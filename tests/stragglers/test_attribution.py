"""Lasting differences are told from chance, and shared among those who make them."""

import numpy as np
import pytest

from allreduce_bench.stragglers.slow_units import Late
from allreduce_bench.stragglers.synthetic import Slow, synthetic_arrivals
from allreduce_bench.stragglers.verdict import attribution, lasting_differences


def ready(slow, ranks=8, noise=0.0):
    return synthetic_arrivals(ranks, 200, 1, slow, noise=noise, spikes=0.0).ready_s


def test_one_explains_all_that_lasts():
    found = attribution(ready([Slow((2,), 0.3)]), [Late((2,), 0, 200, 0.3)])
    assert (found.wait_s, found.lasting_s) == pytest.approx((200 * 0.3 * 7 / 8,) * 2)
    assert found.explained == pytest.approx((1.0,)) and found.unexplained == pytest.approx(0, abs=1e-9)
    assert (*found.saved_s, found.all_saved_s) == pytest.approx((60.0, 60.0))


def test_two_alike_share_what_neither_explains_alone():
    late = [Late((rank,), 0, 200, 0.3) for rank in (2, 5)]
    found = attribution(ready([Slow((2, 5), 0.3)]), late)
    assert found.explained == pytest.approx((0.5, 0.5))
    assert (*found.saved_s, found.all_saved_s) == pytest.approx((0.0, 0.0, 60.0), abs=1e-9)


def test_what_nobody_is_suspected_of_stays_unexplained():
    found = attribution(ready([Slow((2,), 0.3), Slow((5,), 0.6)]), [Late((5,), 0, 200, 0.6)])
    assert 0.4 < found.unexplained < 0.6 and found.explained[0] == pytest.approx(1 - found.unexplained)


def test_chance_does_not_last():
    ready_s = ready([], ranks=128, noise=0.05)
    assert not lasting_differences(ready_s).any()
    found = attribution(ready_s, [])
    assert found.lasting_s == found.all_saved_s == found.unexplained == 0 and found.wait_s > 200 * 0.1


def test_of_a_rank_nothing_is_known_of_nothing_lasts():
    ready_s = ready([Slow((2,), 0.3)])
    ready_s[:, 4] = np.nan
    assert lasting_differences(ready_s) == pytest.approx([0, 0, 0.3, 0, 0, 0, 0, 0])
