"""A result file is whole or absent, and what is no regular file stays what it is."""

import re
from errno import ENOSPC

import pytest
from special_files import MAKERS, identity

from allreduce_bench.runs.files import refuse_given, write_atomically, written_together


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path):
    path = tmp_path / "machine.json"
    write_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "new \ud800")  # fails in the middle, as a full disk does
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", MAKERS)
def test_what_is_no_regular_file_is_never_replaced(tmp_path, kind):
    path = tmp_path / "page.html"
    MAKERS[kind](path)
    before = identity(path)
    with pytest.raises(
        OSError, match=re.escape(f"{kind.replace('dead', 'a symbolic')}, which is never replaced")
    ) as refusal:
        write_atomically(path, "page")
    assert refusal.value.filename == str(path) and identity(path) == before
    assert not (tmp_path / "target").exists() or (tmp_path / "target").read_text() == "kept\n"


@pytest.mark.parametrize("name", ["run.json", "launches/2r-1.1.json", "health.json", "pairs.csv", "read.csv"])
def test_neither_may_what_is_read_or_kept_of_a_run_or_a_check(tmp_path, name):
    (tmp_path / "launches").mkdir()
    for kept in ("run.json", "health.json", "pairs.csv", "read.csv", "launches/2r-1.1.json", "other.csv"):
        (tmp_path / kept).touch()
    with pytest.raises(OSError, match="which is never replaced"):
        refuse_given(tmp_path / name, [tmp_path / "read.csv"])
    refuse_given(tmp_path / "other.csv", [tmp_path / "read.csv"])
    refuse_given(tmp_path / "launches" / "new.csv")


def test_a_planted_link_is_not_followed(tmp_path, monkeypatch):
    (tmp_path / "page.html.known.tmp").symlink_to(tmp_path / "victim")
    monkeypatch.setattr("allreduce_bench.runs.files.unique_name", lambda: "known")
    with pytest.raises(OSError):
        write_atomically(tmp_path / "page.html", "page")
    assert not (tmp_path / "victim").exists()


def test_files_are_written_together_or_not_at_all(tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "a.csv").write_text("former")
    with pytest.raises(OSError) as full, written_together(tmp_path / "figures") as hidden:
        (hidden / "figures" / "a.csv").write_text("new")
        raise OSError(ENOSPC, "No space left on device", str(hidden / "figures" / "b.csv"))
    assert full.value.filename == str(tmp_path / "figures" / "b.csv")
    assert [path.name for path in tmp_path.rglob("*")] == ["figures", "a.csv"]
    assert (tmp_path / "figures" / "a.csv").read_text() == "former"
    with written_together(tmp_path / "figures") as hidden:
        (hidden / "figures" / "a.csv").write_text("new")
        (hidden / "page.html").write_text("page")
    assert (tmp_path / "figures" / "a.csv").read_text() == "new" and (tmp_path / "page.html").read_text() == "page"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures", "page.html"]
