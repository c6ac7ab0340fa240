"""Alerts come where a rank becomes slow or recovers, and not without."""

import numpy as np
import pytest

from allreduce_bench.stragglers.step_alarm import GROUPS, MOST_BLOCKS, RECOVERED, SLOW, StepAlarm, TooLittle
from allreduce_bench.stragglers.synthetic import Slow, synthetic_arrivals


def alerts(ranks, steps, slow=(), chunk=10, seed=1, per_node=1, clock_error_s=0.0, **options):
    made = synthetic_arrivals(ranks, steps, seed, slow, ranks_per_node=per_node, **options)
    alarm = StepAlarm(ranks, made.node_of, clock_error_s)
    return [
        alert
        for first in range(0, steps, chunk)
        for alert in alarm.update(made.ready_s[first : first + chunk], made.step_s[first : first + chunk])
    ]


@pytest.mark.parametrize("ranks", [2, 3, 4, 8, 128])
def test_a_rank_that_becomes_slow_and_recovers_gives_two_alerts(ranks):
    slow, recovered = alerts(ranks, 1000, [Slow((1,), 0.12, 400, 700)])
    assert (slow.kind, slow.rank, slow.node, recovered.kind, recovered.rank) == (SLOW, 1, -1, RECOVERED, 1)
    assert 400 < slow.step <= 600 and slow.slower_by == pytest.approx(0.12, abs=0.06) and slow.z > 3.5
    assert slow.since_step == pytest.approx(400, abs=50) and recovered.since_step == pytest.approx(700, abs=50)
    assert 700 < recovered.step <= 800 and recovered.slower_by < 0.05


def test_it_does_not_matter_how_many_steps_come_at_once():
    once, *others = [alerts(8, 600, [Slow((1,), 0.3, 200, 400)], chunk) for chunk in (10, 1, 7, 600)]
    assert len(once) == 2 and all(other == once for other in others)


@pytest.mark.parametrize("ranks, noise", [(2, 0.05), (8, 0.2), (128, 0.05), (128, 0.2)])
def test_no_alert_without_a_slow_rank(ranks, noise):
    assert alerts(ranks, 2000, noise=noise) == []


def test_a_rank_that_was_slow_from_the_start_is_found_and_said_once():
    (alert,) = alerts(8, 1000, [Slow((3,), 0.2)])
    assert alert.rank == 3 and alert.since_step == 0 and alert.step <= 200


def test_it_may_become_slow_again():
    kinds = [alert.kind for alert in alerts(8, 1500, [Slow((3,), 0.3, 200, 500), Slow((3,), 0.3, 800, 1100)])]
    assert kinds == [SLOW, RECOVERED, SLOW, RECOVERED]


def test_less_than_a_tenth_or_three_clock_errors_is_no_alarm():
    assert alerts(8, 1000, [Slow((3,), 0.07)], noise=0.01) == []
    assert alerts(8, 500, [Slow((3,), 0.3)], clock_error_s=0.11, noise=0.01) == []
    assert len(alerts(8, 500, [Slow((3,), 0.3)], clock_error_s=0.09, noise=0.01)) == 1


def test_a_single_pause_is_no_alarm():
    made = synthetic_arrivals(8, 600, 1)
    made.ready_s[300:304, 2] += 20.0
    made.step_s[300:304] += 20.0
    assert StepAlarm(8, made.node_of).update(made.ready_s, made.step_s) == []


def test_the_last_rank_of_a_slow_node_names_the_node():
    found = alerts(12, 600, [Slow((3, 4, 5), 0.3, 300)], per_node=3)
    assert {alert.rank for alert in found} == {3, 4, 5} and {alert.node for alert in found} == {1}
    assert [alert.node for alert in alerts(12, 600, [Slow((3,), 0.3, 300)], per_node=3)] == [-1]


@pytest.mark.parametrize("ranks, slow", [(2, (1,)), (3, (1, 2)), (4, (2, 3)), (4, (1, 2, 3)), (64, tuple(range(32)))])
def test_ranks_that_became_slow_are_known_by_their_own_past(ranks, slow):
    """Half of the ranks or more: the others cannot say which half it is."""
    found = alerts(ranks, 700, [Slow(slow, 0.6, 200, 500)], noise=0.03)
    first = [alert for alert in found if alert.kind == SLOW]
    assert {alert.rank for alert in first} == set(slow) and all(200 < alert.step <= 220 for alert in first)
    assert all(alert.slower_by == pytest.approx(0.6, abs=0.2) and alert.since_step == 200 for alert in first)
    assert {alert.kind for alert in found} <= {SLOW, RECOVERED}


