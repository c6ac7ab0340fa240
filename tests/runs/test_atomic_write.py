"""A result file is whole or absent."""

import pytest

from allreduce_bench.runs.atomic_write import write_atomically


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path):
    path = tmp_path / "machine.json"
    write_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "new \ud800")  # fails in the middle, as a full disk does
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
