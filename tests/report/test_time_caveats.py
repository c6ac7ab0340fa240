"""Caveats about measured times, found from their calls, intervals and reference times."""

from made_runs import build_run

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.report.caveats import find_time_caveats


def badges(folder) -> set[str]:
    return {caveat.badge for caveat in find_time_caveats(summarise(folder))}


def test_good_times_have_none(tmp_path):
    assert badges(build_run(tmp_path / "a", sizes=(8,), ranks=(2,))) == set()


def test_other_definitions_are_named(tmp_path):
    def call(launch, cell, repetition):
        return {"time_definition": "another"} if cell.algorithm == "ring" else {}

    assert "different timing methods" in badges(build_run(tmp_path / "a", sizes=(8,), ranks=(2,), call=call))


def test_times_below_a_floor_are_named(tmp_path):
    folder = build_run(tmp_path / "a", sizes=(8,), ranks=(2,), floors=True, factor=lambda launch, cell: _fast(cell))
    assert "times below a reference time" in badges(folder)


def _fast(cell) -> float:
    return 0.001 if cell.algorithm == "ring" else 1.0
