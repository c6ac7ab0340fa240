"""Which runs a folder holds: their order, how far they are, and whatever else lies there."""

import os
import shutil

import pytest
from made_runs import build_run
from rechecked import change_json

from allreduce_bench.evaluation.summary import record_summary
from allreduce_bench.runs.inventory import Progress, kept_runs, launch_facts, newest_first, progress


def made(path, created="2026-11-21T10:00:00+00:00", **words):
    """A run that was begun then."""
    folder = build_run(path, **{"sizes": (8, 1024), "ranks": (2,), "launches": 2, **words})
    change_json(folder.run_json, created=created)
    return folder


def names(runs, folder):
    return [str(run.folder.path.relative_to(folder)) for run in runs]


def test_the_newest_comes_first_and_runs_of_sweeps_are_among_them(tmp_path):
    made(tmp_path / "b", "2026-11-21T10:00:00+00:00")
    made(tmp_path / "a", "2026-11-22T12:00:00+02:00")
    made(tmp_path / "sweep" / "2-per-node", "2026-11-22T11:00:00+00:00")
    assert names(kept_runs(tmp_path), tmp_path) == ["sweep/2-per-node", "a", "b"]
    assert names(kept_runs(tmp_path / "a"), tmp_path) == ["a"]


def test_what_is_no_run_is_passed_over_and_what_is_damaged_is_named(tmp_path):
    good = made(tmp_path / "good")
    for name in ("cut", "newer", "fifo", "lost", "listed"):
        shutil.copytree(good.path, tmp_path / name)
    (tmp_path / "cut" / "run.json").write_text('{"schema')
    (tmp_path / "newer" / "run.json").write_text('{"schema_version": 99}')
    (tmp_path / "listed" / "run.json").write_text("[]")
    for name in ("fifo", "lost"):
        (tmp_path / name / "run.json").unlink()
    os.mkfifo(tmp_path / "fifo" / "run.json")
    os.mkfifo(tmp_path / "a_fifo")
    (tmp_path / "notes.txt").touch()
    (tmp_path / "empty" / "deeper").mkdir(parents=True)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    shutil.copytree(good.path, tmp_path / ".new-1234")
    found = {run.folder.path.name: run.plan is not None for run in kept_runs(tmp_path)}
    assert found == {"good": True, "cut": False, "newer": False, "fifo": False, "lost": False, "listed": False}
    assert names(newest_first(tmp_path), tmp_path) == ["good"]


def only(path):
    (run,) = kept_runs(path)
    return run


def test_how_far_a_run_is(tmp_path):
    half = made(tmp_path / "run", outcome=lambda launch, cell: {} if launch.number == 1 else None, floors=True)
    assert progress(only(tmp_path)) == Progress(6, 12)
    record_summary(half)
    assert progress(only(tmp_path)) == Progress(6, 12, ("provisional",))


def test_a_summary_that_is_older_than_the_times_does_not_count(tmp_path):
    folder = made(tmp_path / "run")
    record_summary(folder)
    assert progress(only(tmp_path)) == Progress(12, 12, ("provisional",))
    os.utime(folder.summary_csv, (1e9, 1e9))
    assert progress(only(tmp_path)) == Progress(12, 12)
    folder.summary_csv.write_text("algorithm,state\nring,done\n")
    assert progress(only(tmp_path)) == Progress(12, 12)


@pytest.mark.parametrize("damage", ["\x00,\n1\n", "launch,attempt\n2r-1,1\n"])
def test_damaged_marks_are_seen(tmp_path, damage):
    folder = made(tmp_path / "run")
    next(folder.launches.glob("*.cells.csv")).write_text(damage)
    assert progress(only(tmp_path)) is None


def test_a_launch_says_where_it_ran(tmp_path):
    folder = made(tmp_path / "run", facts={"hosts": ["n1", "n2"]})
    assert launch_facts(only(tmp_path))["hosts"] == ["n1", "n2"]
    for path in folder.launches.glob("*.json"):
        path.write_text("{")
    assert launch_facts(only(tmp_path)) == {}


def test_launches_that_were_deleted_are_not_done_whatever_the_summary_says(tmp_path):
    folder = build_run(tmp_path / "run", ranks=(2,), launches=3)
    record_summary(folder)
    (run,) = kept_runs(folder.path)
    before = progress(run)
    for path in folder.launches.glob("2r-3.*"):
        path.unlink()
    after = progress(run)
    assert after.planned == before.planned == before.done and after.done == before.done * 2 / 3
