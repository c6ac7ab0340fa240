"""What the library ran is kept beside the times."""

import json

import pytest
from made_runs import build_run, identified

from allreduce_bench.runs import typed_json
from allreduce_bench.runs.identified import file_of, identified_of, keep_identified

FOUND = identified(4, {("native", 8): ["recursive_doubling"], ("native:ring", 64): ["ring", "segmented_ring"]}, "open")


@pytest.fixture
def folder(tmp_path):
    made = build_run(tmp_path / "run", launches=1)
    keep_identified(made, FOUND)
    return made


def test_what_is_kept_is_read_back(folder):
    assert identified_of(folder, (2, 4)) == {4: FOUND}
    assert FOUND.at("native:ring", 64).asked == "open" and FOUND.at("native", 64) is None


def test_nobody_waits_for_what_was_not_looked_at(tmp_path, monkeypatch):
    """A file that was replaced is waited for; here none ever was, and most runs have none."""
    folder = build_run(tmp_path / "run", sizes=(8,), ranks=(2,))
    monkeypatch.setattr(typed_json.time, "sleep", pytest.fail)
    assert identified_of(folder, (2, 4)) == {}


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"ranks": 4}'])
def test_a_damaged_file_says_nothing(folder, damage):
    file_of(folder, 4).write_text(damage)
    assert identified_of(folder, (4,)) == {}


def test_a_changed_byte_is_found(folder):
    path = file_of(folder, 4)
    path.write_text(path.read_text().replace("segmented_ring", "segmented_rind"))
    assert json.loads(path.read_text()) and identified_of(folder, (4,)) == {}
