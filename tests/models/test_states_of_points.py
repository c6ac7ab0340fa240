"""Points of launches in two states are known, and no model is fitted to them."""

import pandas as pd
from made_runs import SIZES, WAITS_FROM, build_run, waits
from places import DATA

from allreduce_bench.importers import points as points_of_log
from allreduce_bench.models.fitting import UnfittedSeries, fit_series
from allreduce_bench.models.model import Model
from allreduce_bench.models.points import in_two_states, points


def test_the_points_are_those_of_the_cells_that_the_summary_names(tmp_path):
    frame = points([build_run(tmp_path / "run", launches=5, factor=waits)])
    told = frame[in_two_states(frame)]
    assert set(zip(told["competitor"], told["ranks"])) == {("native", 4)}
    assert sorted(set(told["size_bytes"])) == [size_bytes for size_bytes in SIZES if size_bytes >= WAITS_FROM]
    assert len(told) == 3 * 5
    assert not in_two_states(frame.drop(columns="launch")).any()


def test_a_fit_leaves_them_out_and_says_so(tmp_path):
    def everywhere(launch, cell):
        return waits(launch, cell) * (20.0 if cell.algorithm == "ring" and launch.number in (1, 2) else 1.0)

    whole = build_run(tmp_path / "whole", launches=5, algorithms=("native", "ring"))
    run = build_run(tmp_path / "run", launches=5, algorithms=("native", "ring"), factor=everywhere)
    ring, native = sorted(fit_series(points([run])), key=lambda series: isinstance(series, Model))
    assert isinstance(native, Model) and isinstance(ring, UnfittedSeries)
    assert native.notes[0] == (
        "15 of 50 points left out: their launches are bimodal: two levels (64 KiB to 4 MiB at 4 ranks), and their "
        "median represents neither level"
    )
    assert len(native.cells) == 7
    assert ring.reason.startswith("no usable points; 50 of 50 points left out: their launches")
    assert all(isinstance(series, Model) for series in fit_series(points([whole])))


def test_logs_and_frames_with_any_index_are_judged_alike():
    frame = points_of_log(DATA / "logs_two_states" / "gke_size-4.osu_allreduce.out").assign(ranks=352)
    assert in_two_states(frame).sum() == 9 * 5
    (series,) = fit_series(pd.concat([frame[:40], frame[40:].reset_index(drop=True)]))
    assert "45 of 95 points left" in series.reason
