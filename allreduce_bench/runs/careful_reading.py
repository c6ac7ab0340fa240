"""Reads files that may be anything: of a run folder only regular ones, of those that a user names a bounded part.

A FIFO would be waited on for ever, a link inside of a folder leads out of it, and /dev/zero has no end.
"""

import os
import stat
from errno import EFBIG, EINVAL, ELOOP
from io import BufferedReader
from pathlib import Path

MOST_NBYTES = 256 * 2**20  # of a file that is read as a whole
KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


def kind_of_file(mode: int) -> str:
    """What `st_mode` says that a file is, in words; empty for a regular file."""
    return next((kind for holds, kind in KINDS if holds(mode)), "")


def open_kept(path: Path) -> BufferedReader:
    """Open a file of a run folder for reading. Raises OSError: absent, unreadable, a link or no regular file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        if path.is_symlink() or path.exists():  # a link and a socket cannot be opened so
            _refuse_special(path, os.lstat(path).st_mode)
        raise
    try:
        _refuse_special(path, os.fstat(handle).st_mode)
        return open(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_kept(path: Path, most_nbytes: int = MOST_NBYTES) -> bytes:
    """The content of a file of a run folder. Raises OSError, also where it is longer than `most_nbytes`."""
    with open_kept(path) as file:
        return _at_most(file, path, most_nbytes)


def read_given(path: Path, most_nbytes: int = MOST_NBYTES) -> bytes:
    """The content of a file that a user names, also of a pipe or a link. Raises OSError: longer than `most_nbytes`."""
    with open(path, "rb") as file:
        return _at_most(file, path, most_nbytes)


def read_given_text(path: Path, most_nbytes: int) -> str:
    """The same as text in UTF-8, its line ends as newlines. Raises OSError, UnicodeDecodeError."""
    return read_given(path, most_nbytes).decode().replace("\r\n", "\n").replace("\r", "\n")


def _at_most(file: BufferedReader, path: Path, most_nbytes: int) -> bytes:
    content = file.read(most_nbytes + 1)
    if len(content) > most_nbytes:
        raise OSError(EFBIG, f"more than {most_nbytes:,} bytes, the largest size that is read", str(path))
    return content


def _refuse_special(path: Path, mode: int) -> None:
    """Raises OSError where `mode` is not that of a regular file."""
    if kind := kind_of_file(mode):
        number = ELOOP if stat.S_ISLNK(mode) else EINVAL
        raise OSError(number, f"{kind}; a run folder holds regular files only: remove it", str(path))
