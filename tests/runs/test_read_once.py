"""A command reads the files of a launch once, and again when they change."""

import os
import time

import pytest
from made_runs import build_run
from read_calls import calls_of

from allreduce_bench.runs import read_once
from allreduce_bench.runs.folder import RunFolder


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    return build_run(tmp_path / "run", sizes=(8, 1024), ranks=(2,), launches=2).remember()


@pytest.fixture
def reads(monkeypatch) -> list[str]:
    """Note every attempt that is read, and take files for settled at once."""
    noted: list[str] = []
    read = read_once.read_attempt

    def noting(launches, launch, number, *others):
        noted.append(f"{launch.name}.{number}")
        return read(launches, launch, number, *others)

    monkeypatch.setattr(read_once, "read_attempt", noting)
    monkeypatch.setattr(read_once, "SETTLED_S", -1.0)
    return noted


def read_all(folder: RunFolder) -> None:
    assert not folder.damages() and folder.marks() and folder.attempts() and folder.attempts(typed=False)
    assert folder.cells_left(folder.plan(), folder.plan().planned_launches()[0]) == 0


def test_files_that_stay_as_they_are_are_read_once(folder, reads):
    read_all(folder)
    assert sorted(reads) == ["2r-1.1", "2r-2.1"]
    assert list(calls_of(folder)) == list(calls_of(RunFolder(folder.path)))


def test_a_file_that_changes_is_read_again_with_every_check(folder, reads):
    read_all(folder)
    path = folder.launches / "2r-1.1.calls.csv"
    content = path.read_bytes()
    path.write_bytes(content[:-3] + b"9" + content[-2:])
    assert [damage.found for damage in folder.damages()] == ["it, or one of its calls in 2r-1.1.calls.csv, was changed"]
    assert reads.count("2r-1.1") == 2
    assert len(folder.attempts()) == 2  # facts and marks are whole: they are read without the damaged rows
    path.unlink()
    assert {damage.found for damage in folder.damages()} == {"its calls are lost from 2r-1.1.calls.csv"}


def test_a_change_a_moment_ago_is_not_trusted(folder, reads, monkeypatch):
    monkeypatch.setattr(read_once, "SETTLED_S", 3600.0)
    folder.damages()
    folder.damages()
    assert len(reads) == 4
    old = time.time() - 7200
    for path in folder.launches.iterdir():
        os.utime(path, (old, old))  # a copied date says nothing of when the file came here
    folder.damages()
    folder.damages()
    assert len(reads) == 8
