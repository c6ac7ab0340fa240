"""Checkpoints of a measured launch."""

import pytest

from allreduce_bench.survive.checkpoint import CheckpointError, newest, write

OF = {"algorithm": "ring", "count": 2}


def test_the_newest_is_taken(tmp_path):
    assert newest(tmp_path / "none", OF) == 0
    for step in (8, 16, 24):
        write(tmp_path, step, OF)
    assert newest(tmp_path, OF) == 24


def test_one_of_something_else_is_refused(tmp_path):
    write(tmp_path, 8, OF)
    with pytest.raises(CheckpointError) as refused:
        newest(tmp_path, {**OF, "count": 3})
    assert "a checkpoint" in str(refused.value)
