"""The calls of each cell that a page holds."""

import pytest
from made_runs import build_run

from allreduce_bench.evaluation import frames
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.report.distribution import LEAST_KEPT, call_distributions
from allreduce_bench.report.live_chart import cell_id


def test_every_timed_call_of_every_launch_is_there(tmp_path):
    run = build_run(tmp_path / "run", ranks=(2,), sizes=(8, 1024), launches=3, timed=20)
    held = call_distributions(run, summarise(run))
    calls = frames.read_calls(run)
    calls = calls[~calls["warmup"] & (calls["competitor"] == "ring") & (calls["size_bytes"] == 1024)]
    cell = held[cell_id(2, "ring", 1024)]
    assert len(held) == 6 and cell["all"] and cell["title"] == "ring, 2 ranks, 1 KiB"
    for launch, group in calls.groupby("launch"):
        assert cell["launches"][launch] == pytest.approx((group["time_s"] * 1e6).tolist(), rel=1e-3)


def test_of_many_calls_the_shortest_and_the_longest_stay(tmp_path):
    run = build_run(tmp_path / "run", algorithms=("ring",), ranks=(2,), sizes=(8,), launches=2, timed=100)
    (whole,) = call_distributions(run, summarise(run)).values()
    (cell,) = call_distributions(run, summarise(run), most=1).values()
    assert not cell["all"] and len(cell["launches"]) == 2
    for launch, times in cell["launches"].items():
        every = whole["launches"][launch]
        assert len(times) == LEAST_KEPT and (min(times), max(times)) == (min(every), max(every))
        rest = iter(every)
        assert all(time in rest for time in times)  # in their order


def test_what_was_not_measured_has_no_calls(tmp_path):
    run = build_run(tmp_path / "run", outcome=lambda *_: {"state": "skipped", "reason": "no memory"})
    assert call_distributions(run, summarise(run)) == {}
