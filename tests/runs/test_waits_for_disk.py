"""A run waits for the disk: a power cut loses no cell whose mark is there, and no name of a file that was written."""

import os
from pathlib import Path

import pytest
from made_runs import build_run

from allreduce_bench.runs.recorder import Recorder


@pytest.fixture
def operations(tmp_path, monkeypatch) -> list[tuple[str, Path]]:
    """What is written below `tmp_path` and waited for, in order, while a run of two launches is recorded."""
    done, write, fsync = [], os.write, os.fsync

    def note(kind: str, handle: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        if path.is_relative_to(tmp_path):
            done.append((kind, path))

    monkeypatch.setattr(os, "write", lambda handle, data: (note("write", handle), write(handle, data))[1])
    monkeypatch.setattr(os, "fsync", lambda handle: (note("sync", handle), fsync(handle))[1])
    monkeypatch.setattr("made_runs.Recorder", lambda folder, launch, facts, sync: Recorder(folder, launch, facts))
    build_run(tmp_path / "run", algorithms=("native", "ring"), sizes=(8,), ranks=(2,), launches=2, stamps=True)
    return done


def test_calls_and_stamps_are_on_disk_before_the_mark_of_their_cell(operations):
    last, marks = dict[Path, str](), 0
    for kind, path in operations:
        if kind == "write" and path.name.endswith(".cells.csv") and path in last:  # behind its header
            assert [other for other, what in last.items() if what == "write" and other != path] == []
            marks += 1
        last[path] = kind
    assert marks == 4


def test_whatever_was_written_is_waited_for_and_so_are_the_names_of_new_files(operations, tmp_path):
    last = {path: kind for kind, path in operations}
    assert {*last.values()} == {"sync"}
    assert {path.parent for path in last if path.suffix} | {tmp_path} <= {*last}
