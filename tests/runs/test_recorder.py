"""What the recorder writes: a run at once and whole, attempts of their own, findings once, marks of lost cells."""

from pathlib import Path

import pytest
from made_runs import launch_facts
from read_calls import calls_of

from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.plan import Launch, Plan
from allreduce_bench.runs.recorder import (
    Recorder,
    create_run,
    is_taken,
    mark_unfinished_cell,
)
from allreduce_bench.runs.rows import RunError
from allreduce_bench.runs.typed_json import read_json

TEXT, EFFECT = "it is crowded", "times are long"

PLAN = Plan(("ring",), (8,), (2,), launches=2, seed=1, floors=False)
LAUNCH = Launch(2, 1)
CELL = {
    "competitor": "ring",
    "count": 2,
    "segment": None,
    "window": None,
    "groups": "",
}
COMMON = {**CELL, "ranks": 2, "size_bytes": 8}


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    folder = RunFolder(tmp_path / "run")
    create_run(folder, PLAN, ["allreduce-bench", "run"])
    return folder


def test_a_run_is_created_once_and_holds_its_plan(folder):
    assert folder.plan() == PLAN
    with pytest.raises(RunError, match="or continue"):
        create_run(folder, PLAN, [])
    assert [path.name for path in folder.path.parent.iterdir()] == ["run"]


def test_a_run_may_take_the_place_of_an_empty_folder_and_of_nothing_else(tmp_path, monkeypatch):
    empty, file, link, full = (tmp_path / name for name in ("empty", "file", "link", "full"))
    empty.mkdir()
    file.touch()
    link.symlink_to(empty)
    (full / "a").mkdir(parents=True)
    assert [is_taken(path) for path in (tmp_path / "new", empty, file, link, full)] == [False, False, True, True, True]
    create_run(RunFolder(empty), PLAN, [])
    assert RunFolder(empty).plan() == PLAN
    for path in (empty, file, link, full):
        with pytest.raises(RunError, match="already exists"):
            create_run(RunFolder(path), PLAN, [])
    assert list(full.iterdir()) == [full / "a"]
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert is_taken((tmp_path / "here").relative_to(Path.cwd()))


def test_each_start_of_a_launch_is_an_attempt_of_its_own(folder):
    assert [Recorder(folder, LAUNCH.name, launch_facts(2)).attempt for _ in range(3)] == [1, 2, 3]
    assert sorted(folder.attempt_numbers()[LAUNCH]) == [1, 2, 3]


def test_a_cell_is_read_back_with_its_calls(folder):
    recorder = Recorder(folder, LAUNCH.name, launch_facts(2))
    recorder.cell({**COMMON, "state": "done"}, [{"call": 0, "warmup": False, "valid": True, "time_s": 1e-6}])
    (call,) = calls_of(folder)
    assert (call["launch"], call["attempt"], call["warmup"], call["time_s"]) == ("2r-1", "1", "0", "1e-06")
    assert folder.cells_left(PLAN, LAUNCH) == 0 and folder.pending(PLAN) == [Launch(2, 2)]


def test_a_finding_is_said_and_kept_once(folder, capsys):
    recorder = Recorder(folder, LAUNCH.name, launch_facts(2))
    finding = {"code": "a", "text": TEXT, "effect": EFFECT}
    for _ in range(2):
        recorder.found(finding)
    assert capsys.readouterr().err == f"warning: {TEXT}; {EFFECT}\n"
    assert read_json(folder.launches / "2r-1.1.json")["findings"] == [finding]


def test_a_mark_joins_the_newest_attempt_unless_the_cell_has_ended(folder):
    mark_unfinished_cell(folder, LAUNCH, {**COMMON, "state": "hung"})
    assert not list(folder.launches.iterdir())  # no attempt came as far as writing
    recorder = Recorder(folder, LAUNCH.name, launch_facts(2))
    mark_unfinished_cell(folder, LAUNCH, {**COMMON, "state": "hung", "reason": "rank 1 is late"})
    assert [(row["state"], row["attempt"]) for row in folder.marks()] == [("hung", "1")]
    recorder.cell({**COMMON, "state": "done"}, [])
    mark_unfinished_cell(folder, LAUNCH, {**COMMON, "state": "hung", "reason": "too late"})
    assert [row["reason"] for row in folder.marks()] == ["rank 1 is late", ""]
