"""An attempt as it is read: one damaged file costs its own cells, said with file and cell; the others are whole."""

import json
import os
import shutil

import pytest
from made_runs import build_run
from places import DATA
from rechecked import change_json
from strict_schemas import EXAMPLE

from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.kept import read_json
from allreduce_bench.runs.plan import Launch
from allreduce_bench.runs.recorder import Recorder
from allreduce_bench.runs.rows import RunError

FIRST = Launch(2, 1)


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    return build_run(tmp_path / "run", sizes=(8, 1024), ranks=(2,), launches=2)


def found(folder: RunFolder) -> list[tuple[str, str]]:
    """Of each damage the file and what was found."""
    return [(damage.path.name, damage.found) for damage in folder.damages()]


def missing(folder: RunFolder) -> int:
    return folder.cells_left(folder.plan(), FIRST)


def test_a_run_that_was_not_touched_has_no_damages(folder):
    assert found(folder) == [] and folder.unchecked() == [] and missing(folder) == 0


def test_a_json_file_is_as_it_was_written_to_the_last_byte(folder):
    content = folder.run_json.read_bytes()
    for place in (0, 20, len(content) // 2, len(content) - 20, len(content) - 5, len(content) - 1):
        folder.run_json.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(RunError, match=r"run\.json: damaged: "):
            folder.open()
    folder.run_json.write_bytes(content)
    assert folder.open()["crc32"] == content[-12:-4].decode()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"launch": "2r-1"}'])
def test_a_damaged_launch_costs_that_launch_and_is_measured_again(folder, content):
    (folder.launches / "2r-1.1.json").write_bytes(content)
    assert [name for name, _ in found(folder)] == ["2r-1.1.json"] and missing(folder) == 6
    assert {row["launch"] for row in folder.marks()} == {"2r-2"}
    recorder = Recorder(folder, "2r-1", read_json(folder.launches / "2r-2.1.json"))
    assert recorder.attempt == 2


def test_a_missing_file_costs_that_launch(folder):
    (folder.launches / "2r-1.1.csv").unlink()
    assert found(folder) == [("2r-1.1.csv", "the file is missing")] and missing(folder) == 6
    (folder.launches / "2r-1.1.cells.csv").unlink()
    assert [name for name, _ in found(folder)] == ["2r-1.1.cells.csv"]
    (folder.launches / "2r-1.1.json").unlink()
    assert found(folder) == [] and missing(folder) == 6  # as if it had never begun


def test_an_attempt_that_is_gone_before_another_is_named(folder):
    for path in folder.launches.glob("2r-1.1.*"):
        other = path.with_name(path.name.replace("2r-1.1.", "2r-1.2."))
        path.rename(other)
    assert ("2r-1.1.json", "all files of this attempt are lost") in found(folder)
    assert ("2r-1.2.json", "it belongs to launch 2r-1, attempt 1") in found(folder)


@pytest.mark.parametrize("ending", [".json", ".csv", ".cells.csv"])
def test_links_and_pipes_in_a_run_are_not_read(folder, tmp_path, ending):
    path = folder.launches / f"2r-1.1{ending}"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert [(name, words.split(";")[0]) for name, words in found(folder)] == [(path.name, "a symbolic link")]
    path.unlink()
    os.mkfifo(path)
    assert [(name, words.split(";")[0]) for name, words in found(folder)] == [(path.name, "a FIFO")]
    assert missing(folder) == 6


def test_a_command_that_is_none_is_refused(tmp_path):
    folder = RunFolder(shutil.copytree(DATA / "run_with_dissemination", tmp_path / "run"))
    text = json.dumps({**json.loads(folder.run_json.read_text()), "command": float("inf")})
    folder.run_json.write_text(text)
    with pytest.raises(RunError, match="measure anew"):
        folder.open()


def test_a_version_that_was_changed_is_noticed(folder):
    path = folder.launches / "2r-1.1.json"
    path.write_bytes(path.read_bytes().replace(b'"schema_version": 5', b'"schema_version": 3'))
    assert found(folder) == [("2r-1.1.json", "its checksum does not match: the file was changed")]
    change_json(path, schema_version=3)
    assert [name for name, _ in found(folder)] == ["2r-1.1.cells.csv"]


def test_version_4_is_read_checked_and_goes_on_with_the_placement_unknown(tmp_path):
    folder = RunFolder(shutil.copytree(EXAMPLE, tmp_path / "run"))
    assert found(folder) == [] == folder.unchecked() and folder.plan().placement == ""
    assert folder.pending(folder.plan()) == []


def test_version_3_is_read_unchecked_and_goes_on_in_version_4(tmp_path):
    folder = RunFolder(shutil.copytree(DATA / "run_with_dissemination", tmp_path / "run"))
    assert found(folder) == [] and folder.unchecked() == ["2r-1", "2r-2"]
    before = len(folder.marks())
    facts = {name: fact for name, fact in folder.attempts()[0].items() if name not in ("schema_version", "attempt")}
    recorder = Recorder(folder, "2r-1", facts)
    recorder.seal()
    assert recorder.attempt == 2 and found(folder) == [] and len(folder.marks()) == before


@pytest.mark.parametrize("endings", [(".json", ".csv", ".cells.csv"), (".csv", ".cells.csv"), (".json",)])
def test_the_files_of_another_run_are_noticed(tmp_path, endings):
    run, other = (
        build_run(tmp_path / name, sizes=(8,), ranks=(2,), launches=2, seed=len(name)) for name in ("a", "bb")
    )
    for ending in endings:
        shutil.copy(other.launches / f"2r-1.1{ending}", run.launches)
    assert {damage.launch.name for damage in run.damages()} == {"2r-1"}
    plan = run.plan()
    assert [launch.name for launch in run.pending(plan)] == ["2r-1"]
    assert {row["launch"] for row in run.marks()} == {"2r-2"}


def test_the_run_json_of_another_run_is_noticed(tmp_path):
    run, other = (
        build_run(tmp_path / name, sizes=(8,), ranks=(2,), launches=2, seed=len(name)) for name in ("a", "bb")
    )
    shutil.copy(other.run_json, run.run_json)
    run = RunFolder(run.path)
    assert len(run.damages()) == 2 and len(run.pending(run.plan())) == 2


def test_a_launch_without_checksums_in_a_run_with_them_is_of_another(tmp_path):
    run = build_run(tmp_path / "run", sizes=(8,), ranks=(2,), launches=1)
    for path in (DATA / "run_with_dissemination" / "launches").glob("2r-1.1.*"):
        shutil.copy(path, run.launches)
    assert [damage.found for damage in run.damages()] == ["it belongs to another run"]
