"""Files of runs and files that users name: what is read is bounded, what is written is whole or absent.

Read: of a run folder only regular files, of those that a user names a bounded part. A FIFO would be waited on for ever,
a link inside of a folder leads out of it, and /dev/zero has no end. Written: a full disk or an interrupt never leaves
half of a file in place, and what is there and is no regular file is never replaced: a device, a FIFO, a link, a folder.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EEXIST, EFBIG, EINVAL, EISDIR, ELOOP, ENXIO
from io import BufferedReader
from pathlib import Path

from ..message import say

MOST_NBYTES = 256 * 2**20  # of a file that is read as a whole
KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)
STREAM = re.compile(r"/dev/(?:stdout|stderr|fd/\d{1,9})|/proc/self/fd/\d{1,9}")  # what this process has open


def kind_of_file(mode: int) -> str:
    """What `st_mode` says that a file is, in words; empty for a regular file."""
    return next((kind for holds, kind in KINDS if holds(mode)), "")


def open_kept(path: Path) -> BufferedReader:
    """Open a file of a run folder for reading. Raises OSError: absent, unreadable, a link or no regular file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        if path.is_symlink() or path.exists():  # a link and a socket cannot be opened so
            _refuse_to_read(path, os.lstat(path).st_mode)
        raise
    try:
        _refuse_to_read(path, os.fstat(handle).st_mode)
        return open(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _refuse_to_read(path: Path, mode: int) -> None:
    """Raises OSError where `mode` is not that of a regular file."""
    if kind := kind_of_file(mode):
        number = ELOOP if stat.S_ISLNK(mode) else EINVAL
        raise OSError(number, say("runs.run_folder_holds_regular", kind=kind), str(path))


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
    """The content of an open file. Raises OSError where it is longer than `most_nbytes`."""
    content = file.read(most_nbytes + 1)
    if len(content) > most_nbytes:
        raise OSError(EFBIG, say("runs.more_bytes_largest_size", most_nbytes=most_nbytes), str(path))
    return content


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write `content`, text in UTF-8, beside `path`, then put it in its place. Raises OSError; what was there stays.

    Several processes, on several nodes, may write the same file at once: the last one stands.
    """
    refuse_special(path)
    temporary = path.with_name(f"{path.name}.{unique_name()}.tmp")
    try:
        with open(temporary, "wb", opener=_no_link) as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            error.filename = str(path)  # whose name the user knows
        raise


@contextmanager
def written_together(folder: Path) -> Iterator[Path]:
    """A new hidden folder beside `folder`; when the block ends well, its files go to their places.

    Those in its folder of the same name go into `folder`, the others beside that. Else nothing of it stays, and an
    OSError names `folder` where it would name the hidden one. Raises OSError where a place is no regular file's.
    """
    from shutil import rmtree  # late: who writes one file needs it not

    hidden = folder.with_name(f".{folder.name}.{unique_name()}.tmp")
    try:
        (hidden / folder.name).mkdir(parents=True)
        yield hidden
        folder.mkdir(exist_ok=True)
        written = [path for path in hidden.rglob("*") if path.is_file()]
        places = {path: folder.parent / path.relative_to(hidden) for path in written}
        for place in places.values():
            refuse_special(place)
        for path, place in places.items():
            path.replace(place)
    except OSError as error:
        error.filename = str(error.filename or folder).replace(str(hidden), str(folder.parent))
        raise
    finally:
        rmtree(hidden, ignore_errors=True)


def write_given(path: Path, text: str) -> None:
    """Write one text to what a user names: a regular file atomically; through a device or a FIFO, which stay.

    /dev/stdout and /dev/fd/N are what this process has open, also where that is a file. Raises OSError.
    """
    if is_stream(path):
        with open(_opened(path), "w", encoding="utf-8") as file:
            file.write(text)
    else:
        write_atomically(path, text)


def is_stream(path: Path) -> bool:
    """Whether text is written through `path`, which then needs no name of a kind of file. Raises OSError."""
    mode = _mode(path)
    return bool(STREAM.fullmatch(str(path))) or stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def refuse_given(path: Path) -> None:
    """Raises OSError where `write_given` would refuse `path`: to be asked before the work."""
    if not is_stream(path):
        refuse_special(path)


def refuse_special(path: Path) -> None:
    """Raises OSError where something is at `path` that is no regular file."""
    if kind := kind_of_file(_mode(path)):
        number = EISDIR if kind == "a folder" else EEXIST
        raise OSError(number, say("runs.never_replaced_name_new", kind=kind), str(path))


def unique_name() -> str:
    """What no other process that writes to a shared file system at this time is called."""
    return f"{os.uname().nodename}-{os.getpid()}"


def _no_link(path: str, flags: int) -> int:
    """An opener that follows no link: others may write to the folder, too."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _mode(path: Path) -> int:
    """The mode of what is there, of a link its own; 0: nothing is there."""
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _opened(path: Path) -> int:
    """A handle for writing to a stream. Raises OSError, also for a FIFO that nobody reads: it would be waited for."""
    if STREAM.fullmatch(str(path)):
        name = path.name
        try:
            return os.dup(int(name) if name.isdigit() else {"stdout": 1, "stderr": 2}[name])
        except OSError as error:
            error.filename = str(path)
            raise
    try:
        handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == ENXIO and stat.S_ISFIFO(_mode(path)):
            raise OSError(ENXIO, say("runs.fifo_without_reader_start"), str(path)) from error
        raise
    os.set_blocking(handle, True)
    return handle
