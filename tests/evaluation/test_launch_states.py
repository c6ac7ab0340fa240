"""Launches in two states become columns and facts of the cells that they are in, of these and of no others."""

import csv

import pytest
from made_runs import SIZES, WAITS_FROM, build_run, waits

from allreduce_bench.evaluation.launch_states import UNKNOWN, Suspicion, add_states, find_states, series_in_states
from allreduce_bench.evaluation.summary import record_summary, summarise
from allreduce_bench.evaluation.summary_row import LaunchStates


def rows_of(folder):
    return {(row["competitor"], row["ranks"], row["size_bytes"]): row for row in summarise(folder)}


def test_only_the_cells_in_two_states_say_so(tmp_path):
    rows = rows_of(build_run(tmp_path / "run", launches=5, factor=waits))
    told = {cell for cell, row in rows.items() if row.get("launch_states")}
    assert told == {("native", 4, size_bytes) for size_bytes in SIZES if size_bytes >= WAITS_FROM}
    row = rows["native", 4, SIZES[-1]]
    states = row["launch_states"]
    assert states.low_launches == ("4r-1", "4r-4", "4r-5") and states.high_launches == ("4r-2", "4r-3")
    assert states.high_s / states.low_s == pytest.approx(20, rel=0.1)
    assert (row["states"], row["state_low_s"], row["state_high_s"]) == ("low:3,high:2", states.low_s, states.high_s)
    assert "states" not in rows["ring", 4, SIZES[-1]]


def test_the_columns_are_in_the_file(tmp_path):
    folder = build_run(tmp_path / "run", launches=5, factor=waits, algorithms=("native",), ranks=(4,))
    record_summary(folder)
    with open(folder.summary_csv, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["states"] for row in rows] == ["", "", *["low:3,high:2"] * 3]
    assert all(bool(row["state_low_s"]) == bool(row["states"]) for row in rows)
    assert [row["doubt"] for row in rows] == ["", "", *["two states"] * 3]


def test_too_few_launches_give_a_suspicion_and_no_states(tmp_path):
    rows = rows_of(build_run(tmp_path / "run", launches=4, factor=waits))
    suspected = {cell for cell, row in rows.items() if row.get("suspected_states") == 4}
    assert suspected == {("native", 4, size_bytes) for size_bytes in SIZES if size_bytes >= WAITS_FROM}
    assert not any(row.get("launch_states") for row in rows.values())


def test_one_launch_is_in_no_state(tmp_path):
    assert not any("states" in row for row in summarise(build_run(tmp_path / "run", launches=1, factor=waits)))


def test_a_launch_that_lacks_a_size_is_in_neither_state_there():
    medians = {
        ("ring", size_bytes): {f"2r-{number}": (9.0 if number < 3 else 1.0) + number / 100 for number in range(1, 7)}
        for size_bytes in (8, 16, 32)
    }
    del medians["ring", 16]["2r-6"]
    found = find_states(medians)
    assert isinstance(states := found["ring", 16], LaunchStates) and states.gap == UNKNOWN
    assert (states.low_launches, states.high_launches) == (("2r-3", "2r-4", "2r-5"), ("2r-1", "2r-2"))
    few = {cell: {name: launches[name] for name in ("2r-1", "2r-4")} for cell, launches in medians.items()}
    assert set(find_states(few).values()) == {Suspicion(2)}
    assert find_states({}) == find_states({("ring", 8): {"2r-1": 1.0}}) == {}


def test_the_series_in_states_know_all_their_sizes(tmp_path):
    (series,) = series_in_states(summarise(build_run(tmp_path / "run", launches=5, factor=waits)))
    assert series.sizes == SIZES and not series.suspected
    assert [row["size_bytes"] for row in series.rows] == [
        size_bytes for size_bytes in SIZES if size_bytes >= WAITS_FROM
    ]


def test_rows_without_a_time_are_passed_over():
    rows = [{"time_s": None, "size_bytes": 8}]
    add_states(rows)
    assert rows == [{"time_s": None, "size_bytes": 8}] and not list(series_in_states(rows))
