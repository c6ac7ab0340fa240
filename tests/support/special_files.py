"""Whatever a path may be that is no regular file."""

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path


def make_link(path: Path) -> None:
    """A link to a file with a line in it."""
    target = path.with_name("target")
    target.write_text("kept\n")
    path.symlink_to(target)


def make_dead_link(path: Path) -> None:
    """A link to what is not there."""
    path.symlink_to(path.with_name("nowhere"))


def make_socket(path: Path) -> None:
    """A socket that nobody listens at."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def make_null(path: Path) -> None:
    """A device as /dev/null is one. Raises PermissionError for others than root."""
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))


def make_zero(path: Path) -> None:
    """A device as /dev/zero is one. Raises PermissionError for others than root."""
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))


def make_folder(path: Path) -> None:
    """One that holds something: an empty one is a fine place for a run."""
    (path / "inner").mkdir(parents=True)


MAKERS: dict[str, Callable[[Path], None]] = {
    "a FIFO": os.mkfifo,
    "a socket": make_socket,
    "a folder": make_folder,
    "a symbolic link": make_link,
    "dead link": make_dead_link,
    **({"a character device": make_null} if os.getuid() == 0 else {}),
}


def identity(path: Path) -> tuple[int, int]:
    """What a file that was replaced has another one of."""
    status = os.lstat(path)
    return status.st_mode, status.st_ino
