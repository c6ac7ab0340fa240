"""The trial: who is left after each round, within the stated number of calls."""

import numpy as np
import pytest

from allreduce_bench.programs.settling import (
    CLEARLY_SLOWER_AT_FIRST,
    EXPECTED_UNTRIED,
    LONG_ROUNDS,
    SHORT_ROUNDS,
    Trial,
    most_calls,
)


def tried(times_s, noise=lambda call: 1.0, is_long: bool = False) -> Trial:
    """A trial of candidates that take these times, and what `noise` makes of each call."""
    trial = Trial(len(times_s), is_long)
    while trial.winner is None:
        call(trial, times_s[trial.turn] * noise(trial.calls))
    return trial


def call(trial: Trial, time_s: float) -> None:
    """One of the candidate whose turn it is; all ranks take as long."""
    if (times := trial.take(time_s)) is not None:
        trial.decide(times)


@pytest.mark.parametrize("number", range(2, 20))
def test_the_fastest_wins_within_the_stated_calls(number):
    times = np.random.default_rng(number).permutation(np.linspace(1.0, 1.9, number))
    short, long = tried(times * 1e-5), tried(times, is_long=True)
    assert short.winner == long.winner == times.argmin()
    assert short.calls == most_calls(number) and long.calls <= most_calls(number, LONG_ROUNDS)


@pytest.mark.parametrize("number", [2, 3, 8])
def test_long_ones_that_are_near_take_the_stated_calls(number):
    times = np.linspace(1.0, 1.2, number)
    assert tried(times, is_long=True).calls == most_calls(number, LONG_ROUNDS)


@pytest.mark.parametrize("is_long, rounds", [(False, SHORT_ROUNDS), (True, LONG_ROUNDS)])
def test_clear_losers_cost_one_round(is_long, rounds):
    trial = tried([5.0, 1.0, 4.1, 4.5, 9.0, 8.0], is_long=is_long)
    assert trial.winner == 1 and trial.calls == 6 * rounds[0].both


def test_long_ones_that_are_behind_are_given_up_after_the_call_that_shows_it():
    trial = Trial(3, is_long=True)
    call(trial, 1.0)
    call(trial, CLEARLY_SLOWER_AT_FIRST)
    assert trial.left == [0, 2] and trial.coming == [2]
    call(trial, 0.5)
    assert trial.left == [0, 2] and trial.best == 2  # who was slower before is looked at in the next round
    call(trial, 1.0)
    assert trial.winner == 2 and trial.calls == 4


def test_a_disturbed_call_does_not_cost_the_win():
    assert tried([1.1, 1.0, 1.4, 1.3], noise=lambda call: 50.0 if call == 5 else 1.0).winner == 1


def test_the_first_call_of_each_turn_is_not_counted():
    first_of_turns = {0, 3, *range(6, 22, 4)}
    trial = tried([1.0, 1.2], noise=lambda call: 1000.0 if call in first_of_turns else 1.0)
    assert trial.winner == 0 and trial.typical_s(0) == 1.0


def test_of_two_that_are_equal_the_first_is_taken():
    assert tried([1.01, 1.0]).winner == 0 and tried([1.03, 1.0]).winner == 1


def test_one_candidate_needs_no_trial():
    assert Trial(1).winner == 0 and most_calls(1) == 0


def test_turns_alternate_so_that_all_meet_what_changes():
    trial, turns = Trial(3), []
    while len(turns) < 9 + 24:
        turns.append(trial.turn)
        call(trial, 1.0)
    assert turns == 3 * [0] + 3 * [1] + 3 * [2] + 2 * (4 * [0] + 4 * [1] + 4 * [2])


def test_times_of_short_calls_are_exchanged_once_a_round_and_those_of_long_ones_at_each_call():
    short, long = Trial(2), Trial(2, is_long=True)
    assert [short.take(1.0) is None for _ in range(6)] == [True] * 5 + [False]
    assert not short.is_between and short.coming == [0, 1]
    short.decide(np.ones(6))
    assert short.is_between and short.coming == [0, 1, 0, 1]
    assert long.take(1.0).tolist() == [1.0]


def test_what_counts_are_the_times_of_all_ranks():
    trial = Trial(2, is_long=True)
    trial.take(1.0)
    trial.decide(np.array([3.0]))
    assert trial.typical_s(0) == 3.0


def test_luck_in_the_first_round_does_not_decide():
    assert tried([1.2, 1.0, 1.1], noise=lambda call: 0.3 if call in (1, 2) else 1.0).winner == 1


def test_one_that_cannot_run_is_not_tried():
    trial = Trial(3)
    trial.drop(1)
    assert trial.left == trial.coming == [0, 2]
    trial.drop(0)
    assert trial.winner == 2 and trial.calls == 0


def test_a_round_whose_last_one_cannot_run_is_over():
    trial = Trial(3, is_long=True)
    call(trial, 1.0)
    call(trial, 1.0)
    trial.drop(2)
    assert trial.left == [0, 1] and trial.coming == [0]


def test_what_the_next_calls_may_cost_is_expected_from_what_is_known():
    unknown, guessed = Trial(3), Trial(3, guesses_s={1: 2.0})
    assert unknown.loss_s == 0  # there is nothing to compare with
    assert guessed.best == 1 and guessed.loss_s == 2 * (EXPECTED_UNTRIED - 1) * 2.0 * SHORT_ROUNDS[0].calls
    for time_s in (1.0, 3.0, 2.0):
        for _ in range(SHORT_ROUNDS[0].calls):
            call(guessed, time_s)
    assert guessed.best == 0 and guessed.loss_s == pytest.approx((2.0 + 1.0) * SHORT_ROUNDS[1].both)
