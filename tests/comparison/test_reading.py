"""Folders become the runs of a comparison, and a time that is none is refused with its place."""

import pytest
from made_runs import build_run

from allreduce_bench.comparison.conditions import read_sides
from allreduce_bench.runs.rows import RunError

SMALL = {"algorithms": ("ring",), "sizes": (8,), "ranks": (2,), "launches": 2}


def test_a_side_is_read_with_what_is_left_of_it(tmp_path):
    done = build_run(tmp_path / "done", **SMALL).path
    left = build_run(tmp_path / "left", **SMALL, outcome=lambda launch, _: {} if launch.number == 1 else None).path
    (base,), (new,) = read_sides([done], [left])
    assert (base.name, base.unfinished, len(base.rows)) == (str(done), [], 1) and new.unfinished == ["2r-2"]


def test_a_run_named_twice_is_refused(tmp_path):
    with pytest.raises(RunError, match="named twice"):
        read_sides([tmp_path / "a"], [tmp_path / "b" / ".." / "a"])


def test_a_time_that_is_none_is_refused(tmp_path):
    folder = build_run(tmp_path / "run", **SMALL, call=lambda *_: {"time_s": float("inf")})
    with pytest.raises(RunError, match="damaged: "):
        read_sides([folder.path], [])
