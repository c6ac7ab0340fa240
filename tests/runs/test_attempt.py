"""An attempt as it is read: what was changed, moved, lost or added is said, costs its own cell, and no other."""

import json
import os
import shutil
from collections.abc import Callable
from errno import EACCES
from unittest.mock import ANY

import pytest
from made_runs import build_run
from read_calls import calls_of
from rechecked import change_json, drop_columns

from allreduce_bench.runs import files
from allreduce_bench.runs.files import kept_handle
from allreduce_bench.runs.folder import RunFolder, key_of
from allreduce_bench.runs.plan import Launch
from allreduce_bench.runs.recorder import Recorder
from allreduce_bench.runs.rows import RunError
from allreduce_bench.runs.typed_json import read_json

FIRST = Launch(2, 1)
CELLS, CALLS = "2r-1.1.cells.csv", "2r-1.1.calls.csv"
Lines = list[bytes]


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    return build_run(tmp_path / "run", sizes=(8, 1024), ranks=(2,), launches=2, stamps=True)


def found(folder: RunFolder) -> list[tuple[str, str]]:
    """Of each damage the file and what was found."""
    return [(damage.path.name, damage.found) for damage in folder.damages()]


def missing(folder: RunFolder) -> int:
    return folder.cells_left(folder.plan(), FIRST)


def change(folder: RunFolder, name: str, do: Callable[[Lines], Lines]) -> None:
    path = folder.launches / name
    header, *lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([header, *do(lines)]))


def other_digit(line: bytes) -> bytes:
    place = next(i for i in range(len(line) - 10, 0, -1) if line[i] in b"0123456789")
    return line[:place] + (b"1" if line[place] != ord("1") else b"2") + line[place + 1 :]


CHANGED = f"its row, or one of its calls in {CALLS}, was changed or is lost"
MARKS: dict[str, tuple[Callable[[Lines], Lines], int, str]] = {  # lines of six cells -> those missing, what is said
    "a digit changed": (
        lambda m: [*m[:2], other_digit(m[2]), *m[3:]],
        1,
        CHANGED,
    ),
    "lost": (lambda m: [*m[:2], *m[3:]], 1, "it has 5 whole rows of cells, expected 6"),
    "last lost": (lambda m: m[:-1], 1, "it has 5 whole rows of cells, expected 6"),
    "all lost": (lambda m: [], 6, "it has 0 whole rows of cells, expected 6"),
    "last cut off": (lambda m: [*m[:-1], m[-1][:30]], 1, "it has 5 whole rows of cells, expected 6"),
}


def test_a_run_that_was_not_touched_has_no_damages(folder):
    assert found(folder) == [] and missing(folder) == 0


@pytest.mark.parametrize("change_of", MARKS)
def test_a_damaged_mark_is_said_and_costs_its_own_cell(folder, change_of):
    do, cells, words = MARKS[change_of]
    change(folder, CELLS, do)
    assert found(folder) == [(CELLS, words)] and missing(folder) == cells


def test_marks_in_another_order_or_twice_are_as_good(folder):
    change(folder, CELLS, lambda lines: [*lines[::-1], lines[2]])
    assert found(folder) == [] and missing(folder) == 0 and len(build_marks(folder)) == 6


ROWS: dict[str, tuple[Callable[[Lines], Lines], int, str]] = {  # rows of six cells with ten calls each
    "a digit changed": (
        lambda r: [*r[:12], other_digit(r[12]), *r[13:]],
        1,
        CHANGED,
    ),
    "one too few": (lambda r: [*r[:12], *r[13:]], 1, CHANGED),
    "all of a cell lost": (lambda r: [*r[:10], *r[20:]], 1, CHANGED),
    "two changed places": (
        lambda r: [*r[:12], r[13], r[12], *r[14:]],
        1,
        CHANGED,
    ),
}


