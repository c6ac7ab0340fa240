"""The trial: who is left after each round, within the stated number of calls."""

import numpy as np
import pytest

from allreduce_bench.programs.trial import FIRST, LONG, Trial, most_calls


def tried(times_s, noise=lambda call: 1.0) -> Trial:
    """A trial of candidates that take these times, and what `noise` makes of each call."""
    trial = Trial(len(times_s))
    while trial.winner is None:
        round_times = trial.take(times_s[trial.turn] * noise(trial.calls))
        if round_times is not None:
            trial.decide(round_times)
    return trial


@pytest.mark.parametrize("number", range(2, 20))
def test_the_fastest_wins_within_the_stated_calls(number):
    times = np.random.default_rng(number).permutation(np.linspace(1.0, 1.9, number))
    short, long = tried(times * 1e-5), tried(times)
    assert short.winner == long.winner == times.argmin()
    assert long.calls == most_calls(number, LONG) and short.calls == most_calls(number)


def test_clear_losers_cost_one_round():
    trial = tried([5.0, 1.0, 4.1, 4.5, 9.0, 8.0])
    assert trial.winner == 1 and trial.calls == 6 * FIRST.calls


def test_a_disturbed_call_does_not_cost_the_win():
    assert tried([1.1, 1.0, 1.4, 1.3], noise=lambda call: 50.0 if call == 5 else 1.0).winner == 1


def test_the_first_call_of_each_is_not_counted():
    assert tried([1.0, 1.2], noise=lambda call: 1000.0 if call == 0 else 1.0).winner == 0


def test_of_two_that_are_equal_the_first_is_taken():
    assert tried([1.01, 1.0]).winner == 0 and tried([1.03, 1.0]).winner == 1


def test_one_candidate_needs_no_trial():
    assert Trial(1).winner == 0 and most_calls(1) == 0


def test_turns_alternate_so_that_all_meet_what_changes():
    trial, turns = Trial(3), []
    while len(turns) < 9 + 12:
        turns.append(trial.turn)
        if (times := trial.take(1.0)) is not None:
            trial.decide(times)
    assert turns == [0, 0, 0, 1, 1, 1, 2, 2, 2, *4 * [0, 1, 2]]


def test_luck_in_the_first_round_does_not_decide():
    assert tried([1.2, 1.0, 1.1], noise=lambda call: 0.3 if call in (1, 2) else 1.0).winner == 1
