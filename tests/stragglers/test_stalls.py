"""Whom the others wait for, from what the ranks answer."""

import pytest

from allreduce_bench.stragglers.monitor.watchdog import State, stall_of


def answers(*places: tuple[int, bool] | None, says_ready: bool = True) -> dict[int, State]:
    return {rank: State(*place, says_ready, 60.0) for rank, place in enumerate(places) if place}


def test_the_rank_that_is_not_ready_is_behind():
    stall = stall_of(answers((7, True), (7, True), (7, False)), 3, {1, 2})
    assert stall.behind == (2,) and stall.step == 7 and stall.stall_s == 60 and not stall.silent and not stall.unreached


@pytest.mark.parametrize(
    ("places", "behind", "ahead"),
    [
        ([(8, False), (7, True), (8, True)], (1,), ()),  # the fewer hang after the all-reduce
        ([(7, True), (7, True), (8, False), (7, True)], (), (2,)),  # or left it out
        ([(0, True), (11, False), (9, True)], (), (1, 2)),  # surely, as all-reduces after it have ended
        ([(7, False), (7, True), (8, False)], (0,), ()),
        ([(7, False), (8, False)], (0,), ()),
    ],
)
def test_where_ranks_are_in_different_steps_the_fewer_are_named(places, behind, ahead):
    stall = stall_of(answers(*places), len(places), {1, 2, 3})
    assert (stall.behind, stall.ahead, stall.step) == (behind, ahead, min(places)[0])


def test_without_ready_the_steps_alone_count():
    stall = stall_of(answers((7, False), (7, False), (8, False), says_ready=False), 3, {1, 2})
    assert (stall.behind, stall.ahead, stall.says_ready) == ((), (2,), False)


def test_silent_ranks_and_those_that_never_answered_are_told_apart():
    stall = stall_of(answers((7, True), None, (7, True), None), 4, {1, 2})
    assert stall.silent == (1,) and stall.unreached == (3,) and stall.behind == () and stall.all_ready


def test_nobody_is_behind_where_all_stand_at_the_same_place():
    assert stall_of(answers((7, False), (7, False)), 2, {1}).behind == ()
    assert not stall_of(answers((7, False), (7, False)), 2, {1}).all_ready
    assert not stall_of(answers((7, False), (7, False), says_ready=False), 2, {1}).says_ready