@pytest.mark.parametrize("change_of", ROWS)
def test_a_damaged_call_is_said_and_costs_its_own_cell(folder, change_of):
    before = list(calls_of(folder))
    do, cells, words = ROWS[change_of]
    change(folder, CALLS, do)
    assert (CELLS, words) in found(folder) and missing(folder) == cells
    gone = {key_of(mark) for mark in build_marks(folder)}
    after = list(calls_of(folder))
    assert [row for row in before if row in after] == after and len(gone) == 6 - cells


def build_marks(folder: RunFolder) -> list[dict]:
    return [mark for mark in folder.marks() if mark["launch"] == FIRST.name]


def test_rows_of_no_cell_do_no_harm(folder):
    before = list(calls_of(folder))
    change(folder, CALLS, lambda rows: [*rows, rows[0].replace(rows[0].split(b",")[0], b"other", 1)])
    assert found(folder) == [] and list(calls_of(folder)) == before


def test_what_a_killed_process_leaves_is_no_damage(tmp_path):
    folder = build_run(tmp_path / "run", sizes=(8, 1024), ranks=(2,), launches=1, unsealed=True)
    change(folder, CELLS, lambda lines: [*lines[:-1], lines[-1][:30]])
    assert found(folder) == [] and missing(folder) == 1
    change(folder, CELLS, lambda lines: [*lines[:-1], b"\0" * 30 + b"\n"])  # after a power cut
    assert found(folder) == [] and missing(folder) == 1
    with open(folder.launches / CALLS, "ab") as file:
        file.write(b"ring,8,0,1,1,1e-0")
    assert found(folder) == [] and missing(folder) == 1
    change(folder, CELLS, lambda lines: [other_digit(lines[0]), *lines[1:-1]])
    assert [words for _, words in found(folder)] == [CHANGED] and missing(folder) == 2


def test_another_header_costs_the_launch(folder):
    for name, words in ((CALLS, f"{CALLS}: "), (CELLS, "")):
        path = folder.launches / name
        content = path.read_bytes()
        path.write_bytes(content.replace(b"competitor", b"algorithm", 1))
        assert found(folder) == [(CELLS, f"{words}the first line is not the header of this layout")]
        assert missing(folder) == 6
        path.write_bytes(content)


def test_columns_that_an_earlier_version_had_not_are_empty(folder):
    marks, calls = folder.marks(), list(calls_of(folder))
    added = {"osu_avg_s": "", "energy_j": "", "segment": ""}
    drop_columns(folder, *added)
    assert found(folder) == [] and missing(folder) == 0
    assert folder.marks() == [{**mark, **{name: "" for name in added if name in mark}, "crc32": ANY} for mark in marks]
    assert list(calls_of(folder)) == [{**call, "osu_avg_s": ""} for call in calls]
    change(folder, CALLS, lambda rows: [*rows[:12], other_digit(rows[12]), *rows[13:]])
    assert found(folder) == [(CELLS, CHANGED)] and missing(folder) == 1


@pytest.mark.parametrize("column", ["time_s", "state"])
def test_columns_that_are_never_empty_are_not_left_out(folder, column):
    drop_columns(folder, column)
    assert {words.split(": ")[-1] for _, words in found(folder)} == {"the first line is not the header of this layout"}


def test_changed_and_missing_stamps_cost_their_cells(folder):
    first, second, *_ = sorted((folder.launches / "2r-1.1.stamps").iterdir())
    first.write_bytes(first.read_bytes()[:-1] + b"\1")
    second.unlink()
    assert [words for _, words in found(folder)] == ["the file was changed", "the file is missing"]
    assert missing(folder) == 2


def test_a_json_file_is_as_it_was_written_to_the_last_byte(folder):
    content = folder.run_json.read_bytes()
    for place in (0, 20, len(content) // 2, len(content) - 20, len(content) - 5, len(content) - 1):
        folder.run_json.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(RunError, match=r"run\.json: damaged: "):
            folder.open()
    folder.run_json.write_bytes(content)
    assert folder.open()["crc32"] == content[-12:-4].decode()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b'{"launch": "2r-1"}'])
