"""Archives: read as streams, refused as a whole where they are damaged, too large, or lead out of themselves."""

import gzip
import io
import re
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_logs import OSU
from places import DATA

from allreduce_bench.importers import Asked, LogError, LogUnread, contents, read
from allreduce_bench.importers.contents import is_archive, stem_of_archive

FUGAKU = next((DATA / "pico" / "fugaku").glob("*.tar.gz"))


def archive(path: Path, members: dict[str, bytes], kinds: dict[str, bytes] | None = None) -> Path:
    """An archive of these members, and of others of special kinds."""
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as file:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
        for name, kind in (kinds or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            file.addfile(info)
    return path


@pytest.mark.parametrize("name", ["logs.tar.gz", "logs.tgz", "logs.tar", "logs"])
def test_the_logs_of_an_archive_are_read_as_those_of_a_folder(name, tmp_path):
    kinds = {
        "a/link": tarfile.SYMTYPE,
        "a/hard": tarfile.LNKTYPE,
        "a/device": tarfile.CHRTYPE,
        "a/pipe": tarfile.FIFOTYPE,
    }
    path = archive(tmp_path / name, {"./a/1.txt": OSU.encode(), "a/.2.txt": b"hidden", "a/3\n.txt": b"\0"}, kinds)
    assert is_archive(path)
    with pytest.warns(LogUnread, match="binary") as caught:
        rows = read(path, Asked(ranks=2))
    assert len(rows) == 3 and {row.file for row in rows} == {f"{path}/a/1.txt"}
    assert {row.files for row in rows} == {(str(path),)} and caught[0].message.path == f"{path}/a/3?.txt"
    assert sorted(tmp_path.iterdir()) == [path]  # nothing is unpacked


def test_a_packed_log_is_no_archive(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(OSU.encode()))
    assert not is_archive(tmp_path / "a.txt.gz") and not is_archive(tmp_path)
    assert stem_of_archive("2025.tar.gz") == "2025" and stem_of_archive("2025.csv") == "2025.csv"


def test_a_member_that_leads_out_of_its_archive_is_passed_over(tmp_path):
    names = ("../../a.txt", "a/../../b.txt", "b.txt")
    path = archive(tmp_path / "a.tar.gz", dict.fromkeys(names, OSU.encode()))
    assert {row.file for row in read(path, Asked(ranks=2))} == {f"{path}/b.txt"}


def test_an_archive_above_the_limits_is_refused(tmp_path, monkeypatch):
    path = archive(tmp_path / "a.tar.gz", {f"{number}.txt": OSU.encode() for number in range(4)})
    monkeypatch.setattr(contents, "MOST_MEMBERS", 3)
    with pytest.raises(LogError, match=re.escape(f"{path}: an archive") + ".*3 members or 1 GiB"):
        read(path, Asked(ranks=2))
    monkeypatch.undo()
    monkeypatch.setattr(contents, "MOST_UNPACKED_NBYTES", 2**9)
    with pytest.raises(LogError, match=re.escape(f"{path}: an archive") + ".* GiB, the most"):
        read(path, Asked(ranks=2))
    monkeypatch.undo()
    claimed = tarfile.TarInfo("8_ring_int32.csv")
    claimed.size = 2**40  # in a header of 512 bytes
    (tmp_path / "bomb.tar").write_bytes(claimed.tobuf() + bytes(1024))
    with pytest.raises(LogError, match="the most that is read"):
        read(tmp_path / "bomb.tar")


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40_000))
def test_an_archive_that_is_cut_off_is_one_sentence(tmp_path_factory, left):
    whole = FUGAKU.read_bytes()
    path = tmp_path_factory.mktemp("cut") / "a.tar.gz"
    path.write_bytes(whole[: left % len(whole)])
    with pytest.raises(LogError, match=re.escape(f"{path}: an archive that is cut off")) as refusal:
        read(path)
    assert "\n" not in str(refusal.value)


def test_an_archive_that_cannot_be_read_costs_itself(tmp_path):
    for name, content in (("whole", FUGAKU.read_bytes()), ("cut", FUGAKU.read_bytes()[:-9])):
        (tmp_path / f"{name}.tar.gz").write_bytes(content)
    with pytest.warns(LogUnread, match=re.escape(f"{tmp_path / 'cut.tar.gz'}: an archive that is cut off")):
        assert len(read(tmp_path)) == 3
