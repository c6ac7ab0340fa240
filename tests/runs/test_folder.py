"""What a run folder hands out: only what was finished, and words for whatever is wrong with it."""

import csv
import json

import pytest
from click.testing import CliRunner
from made_runs import TIMED, WARMUPS, build_run
from read_calls import calls_of
from rechecked import change_json, recheck

from allreduce_bench.cli import main
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.plan import Launch
from allreduce_bench.runs.schema import CALLS, LAYOUT, names


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    return build_run(tmp_path / "run", sizes=(8, 1024, 65536), launches=2)


def refusal(folder: RunFolder) -> str:
    """The one line that `report` says of a folder that it cannot read."""
    result = CliRunner().invoke(main, ["report", str(folder.path)])
    assert result.exit_code == 2 and result.output.count("\n") == 1 and result.output.startswith("error: ")
    return result.output


def test_damaged_other_absent_and_half_written_are_told_apart(folder, tmp_path):
    good = folder.run_json.read_text()
    folder.run_json.write_text(good[:40])
    assert "damaged" in refusal(folder)
    folder.run_json.write_text(good)
    change_json(folder.run_json, layout=LAYOUT + 1)
    assert f"a run of layout {LAYOUT + 1}; expected layout {LAYOUT}" in refusal(folder)
    change_json(folder.run_json, layout=LAYOUT, plan={"sizes": [8]})
    assert "damaged: the plan" in refusal(folder)
    folder.run_json.write_text(good)
    for path in folder.launches.glob("*.csv"):
        path.write_text(path.read_text().splitlines(keepends=True)[0])
    recheck(folder)
    assert "half-written" in refusal(folder)
    folder.run_json.unlink()
    assert "no run.json" in refusal(folder)
    assert "'allreduce-bench show' lists" in refusal(RunFolder(tmp_path / "nothing"))
    (tmp_path / "today").touch()
    assert "no such folder; did you mean today?" in refusal(RunFolder(tmp_path / "todya"))
    assert "'allreduce-bench import" in refusal(RunFolder(tmp_path / "today"))


def test_all_rows_are_read_cell_by_cell(tmp_path):
    folder = build_run(tmp_path / "run", sizes=(8, 1024), launches=2)
    assert len([*folder.calls()]) == 2 * 2 * 3 * 2
    rows = list(calls_of(folder))
    assert len(rows) == 2 * 2 * 3 * 2 * (WARMUPS + TIMED)
    with open(folder.launches / "2r-1.1.calls.csv", newline="") as file:
        of_launch = [{name: row[name] for name in names(CALLS)} for row in rows if row["launch"] == "2r-1"]
        assert of_launch == list(csv.DictReader(file))


def test_a_reason_may_hold_anything_and_is_kept_in_one_line(tmp_path):
    reason = 'first line\nsecond, "quoted"\u2028third'
    folder = build_run(
        tmp_path / "run", sizes=(8,), ranks=(2,), outcome=lambda *_: {"state": "skipped", "reason": reason}
    )
    assert {mark["reason"] for mark in folder.marks()} == {'first line second, "quoted" third'}


def test_what_had_no_time_is_pending_what_was_skipped_is_not(tmp_path):
    def outcome(launch, cell):
        if cell.algorithm == "ring":
            return {"state": "left out" if launch.ranks == 2 else "skipped", "reason": "a reason"}
        return {}

    folder = build_run(tmp_path / "run", launches=1, outcome=outcome)
    assert [launch.name for launch in folder.pending(folder.plan())] == ["2r-1"]


def test_attempts_are_counted_by_launch_and_other_files_are_not(tmp_path):
    folder = RunFolder(tmp_path)
    folder.launches.mkdir()
    for name in (
        "2r-1.1.json",
        "2r-1.2.json",
        "16r-3.1.json",
        "2r-1.json",
        "2r-1.01.json",
        "2r-1.1.json.tmp",
        "x.1.json",
    ):
        (folder.launches / name).touch()
    found = folder.attempt_numbers()
    assert {launch: sorted(numbers) for launch, numbers in found.items()} == {Launch(2, 1): [1, 2], Launch(16, 3): [1]}


def test_reading_a_run_never_loads_its_users_algorithm_files(folder, tmp_path):
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    plan = json.loads(folder.run_json.read_text())["plan"]
    change_json(folder.run_json, plan={**plan, "files": [str(trap)], "competitors": [*plan["competitors"], "mine"]})
    result = CliRunner().invoke(main, ["report", str(folder.path)])
    assert result.exit_code == 0, result.output
    assert not (tmp_path / "sprung").exists()
