"""The archive of the environment: what it holds, and that it is used again only when it is whole and of this user."""

import os
import subprocess
import sys
import tarfile

import pytest
from has_message import message_pattern
from small_environment import SITE, small_environment

from allreduce_bench.launching import staging
from allreduce_bench.launching.staging import PACKAGE, PackedEnvironment, PackError, archive_of, environment

AGAIN = """
import sys
from pathlib import Path
from allreduce_bench.launching.staging import PackedEnvironment, archive_of
packed = PackedEnvironment(Path(sys.argv[1]), Path("bin/python"), Path(sys.argv[2]) / "allreduce_bench")
print(archive_of(packed, Path(sys.argv[3])).path)
"""


@pytest.fixture
def packed(tmp_path) -> PackedEnvironment:
    return small_environment(tmp_path / "environment")


def test_the_archive_holds_the_environment_and_this_package(packed, tmp_path):
    archive = archive_of(packed, tmp_path / "store")
    assert archive.path.name.endswith(f"-{archive.nbytes}.tar") and archive.pack_s > 0
    assert not archive.path.stat().st_mode & 0o077
    out = tmp_path / "out"
    subprocess.run(["tar", "-xf", archive.path, "-C", out.mkdir() or out], check=True)
    assert os.readlink(out / "bin" / "python") == sys.executable
    assert (out / SITE / "numpy.py").read_text() == "found = True\n"
    ours = {path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")}
    assert {path.relative_to(out / packed.package) for path in (out / packed.package).rglob("*.py")} == ours
    source, copy = PACKAGE / "launching" / "staging.py", out / packed.package / "launching" / "staging.py"
    assert int(copy.stat().st_mtime) == int(source.stat().st_mtime)  # or Python compiles it anew


def test_no_word_in_it_leads_back_to_the_checkout(packed, tmp_path):
    with tarfile.open(archive_of(packed, tmp_path / "store").path) as archive:
        texts = {name: archive.extractfile(name).read() for name in archive.getnames() if name.endswith(".pth")}
    assert sorted(texts.values()) == [b"", b"/elsewhere/mine\n"]


def test_a_whole_archive_is_used_again_until_something_changes(packed, tmp_path):
    first = archive_of(packed, tmp_path)
    assert archive_of(packed, tmp_path) == first._replace(pack_s=None)
    (packed.prefix / SITE / "scipy-1.0.dist-info").mkdir()
    second = archive_of(packed, tmp_path)
    assert second.path != first.path and second.pack_s is not None


def test_an_archive_that_lost_its_end_is_packed_anew(packed, tmp_path):
    first = archive_of(packed, tmp_path)
    os.truncate(first.path, first.nbytes // 2)
    again = archive_of(packed, tmp_path)
    assert again.pack_s is not None and again.path.stat().st_size == again.nbytes == first.nbytes


def test_an_archive_that_others_may_change_is_not_used(packed, tmp_path):
    first = archive_of(packed, tmp_path)
    first.path.chmod(0o666)
    assert archive_of(packed, tmp_path).pack_s is not None
    assert not first.path.stat().st_mode & 0o077  # by ours


def test_a_link_in_its_place_is_not_followed(packed, tmp_path):
    first = archive_of(packed, tmp_path)
    first.path.rename(tmp_path / "elsewhere")
    first.path.symlink_to(tmp_path / "elsewhere")
    assert archive_of(packed, tmp_path).pack_s is not None and not first.path.is_symlink()


def test_several_at_once_leave_one_whole_archive(packed, tmp_path):
    store = tmp_path / "store"
    words = [sys.executable, "-c", AGAIN, packed.prefix, SITE, store]
    environ = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    packing_now = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environ) for _ in range(4)]
    found = {process.communicate(timeout=60)[0].strip() for process in packing_now}
    assert {process.returncode for process in packing_now} == {0}
    assert {str(path) for path in store.iterdir()} == found and len(found) == 1


def test_where_nothing_can_be_written_it_is_said_and_nothing_stays(packed, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PackError, match=r"^cannot pack .* into .*file: "):
        archive_of(packed, tmp_path / "file")


def test_a_full_disk_leaves_no_half_archive(packed, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(staging, "_add", full)
    with pytest.raises(
        PackError, match=message_pattern("launching.cannot_pack_into", strerror="No space left on device")
    ):
        archive_of(packed, tmp_path / "store")
    assert not list((tmp_path / "store").iterdir())


def test_the_python_of_a_system_is_not_packed(monkeypatch):
    monkeypatch.setattr(sys, "prefix", "/usr")
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    with pytest.raises(PackError, match=message_pattern("launching.system_python_expected_virtual", prefix="/usr")):
        environment()
