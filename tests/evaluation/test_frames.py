"""Calls become medians of launches, and these the times of cells; every column typed, nothing invented."""

import pandas as pd
import pytest
from made_runs import SIZES, TIMED, WARMUPS, build_run
from made_times import made_calls, made_medians, rows_of_times

from allreduce_bench.evaluation.frames import cells_of, medians_of, read_calls
from allreduce_bench.evaluation.summary import summary
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.rows import RunError
from allreduce_bench.runs.schema import CALLS, SUMMARY, names

CELL = (2, "ring", 8)


def test_the_raw_calls_of_finished_cells_are_read(tmp_path):
    frame = read_calls(build_run(tmp_path / "a", ranks=(2,), launches=2))
    assert list(frame.columns) == ["launch", "attempt", "ranks", *names(CALLS)]
    assert len(frame) == 2 * 3 * len(SIZES) * (WARMUPS + TIMED)
    assert frame["warmup"].sum() == 2 * 3 * len(SIZES) * WARMUPS
    assert frame["time_s"].dtype == "float64" and frame["ranks"].dtype == "Int64" and frame["warmup"].dtype == "boolean"


def test_missing_stays_missing(tmp_path):
    def outcome(_, cell):
        return {"state": "skipped", "reason": "too large", "wrong": None} if cell.algorithm == "ring" else {}

    folder = build_run(tmp_path / "a", ranks=(2,), outcome=outcome)
    assert "ring" not in set(read_calls(folder)["competitor"])
    frame = summary([folder])
    assert list(frame.columns) == ["run", *names(SUMMARY)]
    ring = frame[frame["competitor"] == "ring"]
    assert len(ring) == len(SIZES)
    assert ring[["time_s", "min_s", "speedup", "repetitions", "standing", "wrong"]].isna().all(axis=None)
    assert set(ring["reason"]) == {"too large"}
    assert frame.loc[frame["competitor"] == "native", "path_messages"].isna().all()


def test_a_run_without_any_call_has_empty_frames(tmp_path):
    folder = build_run(tmp_path / "a", ranks=(2,), outcome=lambda *_: {"state": "skipped", "wrong": None})
    calls = read_calls(folder)
    medians = medians_of(calls, folder.marks())
    assert len(calls) == len(medians) == len(cells_of(medians, calls)) == 0


def test_medians_agree_with_the_raw_calls(tmp_path):
    folder = build_run(tmp_path / "a", ranks=(4,), algorithms=("native", "ring"))
    calls = read_calls(folder).query("not warmup and competitor == 'ring'")
    medians = calls.groupby(["size_bytes", "launch"], observed=True)["time_s"].median().groupby("size_bytes").median()
    of_cells = summary([folder]).query("competitor == 'ring'").set_index("size_bytes")["time_s"]
    pd.testing.assert_series_equal(medians, of_cells, check_names=False, check_index_type=False)


def test_a_completion_begins_at_the_last_entry():
    calls = made_calls([{"time_s": 4.0, "global_s": 5.0, "arrival_skew_s": 2.0}, {"time_s": 4.0, "global_s": 6.0}])
    assert made_medians(calls)["completion_s"].tolist() == [3.0]


def test_a_cell_has_the_median_over_launches():
    row = rows_of_times({CELL: {"2r-1": [1, 2, 9], "2r-2": [4], "2r-3": [6, 6]}})[CELL]
    assert row["time_s"] == 4 and row["launch_medians"] == {"2r-1": 2, "2r-2": 4, "2r-3": 6}
    assert (row["launches"], row["repetitions"], row["interval"], row["first_penalty"]) == (3, 6, "launches", 1.0)
    assert (row["min_s"], row["max_s"], row["osu_avg_s"]) == (1, 9, None)


def test_quantiles_are_of_all_calls_scaled_to_one_median():
    row = rows_of_times({CELL: {"2r-1": [1.0, *[2.0] * 19], "2r-2": [8.0] * 20}})[CELL]
    assert (row["time_s"], row["p25_s"], row["p99_s"]) == (5.0, 5.0, None)


def test_runs_with_one_name_are_told_apart(tmp_path):
    for parent in ("monday", "tuesday"):
        (tmp_path / parent).mkdir()
        build_run(tmp_path / parent / "run", ranks=(2,), launches=1)
    folders = [RunFolder(tmp_path / parent / "run") for parent in ("monday", "tuesday")]
    assert summary(folders)["run"].nunique() == 2


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(RunError, match=r"no run\.json"):
        summary([RunFolder(tmp_path)])
