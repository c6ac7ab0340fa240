"""Two states are told from one, however heavy its tail; the gap's kind is named where the sizes tell it."""

import numpy as np
import pytest
from two_states import GAP_KINDS, false_alarms, made_of_two_states, series_of_logs

from allreduce_bench.evaluation.launch_states import (
    CHANGING,
    CONSTANT_TIME,
    UNKNOWN,
    TooFewLaunches,
    TwoStates,
    coincidence,
    kind_of_gap,
    p_value,
    two_states,
)

NEARLY_ONE = np.linspace(1.0, 1.02, 5)[:, None]  # of each launch of five


def split(slow: tuple[int, ...], sizes: int, factor: float, of: int = 5) -> np.ndarray:
    """Seconds of five launches, 2 % apart; those numbered in `slow` take `factor` as long at the last `of` sizes."""
    times_s = NEARLY_ONE * 1e-5 * np.arange(1, sizes + 1)
    times_s[np.ix_(slow, range(sizes - of, sizes))] *= factor
    return times_s


@pytest.mark.parametrize("cloud, slow", [("gke", (1, 2, 4)), ("compute_engine", (0, 1, 2, 4))])
def test_launches_that_wait_for_a_timer_are_told_from_those_that_do_not(cloud, slow):
    sizes, times_s = series_of_logs(cloud)
    (found,) = two_states([times_s])
    assert isinstance(found, TwoStates) and found.gap == CONSTANT_TIME
    assert [size for size, differs in zip(sizes, found.differs) if differs] == [4096 << i for i in range(9)]
    assert all(tuple(np.flatnonzero(of_size)) == slow for of_size in found.slow[:, found.differs].T)
    assert found.high_s[found.differs] == pytest.approx(9.8e-3, rel=0.02)
    assert np.nanmax(found.low_s) < 2e-3 and np.isnan(found.low_s[~found.differs]).all()


@pytest.mark.parametrize("family", ["exponential", "lognormal"])
def test_noise_of_one_mode_is_seldom_two_states(family):
    assert false_alarms(family, launches=5, shared=0.3, own=0.1, sets=60, seed=3) <= 3


def test_one_launch_that_is_slower_by_noise_is_no_state():
    assert two_states([split((4,), 20, 1.1, of=20)]) == [None]  # a gap that does not matter
    assert two_states([split((4,), 20, 1.2, of=20)]) == [None]


def test_one_bad_moment_is_no_state_but_what_is_met_three_times_is():
    assert two_states([split((4,), 8, 9.0, of=2)]) == two_states([split((1, 4), 8, 9.0, of=1)]) == [None]
    (found,) = two_states([split((4,), 8, 9.0, of=3)])
    assert found.differs.tolist() == [False] * 5 + [True] * 3
    (found,) = two_states([split((1, 4), 8, 9.0, of=2)])
    assert found.slow.sum(axis=0).tolist() == [0] * 6 + [2] * 2
    moments = split((), 8, 1.0)
    moments[[0, 1, 2], [3, 4, 5]] *= 9.0  # of another launch each
    assert two_states([moments]) == [None]


def test_states_that_each_size_draws_anew_are_none():
    times_s = split((), 12, 1.0)
    for size, slow in enumerate([(0, 1), (2, 3), (1, 4), (0, 2), (3, 4), (0, 4)]):
        times_s[np.array(slow), size] *= 3.0
    assert two_states([times_s]) == [None]
    assert two_states([times_s[:4]]) == [None]  # nor suspected


@pytest.mark.parametrize("launches, slow", [(5, 2), (7, 3), (10, 4)])
def test_members_that_change_by_chance_are_seldom_a_state_and_those_that_stay_always(launches, slow):
    random, alarms, hits = np.random.default_rng(1), 0, 0
    for _ in range(60):
        times_s = 1e-5 * np.exp(random.normal(0, 0.01, (launches, 12)))
        stay = times_s.copy()
        stay[:slow] *= 3.0
        for size in range(12):
            times_s[random.permutation(launches)[:slow], size] *= 3.0
        changing, staying = two_states([times_s])[0], two_states([stay])[0]
        alarms += isinstance(changing, TwoStates)
        hits += isinstance(staying, TwoStates) and bool(staying.differs.all())
    assert alarms <= 6 and hits == 60


def test_so_many_sizes_agree_by_chance():
    assert coincidence(5, 1, 3, 3) == pytest.approx(1 / 25) and coincidence(5, 2, 2, 2) == pytest.approx(0.1)
    assert coincidence(5, 2, 3, 6) == pytest.approx(20 / 100) and coincidence(5, 2, 1, 6) == 1.0


