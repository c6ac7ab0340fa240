"""Safe file access, for files of runs and files that users name: reads are bounded, writes are whole or absent.

Read: of a run folder only regular files, of those that a user names a bounded part. A FIFO would block for ever, a link
may lead out of the folder, and /dev/zero has no end. Written: a full disk or an interrupt never leaves half a file in
place, and existing non-regular files are never replaced: a device, a FIFO, a link, a folder.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import EEXIST, EFBIG, EINVAL, EISDIR, ELOOP, ENOENT
from io import BufferedReader
from pathlib import Path

from ..units import nearest

MOST_NBYTES = 256 * 2**20  # of a file that is read as a whole
KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)
OF_CHECK = ("pairs.csv", "rounds.json")  # files beside health.json


def kind_of_file(mode: int) -> str:
    """Return in words what kind of file `st_mode` is; empty for a regular file."""
    return next((kind for holds, kind in KINDS if holds(mode)), "")


def nearest_name(path: Path) -> str:
    """Return `did you mean today? ` for an absent path, of the names in its folder; empty: none is like it."""
    with suppress(OSError, ValueError):
        return "" if path.exists() else f"{nearest(path.name, [one.name for one in path.parent.iterdir()])} ".lstrip()
    return ""


def open_kept(path: Path) -> BufferedReader:
    """Open a file of a run folder for reading. Raises OSError: absent, unreadable, a link or no regular file."""
    return open(kept_handle(path, os.O_RDONLY), "rb")


def kept_handle(path: Path | str, flags: int) -> int:
    """Open a file of a kept folder, as an opener of `open`. Raises OSError: also for what is no regular file."""
    try:
        handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError:
        _refuse_irregular(path, _mode(path))  # a link and a socket cannot be opened so, nor a FIFO that nobody reads
        raise
    try:
        _refuse_irregular(path, os.fstat(handle).st_mode)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _refuse_irregular(path: Path | str, mode: int) -> None:
    """Raise OSError unless `mode` is that of a regular file."""
    if kind := kind_of_file(mode):
        number = ELOOP if stat.S_ISLNK(mode) else EINVAL
        raise OSError(number, f"{kind}; expected a regular file: move it away", str(path))


def read_kept(path: Path, most_nbytes: int = MOST_NBYTES) -> bytes:
    """Return the content of a file of a run folder. Raises OSError, also if it is longer than `most_nbytes`."""
    with open_kept(path) as file:
        return _at_most(file, path, most_nbytes)


def open_given(path: Path) -> BufferedReader:
    """Open a file that a user names for reading, links and pipes such as `<(...)` and /dev/stdin included.

    Raises OSError: also for a named pipe, which would block for ever if nobody writes to it.
    """
    if stat.S_ISFIFO(_mode(os.path.realpath(path))) and Path("/dev") not in path.parents:
        raise OSError(EINVAL, "a named pipe, which is not read, since nobody may write to it", str(path))
    return open(path, "rb")


def read_given(path: Path, most_nbytes: int = MOST_NBYTES) -> bytes:
    """Return the content of a file that a user names. Raises OSError as `open_given`, and if it is longer than
    `most_nbytes`.
    """
    with open_given(path) as file:
        return _at_most(file, path, most_nbytes)


def read_given_text(path: Path, most_nbytes: int) -> str:
    """Return the same as text in UTF-8, with newlines as line ends. Raises OSError, UnicodeDecodeError."""
    return read_given(path, most_nbytes).decode().replace("\r\n", "\n").replace("\r", "\n")


def _at_most(file: BufferedReader, path: Path, most_nbytes: int) -> bytes:
    """Return the content of an open file. Raises OSError if it is longer than `most_nbytes`."""
    content = file.read(most_nbytes + 1)
    if len(content) > most_nbytes:
        raise OSError(EFBIG, f"more than {most_nbytes:,} bytes, the largest size that is read", str(path))
    return content


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write `content`, text in UTF-8, to a temporary file and rename it to `path`. Raises OSError; `path` is then
    unchanged.

    Several processes, on several nodes, may write the same file at once: the last one wins.
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
            error.filename = str(path)  # the name that the user knows
        raise


@contextmanager
def written_together(folder: Path) -> Iterator[Path]:
    """Yield a new hidden folder beside `folder`; when the block succeeds, move its files to their places.

    Those in its subfolder of the same name go into `folder`, the others beside that. Otherwise all is removed, and an
    OSError names `folder` instead of the hidden one. Raises OSError if a place holds anything but a regular file.
    """
    from shutil import rmtree  # late: not needed for single files

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


def refuse_given(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Raise OSError as `refuse_special`, and if `path` is an input or what a run or a check keeps.

    To be called before the work.
    """
    refuse_special(path)
    if not path.exists():
        return
    place = path.resolve()
    of_launch = place.parent.name == "launches" and (place.parent.parent / "run.json").exists()
    of_check = place.name in OF_CHECK and (place.parent / "health.json").exists()
    if of_launch or of_check or place.name in ("run.json", "health.json"):
        raise OSError(EEXIST, "a file of a run or a check, which is never replaced; name another file", str(path))
    if any(place == one.resolve() for one in inputs):
        raise OSError(EEXIST, "what is read, which is never replaced; name another file", str(path))


def refuse_special(path: Path) -> None:
    """Raise OSError if `path` exists and is no regular file, or its folder does not exist."""
    if not path.parent.is_dir():
        raise OSError(ENOENT, "no such folder; make it first", str(path.parent))
    if kind := kind_of_file(_mode(path)):
        number = EISDIR if kind == "a folder" else EEXIST
        raise OSError(number, f"{kind}, which is never replaced; name another file, or move it away", str(path))


def phrase(error: Exception) -> str:
    """Describe an error of reading without the path."""
    if isinstance(error, FileNotFoundError):
        return "the file is missing"
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def unique_name() -> str:
    """Return a name unique among the processes that now write to a shared file system."""
    return f"{os.uname().nodename}-{os.getpid()}"


def _no_link(path: str, flags: int) -> int:
    """Open without following links: others may write to the folder, too."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _mode(path: Path | str) -> int:
    """Return the mode of the file, of a link its own; 0 if it does not exist."""
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
