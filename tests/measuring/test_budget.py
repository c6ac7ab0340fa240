"""When a cell has been repeated enough, and which word says why."""

import pytest

from allreduce_bench.measuring.budget import MAX_REPETITIONS, Budget, ahead, warmups_left

STEADY, WILD = [1.0, 1.001] * 500, [1.0, 3.0] * 500


def run(budget: Budget, call_s: float, valid_s: list[float]) -> tuple[list[int], str]:
    """The batches of a cell whose calls take `call_s`, and why it ended."""
    batches: list[int] = []
    while (coming := ahead(budget, sum(batches), sum(batches) * call_s, valid_s[: sum(batches)])).calls:
        batches.append(coming.calls)
    return batches, coming.stopped


def test_a_steady_cell_stops_at_its_precision_but_not_before_twenty_calls():
    batches, stopped = run(Budget(0, None, 10.0, precision=0.03), 0.001, STEADY)
    assert stopped == "precision" and batches == [1, 1, 2, 4, 8, 16]


def test_without_precision_it_goes_on_to_the_most_calls():
    batches, stopped = run(Budget(0, None, 1e6, precision=0.03), 0.001, WILD)
    assert stopped == "calls" and sum(batches) == MAX_REPETITIONS


def test_calls_too_long_for_twenty_stop_at_six():
    batches, stopped = run(Budget(0, None, 1.0, precision=0.03), 0.07, STEADY)
    assert stopped == "precision" and sum(batches) == 8


@pytest.mark.parametrize("short, word", [(False, "time"), (True, "within")])
def test_time_ends_it_after_six_calls_at_least(short, word):
    assert run(Budget(0, None, 0.5, precision=0.01, short=short), 0.1, WILD) == ([1, 1, 2, 2], word)
    assert run(Budget(0, None, 0.5, precision=0.01, short=short), 9.0, WILD) == ([1, 1, 2, 2], word)


def test_iterations_are_exact_whatever_the_precision():
    batches, stopped = run(Budget(0, 37, 0.001, precision=0.5), 1.0, STEADY)
    assert stopped == "iterations" and sum(batches) == 37
    assert run(Budget(0, 1, 0.001), 1.0, STEADY) == ([1], "iterations")


def test_the_least_time_is_kept_however_precise_and_however_many():
    batches, stopped = run(Budget(0, None, 0.001, min_time_s=4.0, precision=0.5), 0.001, STEADY * 10)
    assert sum(batches) >= 4000 and stopped == "precision"


def test_the_deadline_goes_before_everything_but_the_first_call():
    late = Budget(3, 50, 1.0, min_time_s=9.0, deadline_s=0.0)
    assert ahead(late, 0, 0.0, []).calls == 1 and warmups_left(late) == 0
    assert ahead(late, 1, 0.1, [0.1]) == (0, "within", False)
    assert warmups_left(late._replace(deadline_s=None)) == 2


def test_calls_that_are_not_valid_make_no_precision():
    assert ahead(Budget(0, None, 10.0, precision=0.03), 64, 0.1, STEADY[:19]).calls
    assert ahead(Budget(0, None, 10.0, precision=0.03), 64, 0.1, STEADY[:20]).stopped == "precision"