def test_a_launch_that_changes_its_state_leaves_the_others_in_theirs():
    times_s = split((0, 1), 10, 3.0, of=10)
    times_s[2, 7:] *= 3.0
    (found,) = two_states([times_s])
    assert found.differs.all() and found.slow.sum(axis=0).tolist() == [2] * 7 + [3] * 3


@pytest.mark.parametrize("spread", [0.02, 0.1, 0.3])
def test_one_launch_of_five_that_takes_one_time_at_nine_sizes_is_in_another_state(spread):
    sizes, measured = series_of_logs("compute_engine")
    random, waits = np.random.default_rng(1), [4096 << i for i in range(9)]
    times_s = measured[3] * np.exp(random.normal(0, spread, (5, len(sizes))))
    at = [sizes.index(size) for size in waits]
    times_s[2, at] = 9.75e-3 * np.exp(random.normal(0, 0.005, 9))
    for launches in (times_s, times_s[:3]):
        (found,) = two_states([launches])
        assert isinstance(found, TwoStates) and found.gap == CONSTANT_TIME
        assert [size for size, differs in zip(sizes, found.differs) if differs] == waits
        assert np.flatnonzero(found.slow.any(axis=1)).tolist() == [2]
        assert found.high_s[found.differs] == pytest.approx(9.75e-3, rel=0.02)
    assert not isinstance(two_states([times_s[1:3]])[0], TwoStates)  # of two launches nobody knows which is slow


def test_a_launch_that_grows_with_the_size_has_no_constant_time():
    random, hits = np.random.default_rng(1), 0
    for _ in range(100):
        times_s = 1e-3 * 2.0 ** np.arange(10) * np.exp(random.normal(0, 0.3, (5, 10)))
        times_s[2] *= 4.0
        hits += isinstance(found := two_states([times_s])[0], TwoStates) and found.gap == CONSTANT_TIME
    assert hits == 0


def test_a_size_whose_noise_hides_the_gap_is_in_the_same_states():
    times_s = split((0, 1), 10, 3.0)
    times_s[0, 7] *= 1.9  # alone, this size would not be found
    assert not two_states([times_s[:, 7:8]])[0]
    assert two_states([times_s])[0].differs[7]


def test_what_was_not_measured_is_neither_slow_nor_fast():
    times_s = split((0, 1), 10, 3.0)
    times_s = np.vstack([times_s, times_s[4] * 1.01])
    times_s[4, 6] = np.nan
    (found,) = two_states([times_s])
    assert found.differs[6] and not found.slow[4].any()
    times_s[:, 7] = np.nan
    assert not two_states([times_s])[0].differs[7]


def test_the_sizes_of_all_series_are_judged_together():
    weak, nothing = split((0, 1), 4, 1.4, of=2), split((), 20, 1.0)
    assert isinstance(two_states([weak])[0], TwoStates)
    assert two_states([weak] + [nothing] * 20) == [None] * 21
    assert two_states([]) == []


def test_a_larger_gap_is_less_often_noise_and_more_launches_know_it_sooner():
    assert p_value(5, 2, 40.0) < p_value(5, 2, 10.0) < p_value(5, 2, 1.0) <= 1
    assert p_value(10, 5, 3.0) < p_value(5, 2, 3.0)


def test_fewer_than_five_launches_give_a_suspicion_and_no_answer():
    for launches in (2, 3, 4):
        (found,) = two_states([split((0,), 10, 9.0)[:launches]])
        assert isinstance(found, TooFewLaunches) and found.launches == launches
        assert found.suspected.tolist() == [False] * 5 + [True] * 5
    assert two_states([split((0,), 10, 1.5)[:3], split((), 10, 1.0)[:1]]) == [None, None]


@pytest.mark.parametrize("kind", GAP_KINDS)
def test_the_kind_of_the_gap_is_named(kind):
    times_s = made_of_two_states(kind, launches=6, slow=3, spread=0.02, seed=1)
    assert two_states([times_s])[0].gap == kind


def test_a_gap_of_no_known_kind_is_said_to_change_and_one_that_several_explain_is_unknown():
    low_s = np.array([1.0, 2.0, 4.0, 8.0])
    assert kind_of_gap(low_s, low_s * [2, 9, 3, 5]) == CHANGING
    assert kind_of_gap(np.ones(4), np.full(4, 3.0)) == UNKNOWN
    assert kind_of_gap(low_s[:2], np.array([9.0, 9.0])) == UNKNOWN