@pytest.mark.parametrize("ranks, slow", [(3, (1, 2)), (4, (2, 3)), (64, tuple(range(32)))])
def test_two_groups_from_the_start_are_told_once_as_such(ranks, slow):
    (alert,) = alerts(ranks, 600, [Slow(slow, 0.6)], noise=0.03)
    assert (alert.kind, alert.ranks, alert.rank) == (GROUPS, slow, slow[0]) and alert.step <= 100
    assert alert.slower_by == pytest.approx(0.6, abs=0.05) and alert.since_step == 0


def test_where_half_of_the_ranks_become_faster_nobody_is_slow():
    work_s = np.exp(0.03 * np.random.default_rng(1).standard_normal((600, 4)))
    work_s[300:, :2] /= 1.6
    (alert,) = StepAlarm(4, (0,) * 4).update(work_s, work_s.max(axis=1))
    assert alert.kind == GROUPS and alert.ranks == (2, 3) and 300 < alert.step <= 320


@pytest.mark.parametrize("begin", [50, 200, 205])
@pytest.mark.parametrize("ranks", [3, 8])
def test_a_rank_of_few_that_is_twice_as_slow_is_told_within_20_steps(ranks, begin):
    first, *_ = alerts(ranks, 400, [Slow((2,), 1.0, begin, begin + 20)], noise=0.02)
    assert (first.kind, first.rank) == (SLOW, 2) and begin < first.step <= begin + 20


def test_ranks_that_differ_for_good_hide_no_rank_that_becomes_slow():
    made = synthetic_arrivals(8, 800, 1, [Slow((3,), 0.15, 400)], noise=0.02)
    made.ready_s[:] += np.linspace(-0.05, 0.05, 8)
    alarm = StepAlarm(8, made.node_of)
    assert alarm.update(made.ready_s[:400], made.step_s[:400]) == []
    assert {alert.rank for alert in alarm.update(made.ready_s[400:], made.step_s[400:])} == {3}


def test_how_much_could_be_told_is_known():
    quiet, noisy = (synthetic_arrivals(4, 100, 1, noise=noise) for noise in (0.01, 0.5))
    of_quiet, of_noisy, by_clocks = StepAlarm(4, (0,) * 4), StepAlarm(4, (0,) * 4), StepAlarm(4, (0,) * 4, 0.2)
    assert of_quiet.too_little(20) == TooLittle(4, 20, None)
    for alarm, made in ((of_quiet, quiet), (of_noisy, noisy), (by_clocks, quiet)):
        alarm.update(made.ready_s, made.step_s)
    assert of_quiet.too_little(100).least_told == pytest.approx(0.1)
    assert of_noisy.too_little(100).least_told > 0.3
    assert by_clocks.too_little(100).least_told == pytest.approx(0.6, abs=0.05)
    assert StepAlarm(1, (0,)).too_little(100) == TooLittle(1, 100, None)


def test_what_is_not_known_is_no_evidence():
    made = synthetic_arrivals(8, 800, 1, [Slow((2,), 0.3, 400)])
    made.ready_s[:, 5] = np.nan
    made.ready_s[100:200] = np.nan
    made.step_s[250:300] = np.nan
    (alert,) = StepAlarm(8, made.node_of).update(made.ready_s, made.step_s)
    assert (alert.kind, alert.rank) == (SLOW, 2)


def test_one_rank_has_nobody_to_be_compared_with_and_shapes_must_fit():
    assert StepAlarm(1, (0,)).update(np.ones((50, 1)), np.ones(50)) == []
    with pytest.raises(ValueError, match="3 ranks, and nodes of 2"):
        StepAlarm(3, (0, 1))
    with pytest.raises(ValueError, match=r"not \[step.*5 steps.*3 ranks"):
        StepAlarm(3, (0, 0, 0)).update(np.ones((5, 2)), np.ones(5))


def test_memory_does_not_grow():
    made = synthetic_arrivals(4, 2005, 1)
    alarm = StepAlarm(4, made.node_of)
    alarm.update(made.ready_s, made.step_s)
    assert alarm._late.shape == (MOST_BLOCKS, 4) and alarm._ready_s.shape == (5, 4) and alarm._ready_s.base is None
