"""When a cell has been repeated enough, and which word says why."""

import pytest

from allreduce_bench.measuring.budget import MAX_REPETITIONS, TRIED, Budget, Sample, ahead, share, warmups_ahead
from allreduce_bench.runs.plan import Cell, Plan

STEADY, WILD = [1.0, 1.001] * 500, [1.0, 3.0] * 500


def sample(calls: int, call_s: float, valid_s: list[float]) -> Sample:
    return Sample(calls, calls * call_s, valid_s[:calls])


def run(budget: Budget, call_s: float, valid_s: list[float]) -> tuple[list[int], str]:
    """The batches of a cell whose calls take `call_s`, and why it ended."""
    batches: list[int] = []
    while (coming := ahead(budget, sample(sum(batches), call_s, valid_s), 0.0)).calls:
        batches.append(coming.calls)
    return batches, coming.stopped


def test_a_steady_cell_stops_at_its_precision_but_not_before_twenty_calls():
    batches, stopped = run(Budget(0, None, 10.0, precision=0.03), 0.001, STEADY)
    assert stopped == "precision" and batches == [1, 1, 1, 1, 1, 5, 10]


def test_without_precision_it_goes_on_to_the_most_calls():
    batches, stopped = run(Budget(0, None, 1e6, precision=0.03), 0.001, WILD)
    assert stopped == "calls" and sum(batches) == MAX_REPETITIONS


def test_calls_too_long_for_twenty_stop_at_six():
    batches, stopped = run(Budget(0, None, 1.0, precision=0.03), 0.07, STEADY)
    assert stopped == "precision" and sum(batches) == 10


@pytest.mark.parametrize("short, word", [(False, "time"), (True, "within")])
def test_time_ends_it_after_six_calls_at_least(short, word):
    assert run(Budget(0, None, 0.5, precision=0.01, short=short), 0.1, WILD) == ([1, 1, 1, 1, 1, 1], word)
    assert run(Budget(0, None, 0.5, precision=0.01, short=short), 9.0, WILD) == ([1, 1, 1, 1, 1, 1], word)


def test_iterations_are_exact_whatever_the_precision():
    batches, stopped = run(Budget(0, 37, 0.001, precision=0.5), 1.0, STEADY)
    assert stopped == "iterations" and sum(batches) == 37
    assert run(Budget(0, 1, 0.001), 1.0, STEADY) == ([1], "iterations")


def test_the_least_time_is_kept_however_precise_and_however_many():
    batches, stopped = run(Budget(0, None, 0.001, min_time_s=4.0, precision=0.5), 0.001, STEADY * 10)
    assert sum(batches) >= 4000 and stopped == "precision"


def test_the_deadline_goes_before_everything_but_the_first_call():
    late = Budget(3, 50, 1.0, min_time_s=9.0, deadline_s=0.0)
    assert ahead(late, Sample(0, 0.0, []), 0.1).calls == 1 and warmups_ahead(late, 1, 0.0, 0.1) == 0
    assert ahead(late, Sample(1, 0.1, [0.1]), 0.1) == (0, "within", False, False)
    assert warmups_ahead(late._replace(deadline_s=None), 1, 0.0, 0.1) == 2


def test_calls_that_are_not_valid_make_no_precision():
    assert ahead(Budget(0, None, 10.0, precision=0.03), Sample(64, 0.1, STEADY[:19]), 0.0).calls
    assert ahead(Budget(0, None, 10.0, precision=0.03), Sample(64, 0.1, STEADY[:20]), 0.0).stopped == "precision"


def test_where_no_call_began_on_time_it_goes_on_by_a_barrier_after_some_tries_or_at_its_end():
    endless, short = Budget(0, None, 10.0), Budget(0, 1, 10.0)
    assert ahead(endless, Sample(TRIED, 0.1, [], late=TRIED), 0.0) == (1, "", True, False)
    assert not ahead(endless, Sample(TRIED - 1, 0.1, [], late=TRIED - 1), 0.0).fall_back
    assert ahead(short, Sample(1, 0.1, [], late=1), 0.0) == (1, "", True, False)
    assert ahead(short, Sample(1, 0.1, [], late=1, by_barrier=True), 0.0) == (0, "iterations", False, False)
    assert not ahead(endless, Sample(TRIED, 0.1, [], late=TRIED - 1), 0.0).fall_back
    assert not ahead(endless, Sample(0, 0.0, []), 0.0).fall_back


PLAN = Plan(("ring",), (8,), (2,), 1, seed=1, cell_time_s=2.0, min_time_s=0.2)
RING, FLOOR = Cell("ring", 8, None), Cell("floor:copy", 8, None)


def test_without_a_limit_a_cell_has_the_time_of_the_plan_and_a_floor_a_tenth():
    own, floor = (share(PLAN, cell, 4, None, 7.0) for cell in (RING, FLOOR))
    assert (own.time_s, own.min_time_s, own.deadline_s, own.short) == (2.0, 0.2, None, False)
    assert (floor.time_s, floor.min_time_s) == pytest.approx((0.2, 0.02))


def test_of_the_time_left_every_cell_has_an_equal_share_but_no_more_than_the_plan_gives():
    scarce, plenty = (share(PLAN, RING, 4, left_s, 7.0) for left_s in (4.0, 400.0))
    assert (scarce.time_s, scarce.deadline_s, scarce.short) == (1.0, 11.0, True)
    assert (plenty.time_s, plenty.deadline_s, plenty.short) == (2.0, 407.0, False)
    assert share(PLAN, RING, 0, 0.0, 7.0).time_s == 0.0
