"""Runs as frames: every column typed, nothing invented, runs told apart."""

import pandas as pd
import pytest
from made_runs import SIZES, TIMED, WARMUPS, build_run

from allreduce_bench.evaluation import frames
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.rows import RunError
from allreduce_bench.runs.schema import CALLS, SUMMARY, names


def test_repetitions_are_the_raw_calls_of_finished_cells(tmp_path):
    folder = build_run(tmp_path / "a", ranks=(2,), launches=2)
    frame = frames.repetitions([folder])
    assert list(frame.columns) == ["run", "launch", "attempt", "ranks", *names(CALLS)]
    assert len(frame) == 2 * 3 * len(SIZES) * (WARMUPS + TIMED)
    assert frame["warmup"].sum() == 2 * 3 * len(SIZES) * WARMUPS
    assert set(frame["run"]) == {"a"}
    assert frame["time_s"].dtype == "float64" and frame["ranks"].dtype == "Int64" and frame["warmup"].dtype == "boolean"


def test_missing_stays_missing(tmp_path):
    def outcome(_, cell):
        return {"state": "skipped", "reason": "too large", "wrong": None} if cell.algorithm == "ring" else {}

    folder = build_run(tmp_path / "a", ranks=(2,), outcome=outcome)
    assert "ring" not in set(frames.repetitions([folder])["competitor"])
    frame = frames.summary([folder])
    assert list(frame.columns) == ["run", *names(SUMMARY)]
    ring = frame[frame["competitor"] == "ring"]
    assert len(ring) == len(SIZES)
    assert ring[["time_s", "min_s", "speedup", "repetitions", "standing", "wrong"]].isna().all(axis=None)
    assert set(ring["reason"]) == {"too large"}
    assert frame.loc[frame["competitor"] == "native", "path_messages"].isna().all()


def test_medians_agree_with_the_raw_calls(tmp_path):
    folder = build_run(tmp_path / "a", ranks=(4,), algorithms=("native", "ring"))
    calls = frames.repetitions([folder]).query("not warmup and competitor == 'ring'")
    medians = calls.groupby(["size_bytes", "launch"])["time_s"].median().groupby("size_bytes").median()
    summary = frames.summary([folder]).query("competitor == 'ring'").set_index("size_bytes")["time_s"]
    pd.testing.assert_series_equal(medians, summary, check_names=False, check_index_type=False)


def test_runs_with_one_name_are_told_apart(tmp_path):
    for parent in ("monday", "tuesday"):
        (tmp_path / parent).mkdir()
        build_run(tmp_path / parent / "run", ranks=(2,), launches=1)
    folders = [RunFolder(tmp_path / parent / "run") for parent in ("monday", "tuesday")]
    assert frames.summary(folders)["run"].nunique() == 2
    assert frames.run_names(folders[:1]) == ["run"]


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(RunError, match=r"no run\.json"):
        frames.summary([RunFolder(tmp_path)])