def test_damaged_facts_cost_their_launch_which_is_measured_again(folder, content):
    (folder.launches / "2r-1.1.json").write_bytes(content)
    ((name, words),) = found(folder)
    assert name == "2r-1.1.json" and words.startswith("it") and missing(folder) == 6
    assert {row["launch"] for row in folder.marks()} == {"2r-2"}
    recorder = Recorder(folder, "2r-1", read_json(folder.launches / "2r-2.1.json"))
    assert recorder.attempt == 2


def test_a_missing_file_costs_its_launch(folder):
    (folder.launches / CALLS).unlink()
    assert found(folder) == [(CALLS, "the file is missing")] and missing(folder) == 6
    (folder.launches / CELLS).unlink()
    assert [name for name, _ in found(folder)] == [CELLS]
    (folder.launches / "2r-1.1.json").unlink()
    assert found(folder) == [] and missing(folder) == 6  # as if it had never begun


@pytest.mark.parametrize("name", ["2r-1.1.json", CALLS, CELLS])
def test_a_file_that_may_not_be_read_is_no_damage(folder, name, monkeypatch):
    def refuse(path, flags):
        if path.name == name:
            raise PermissionError(EACCES, "Permission denied", str(path))
        return kept_handle(path, flags)

    monkeypatch.setattr(files, "kept_handle", refuse)
    with pytest.raises(PermissionError, match=name):
        folder.marks()


def test_an_attempt_that_is_gone_before_another_is_named(folder):
    for path in folder.launches.glob("2r-1.1.*"):
        path.rename(path.with_name(path.name.replace("2r-1.1.", "2r-1.2.")))
    assert ("2r-1.1.json", "all files of this attempt are lost") in found(folder)
    assert ("2r-1.2.json", "it belongs to launch 2r-1, attempt 1") in found(folder)


@pytest.mark.parametrize("name", ["2r-1.1.json", CALLS, CELLS])
def test_links_and_pipes_in_a_run_are_not_read(folder, tmp_path, name):
    path = folder.launches / name
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert [words.split(";")[0] for _, words in found(folder)] == ["a symbolic link"]
    path.unlink()
    os.mkfifo(path)
    assert [words.split(";")[0] for _, words in found(folder)] == ["a FIFO"]
    assert missing(folder) == 6


@pytest.mark.parametrize("names", [("json", "calls.csv", "cells.csv"), ("calls.csv", "cells.csv"), ("json",)])
def test_the_files_of_another_run_are_noticed(tmp_path, names):
    run, other = (
        build_run(tmp_path / name, sizes=(8,), ranks=(2,), launches=2, seed=len(name)) for name in ("a", "bb")
    )
    for ending in names:
        shutil.copy(other.launches / f"2r-1.1.{ending}", run.launches)
    assert {damage.launch.name for damage in run.damages()} == {"2r-1"}
    assert [launch.name for launch in run.pending(run.plan())] == ["2r-1"]
    assert {row["launch"] for row in run.marks()} == {"2r-2"}


def test_the_files_of_another_launch_are_noticed(folder):
    for ending in ("calls.csv", "cells.csv"):
        shutil.copy(folder.launches / f"2r-2.1.{ending}", folder.launches / f"2r-1.1.{ending}")
    assert missing(folder) == 6 and {launch for launch in found(folder)} == {(CELLS, CHANGED)}


def test_the_run_json_of_another_run_is_noticed(tmp_path):
    run, other = (
        build_run(tmp_path / name, sizes=(8,), ranks=(2,), launches=2, seed=len(name)) for name in ("a", "bb")
    )
    shutil.copy(other.run_json, run.run_json)
    run = RunFolder(run.path)
    assert len(run.damages()) == 2 and len(run.pending(run.plan())) == 2


@pytest.mark.parametrize("found_layout", [{"layout": 2}, {"schema_version": 5}, {"layout": "1"}, {}])
def test_another_layout_is_refused_in_one_sentence(folder, found_layout):
    content = {name: value for name, value in read_json(folder.run_json).items() if name != "layout"}
    folder.run_json.write_text(json.dumps(content))
    change_json(folder.run_json, **found_layout)
    with pytest.raises(RunError, match=r"run\.json: a run of layout .*; expected layout 1: measure again"):
        folder.open()
