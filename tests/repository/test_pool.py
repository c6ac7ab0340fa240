"""Ranks that many tests share: answers, failures by rank, and nothing left of a pool in which something failed."""

from pathlib import Path

import pytest
from interpreters import contract, libraries
from pool import CALLS, segments_of

pytestmark = pytest.mark.skipif(not libraries(), reason="no interpreter here has an MPI")


def is_running(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "State:\tZ" not in status.read_text()


@contract
def test_functions_are_called_on_the_ranks_that_were_asked_for(python, on_ranks):
    assert on_ranks(3, "pool_calls.add", 5) == [(0, 15), (1, 15), (2, 15)]
    assert on_ranks(1, "pool_calls.add", 5) == [(0, 5)]
    assert on_ranks(8, "pool_calls.add", 5)[7] == (7, 40)


ENDS = {  # the function, and within how many seconds it answers -> what is said
    ("raise_on_rank_1", 600): ['pool_calls.py", line', "rank 1: ", "KeyError: 'lost'", "ranks [0, 2], which are here"],
    ("die_on_rank_1", 600): ["rank 1: died", "its last words"],
    ("sleep_on_rank_1", 3): ["within 3 s from ranks [0, 1, 2]", "in sleep_on_rank_1"],
}


@contract
@pytest.mark.parametrize("end", ENDS, ids=lambda end: end[0])
def test_a_call_that_fails_says_where_and_leaves_nothing(python, on_ranks, end):
    before = on_ranks(8, "pool_calls.pids")[0]
    segments = {segment for pid in before for segment in segments_of(pid)}
    with pytest.raises(AssertionError) as failed:
        on_ranks(3, f"pool_calls.{end[0]}", limit_s=end[1])
    assert all(words in str(failed.value) for words in ENDS[end]), failed.value
    assert not any(map(is_running, before))
    assert segments and not any(segment.exists() for segment in segments)
    after = on_ranks(8, "pool_calls.pids")[0]
    assert not {*before} & {*after}


def test_ranks_are_new_before_communicators_that_are_left_run_out(on_ranks):
    places = [tuple(on_ranks(2, "pool_calls.leave_a_communicator")) for _ in range(CALLS + 1)]
    assert len(set(places)) == 2
