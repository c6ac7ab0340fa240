"""Files of checkpoints: the newest whole one is taken, whatever became of the others."""

import os

import pytest
from special_files import MAKERS

from allreduce_bench.runs.checkpoint_files import KEPT, whole_checkpoints, write_checkpoint


def kept(folder, *steps):
    return [write_checkpoint(folder, step, b"weights %d" % step, ".bin") for step in steps]


def found(folder):
    damaged = []
    return [step for _, step, _ in whole_checkpoints(folder, ".bin", damaged.append)], damaged


def test_the_newest_comes_first_and_old_ones_go(tmp_path):
    paths = kept(tmp_path / "c", 8, 90, 100)
    assert found(tmp_path / "c") == ([100, 90], [])
    assert {*(tmp_path / "c").iterdir()} == {*paths[-KEPT:]}
    (_, _, content), _ = whole_checkpoints(tmp_path / "c", ".bin")
    assert content == b"weights 100"


def test_every_changed_byte_is_seen(tmp_path):
    (path,) = kept(tmp_path, 8)
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert found(tmp_path) == ([], [path])


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_what_is_no_file_is_passed_over(tmp_path, make):
    kept(tmp_path, 8)
    path = tmp_path / "step-9.0123456789abcdef.bin"
    make(path)
    assert found(tmp_path) == ([8], [] if path.is_dir() else [path])
    kept(tmp_path, 10, 11, 12)  # where a folder is in the way, too
    assert found(tmp_path)[0] == [12, 11]


def test_other_files_are_none(tmp_path):
    kept(tmp_path, 8)
    for name in ("step-9.bin", "step-9.0123456789abcde.bin", "notes.bin", "step-9.0123456789abcdef.npz"):
        (tmp_path / name).touch()
    assert found(tmp_path) == ([8], []) and found(tmp_path / "none") == ([], [])


def test_what_a_killed_rank_left_is_removed(tmp_path):
    left = tmp_path / ".step-40.0123456789abcdef.bin.vm-1.tmp"
    left.write_bytes(b"half")
    kept(tmp_path, 8)
    assert left.exists()  # another start of the program may be writing it
    os.utime(left, (0, 0))
    kept(tmp_path, 12)
    assert not left.exists()
