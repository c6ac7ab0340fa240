"""Points are the launch medians that the summary is made of, and nothing else."""

import pandas as pd
import pytest
from made_runs import SIZES, build_run
from rechecked import recheck

from allreduce_bench.evaluation.grade import GRADES
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.models.points import POINTS, TYPES, points
from allreduce_bench.runs.competitor import MOCKUPS
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.rows import RunError


def medians_of(folder: RunFolder) -> dict[tuple, float]:
    """(cell and launch) -> seconds, as the summary has them."""
    same = ("competitor", "segment", "ranks", "size_bytes")
    return {
        (*(row[name] for name in same), launch): time_s
        for row in summarise(folder)
        for launch, time_s in row.get("launch_medians", {}).items()
    }


def points_of(folder: RunFolder) -> dict[tuple, float]:
    """The same from the points, which may hold each only once."""
    frame = points([folder])
    columns = ["competitor", "segment", "ranks", "size_bytes", "launch"]
    keys = frame[columns].astype(object).where(frame[columns].notna(), None).itertuples(index=False, name=None)
    found = dict(zip(keys, frame["time_s"]))
    assert len(found) == len(frame)
    return found


def test_a_point_says_what_it_is(tmp_path):
    folder = build_run(tmp_path / "a", algorithms=("native", "two_tree"), launches=2, floors=True)
    frame = points([folder])
    assert tuple(frame.columns) == POINTS
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == TYPES
    assert len(frame) == 2 * len(SIZES) * 2 * 2 and set(frame["run"]) == {"a"}
    assert set(frame["competitor"]) == {"native", "two_tree"} and frame["conditions"].isna().all()
    assert not frame["imported"].any() and (frame["nodes"] == 1).all()
    assert set(frame["grade"]) <= set(GRADES) and set(frame["oversubscribed"]) == {False, True}
    assert set(frame["dtype"]) == {"float32"} and set(frame["op"]) == {"sum"}
    assert (frame["launch"].str.split("r-").str[0].astype(int) == frame["ranks"]).all()
    segments = dict(frame.groupby("competitor")["segment"].agg(lambda of: list(of.unique())))
    assert segments["two_tree"] == [32768] and segments["native"][0] is pd.NA


@pytest.mark.parametrize(
    ("choices", "words"), [({"cache": "cold"}, "cache cold"), ({"choices": {"in_place": True}}, "in-place yes")]
)
def test_conditions_of_a_run_are_named(tmp_path, choices, words):
    folder = build_run(tmp_path / "a", **choices)
    assert set(points([folder])["conditions"]) == {words}


def test_points_are_the_medians_of_the_summary(tmp_path):
    """Whatever befell a run: warm and cold cells, invalid calls, cells that failed, hung or have no time."""

    def outcome(launch, cell):
        what = (launch.name, cell.algorithm, cell.size_bytes)
        if what in (("2r-2", "ring", 8), ("4r-1", "two_tree", 1024)):
            return {"state": "wrong", "wrong": 3} if launch.ranks == 2 else {"state": "refused", "reason": "a proof"}
        if what == ("4r-3", "ring", 1024):
            return {"state": "hung", "reason": "rank 1 waits"}
        return None if what == ("4r-3", "native", 8) else {}

    def call(launch, cell, repetition):
        if (launch.name, cell.algorithm, cell.size_bytes) == ("2r-1", "native", 1024):
            return {"time_s": 0.0}
        if (launch.name, cell.algorithm, cell.size_bytes) == ("2r-3", "two_tree", 8):
            return {"valid": False}
        return {"valid": (repetition + launch.number) % 4 != 0}

    folder = build_run(tmp_path / "run", sizes=(8, 1024, 65536), outcome=outcome, call=call, floors=True, timed=9)
    expected = medians_of(folder)
    assert points_of(folder) == expected
    every = 3 * 3 * 2 * 3
    left_out = 3 + 3 + 1 + 1 + 3 + 1  # wrong, refused, hung, never started, a median of 0; no valid call in one launch
    assert len(expected) == every - left_out


def test_groups_have_no_points(tmp_path):
    folder = build_run(tmp_path / "run", ranks=(4,), choices={"groups": "2"})
    frame = points([folder])
    assert len(frame) == 0 and tuple(frame.columns) == POINTS
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == TYPES


def test_mock_ups_have_no_points(tmp_path):
    folder = build_run(tmp_path / "run", algorithms=["native", *MOCKUPS], ranks=(2,))
    frame = points([folder])
    assert set(frame["competitor"]) == {"native"} and len(frame) == 3 * len(SIZES)
    assert set(MOCKUPS) < {row["competitor"] for row in summarise(folder)}


def test_damage_has_its_file(tmp_path):
    folder = build_run(tmp_path / "run", algorithms=("ring",), sizes=(8,), launches=2)
    path = folder.launches / "4r-2.1.calls.csv"
    header, first, *others = path.read_text().splitlines(keepends=True)
    fields = first.split(",")
    fields[header.split(",").index("time_s")] = "soon"
    path.write_text("".join([header, ",".join(fields), *others]))
    recheck(folder)
    with pytest.raises(RunError, match=r"4r-2\.1\.calls\.csv: damaged: "):
        points([folder])
