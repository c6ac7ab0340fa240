"""Only regular files are read from a run folder, and only a bounded part of what a user names."""

import os
import re
import socket
from pathlib import Path

import pytest

from allreduce_bench.runs.files import open_kept, read_given, read_kept


def make_link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def make_socket(path: Path) -> None:
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.close()


@pytest.mark.parametrize(
    "make, kind",
    [
        (os.mkfifo, "a FIFO"),
        (Path.mkdir, "a folder"),
        (make_link, "a symbolic link"),
        (make_socket, "a socket"),
    ],
)
def test_special_files_are_refused_by_name(tmp_path: Path, make, kind: str) -> None:
    path = tmp_path / "file"
    make(path)
    with pytest.raises(OSError, match=re.escape(f"{kind}; expected a regular")) as refusal:
        open_kept(path)
    assert refusal.value.filename == str(path)


@pytest.mark.parametrize("read", [read_kept, read_given])
def test_long_files_are_refused(tmp_path: Path, read) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abcd")
    with pytest.raises(OSError, match="more than 3 bytes"):
        read(path, 3)


def test_endless_devices_end() -> None:
    with pytest.raises(OSError, match="more than 1,000 bytes"):
        read_given(Path("/dev/zero"), 1000)


def test_a_pipe_with_a_name_is_refused_and_one_of_a_shell_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path / "link"):
        with pytest.raises(OSError, match="a named pipe, which is not read"):
            read_given(path)
    reading, writing = os.pipe()
    os.write(writing, b"abc")
    os.close(writing)
    assert read_given(Path(f"/dev/fd/{reading}")) == b"abc"
    os.close(reading)
