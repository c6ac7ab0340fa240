"""What follows from entries and exits, held against what one reads off a few calls by eye."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allreduce_bench.measuring.calls import arrivals, durations, longest_mean, ran_backwards

ENTRY = np.array([[0.0, 1.0, 0.5], [10.0, 10.0, 10.0]])  # [call, rank]
EXIT = np.array([[4.0, 3.0, 4.5], [11.0, 13.0, 12.0]])


def lists(columns: dict) -> dict:
    return {name: values.tolist() for name, values in columns.items()}


def test_two_calls_of_three_ranks():
    assert lists(durations(ENTRY, EXIT)) == {
        "time_s": [4.0, 3.0],
        "slowest_rank": [0, 1],
        "shortest_s": [2.0, 1.0],
        "osu_avg_s": [pytest.approx(10 / 3), 2.0],
    }
    assert lists(arrivals(ENTRY, EXIT)) == {
        "global_s": [4.5, 3.0],
        "completion_s": [3.5, 3.0],
        "arrival_skew_s": [1.0, 0.0],
        "last_rank": [1, 0],
    }
    assert longest_mean(ENTRY, EXIT) == 3.0  # rank 2, which was the slowest of no call
    assert not ran_backwards(ENTRY, EXIT).any()


def test_without_calls_there_is_no_mean():
    assert longest_mean(ENTRY[:0], EXIT[:0]) is None


def test_a_clock_that_ran_backwards_in_a_call_or_between_two_is_named():
    exit = EXIT.copy()
    exit[1, 2] = 9.0
    assert ran_backwards(ENTRY, exit).tolist() == [[False] * 3, [False, False, True]]
    entry = ENTRY.copy()
    entry[1, 0] = 3.0
    assert ran_backwards(entry, EXIT).tolist() == [[False] * 3, [True, False, False]]


@given(st.lists(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=3, max_size=3), min_size=1, max_size=9))
def test_the_columns_of_any_call_fit_together(calls):
    entry = np.array([[start for start, _ in call] for call in calls])
    exit = entry + np.array([[spent for _, spent in call] for call in calls])
    columns = {**durations(entry, exit), **arrivals(entry, exit)}
    assert (columns["shortest_s"] <= columns["osu_avg_s"] + 1e-12).all()
    assert (columns["osu_avg_s"] <= columns["time_s"] + 1e-12).all()
    assert (columns["completion_s"] <= columns["time_s"] + 1e-12).all()
    assert (columns["global_s"] >= columns["time_s"] - 1e-12).all()
    assert np.allclose(columns["global_s"], columns["completion_s"] + columns["arrival_skew_s"], atol=1e-12)
    assert (columns["completion_s"] >= columns["time_s"] - columns["arrival_skew_s"] - 1e-12).all()
    assert longest_mean(entry, exit) <= columns["time_s"].max() + 1e-12
