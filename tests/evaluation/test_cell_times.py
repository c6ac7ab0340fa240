"""Calls of a cell become its times: within a launch first, warm-ups and invalid calls left out."""

import pytest

from allreduce_bench.evaluation.cell_times import (
    CellCalls,
    floor_time_s,
    known_median,
    statistics,
    valid_calls,
)
from allreduce_bench.runs.schema import CALLS, join_values, names, split_values


def block(*calls: dict) -> dict[str, tuple[str, ...]]:
    """Rows of CALLS by columns; a call is valid and no warm-up unless it says so."""
    usual = {"warmup": "0", "valid": "1"}
    rows = [dict.fromkeys(names(CALLS), "") | {**usual, "call": str(i)} | row for i, row in enumerate(calls)]
    return {name: tuple(row[name] for row in rows) for name in names(CALLS)}


def calls_of(*times_s: float) -> CellCalls:
    calls = CellCalls({"time_definition": "barrier_max_local"})
    calls.add(block(*({"time_s": str(time_s)} for time_s in times_s)))
    return calls


def test_warm_ups_and_invalid_calls_do_not_count():
    calls = CellCalls({})
    rows = block({"time_s": "9", "warmup": "1"}, {"time_s": "-1", "valid": "0"}, {"time_s": "2", "osu_avg_s": "1.5"})
    assert valid_calls(rows) == [False, False, True]
    calls.add(rows)
    assert (calls.time_s, calls.first_s, calls.invalid, calls.others["osu_avg_s"]) == ([2.0], 9.0, 1, [1.5])


def test_a_cell_has_the_median_over_launches():
    timed = {"2r-1": calls_of(1, 2, 9), "2r-2": calls_of(4), "2r-3": calls_of(6, 6)}
    row = statistics(timed)
    assert row["time_s"] == 4
    assert row["launch_medians"] == {"2r-1": 2, "2r-2": 4, "2r-3": 6}
    assert (row["launches"], row["repetitions"], row["interval"], row["first_penalty"]) == (3, 6, "launches", 1.0)


def test_a_floor_has_the_launch_that_was_disturbed_least():
    assert floor_time_s({"2r-1": calls_of(1, 2, 9), "2r-2": calls_of(4), "2r-3": calls_of()}) == 2
    assert floor_time_s({}) is None


@pytest.mark.parametrize("count, kind", [(1, "range"), (6, "repetitions")])
def test_one_launch_has_an_interval_only_of_enough_calls(count, kind):
    row = statistics({"2r-1": calls_of(*range(1, count + 1))})
    assert row["interval"] == kind and row["time_low_s"] == row["spread_low_s"] == 1


def test_no_valid_call_is_no_time():
    calls = CellCalls({})
    calls.add(block({"time_s": "1", "valid": "0"}))
    assert statistics({"2r-1": calls}) == {
        "launches": 0,
        "invalid": 1,
        "state": "left out",
        "reason": "none of the 1 calls was valid (a rank started late, or its clock ran backwards)",
    }
    assert "clock resolution" in statistics({"2r-1": calls_of(0, 0, 1)})["reason"]


def test_joined_values_are_split_again():
    assert split_values(join_values(["a", "b"])) == ["a", "b"] and split_values(None) == split_values("") == []


def test_the_median_of_what_is_known():
    assert known_median([None, 3.0, 1.0]) == 2.0 and known_median([None]) is None
