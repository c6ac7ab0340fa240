"""What folders and archives of logs hold: `.tar.gz` and `.tar`, read as streams.

Archives come from others. Nothing of them is written to the disk; members that are no regular files (links, devices)
are passed over; one with too many members, too much in them, or a path that leads out of it is refused as a whole,
and so is one that is cut off. A member is named by a path below its archive: `2025.tar.gz/2025/0/times.csv`.
"""

import tarfile
import zlib
from collections.abc import Callable, Iterator
from errno import EFBIG
from gzip import GzipFile
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from ..runs.files import read_given
from ..units import printable
from .lines import EXPECTED, GZIP, LONGEST_LOG, shown
from .row import LogError

ENDINGS = (".tar.gz", ".tgz", ".tar")
MAGIC, MAGIC_AT = b"ustar", 257  # of the header of a member
MOST_MEMBERS = 10_000  # of an archive, folders and links included
MOST_UNPACKED_NBYTES = 2**30  # of an archive, unpacked
AT_ONCE_NBYTES = 2**20  # of headers, and of what is passed over
DAMAGED = (EOFError, zlib.error, tarfile.TarError, OSError, ValueError, ArithmeticError, RecursionError, LookupError)


class LogFile(NamedTuple):
    """A file of a folder or an archive."""

    path: Path
    read: Callable[[], bytes]  # its content; of a member only until the next one is asked for. Raises OSError, LogError
    archive: Path | None = None


def contents(path: Path) -> Iterator[LogFile]:
    """Yield the files below a folder, sorted by name, or of an archive in its order; or a file itself.

    Without hidden ones and those in hidden folders. Raises LogError for an archive that is refused, also late.
    """
    if path.is_dir():
        for file in files_below(path):
            yield LogFile(file, lambda file=file: read_given(file, LONGEST_LOG))  # type: ignore[misc]
    elif is_archive(path):
        yield from _members(path)
    else:
        yield LogFile(path, lambda: read_given(path, LONGEST_LOG))


def files_below(folder: Path) -> list[Path]:
    """Return the regular files below a folder, sorted by name, but hidden ones; none of hidden folders and of runs."""
    runs = {*runs_below(folder)}
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(file for file in files if not _is_hidden(file.relative_to(folder)) and runs.isdisjoint(file.parents))


def runs_below(folder: Path) -> list[Path]:
    """Return the runs of this program below a folder, sorted by name: their files are no logs."""
    return sorted(path.parent for path in folder.rglob("run.json") if path.parent != folder and is_run(path.parent))


def is_run(path: Path) -> bool:
    """Return whether a path is a run of this program."""
    return (path / "run.json").is_file() and (path / "launches").is_dir()


def is_archive(path: Path) -> bool:
    """Return whether a file is an archive, by its name or by its first bytes."""
    if not path.is_file():
        return False  # a pipe can be read only once
    if path.name.endswith(ENDINGS):
        return True
    try:
        with open(path, "rb") as file:
            unpacked = GzipFile(fileobj=file) if file.peek(len(GZIP)).startswith(GZIP) else file
            return unpacked.read(MAGIC_AT + len(MAGIC)).endswith(MAGIC)
    except (OSError, EOFError, zlib.error):
        return False


def stem_of_archive(name: str) -> str:
    """Return the name of an archive without its ending; any other name as it is."""
    return next((name.removesuffix(ending) for ending in ENDINGS if name.endswith(ending)), name)


def _is_hidden(path: Path | PurePosixPath) -> bool:
    return any(name.startswith(".") for name in path.parts)


class _Unpacked:
    """The bytes of an archive in one direction, at most MOST_UNPACKED_NBYTES of them."""

    def __init__(self, path: Path, file: BufferedReader):
        self.path, self.place, self.last = path, 0, b""
        self._file: IO[bytes] = file
        if file.peek(len(GZIP)).startswith(GZIP):
            self._file = GzipFile(fileobj=file)  # type: ignore[assignment]

    def tell(self) -> int:
        """Return how many bytes were read."""
        return self.place

    def read(self, size_bytes: int) -> bytes:
        """Return the next bytes, for headers. Raises tarfile.ReadError for a header that claims an absurd length."""
        if not 0 <= size_bytes <= AT_ONCE_NBYTES:
            raise tarfile.ReadError
        self.last = self.take(size_bytes)
        return self.last

    def take(self, size_bytes: int) -> bytes:
        """Return so many of the next bytes, fewer at the end. Raises LogError above the limit of an archive."""
        content = self._file.read(size_bytes)
        self.place += len(content)
        if self.place > MOST_UNPACKED_NBYTES:
            raise LogError(
                f"{self.path}: an archive of more than {MOST_UNPACKED_NBYTES / 2**30:g} GiB unpacked, the most that "
                "is read; unpack what you need"
            )
        return content

    def seek(self, place: int) -> None:
        """Read on to a place. Raises tarfile.ReadError for one behind."""
        if place < self.place:
            raise tarfile.ReadError
        while place > self.place and self.take(min(place - self.place, AT_ONCE_NBYTES)):
            pass

    def finish(self) -> None:
        """Read the rest, in which a checksum may not fit. Raises tarfile.ReadError unless the last header is empty."""
        if self.last != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError
        while self.take(AT_ONCE_NBYTES):
            pass


def _members(path: Path) -> Iterator[LogFile]:
    """Yield the regular files of an archive. Raises LogError."""
    count, seen = 0, set[str]()
    try:
        with open(path, "rb") as file:
            unpacked = _Unpacked(path, file)
            with tarfile.TarFile(fileobj=unpacked) as archive:  # type: ignore[arg-type]  # it only reads and seeks
                for count, info in enumerate(archive, start=1):
                    if count > MOST_MEMBERS:
                        raise LogError(
                            f"{path}: an archive of more than {MOST_MEMBERS:,} members, the most that are read; "
                            "unpack what you need"
                        )
                    name = _safe_name(path, info.name)
                    if not info.isreg() or info.sparse is not None or _is_hidden(PurePosixPath(name)):
                        continue
                    if name in seen:
                        raise LogError(
                            f"{path}: an archive that holds {shown(name)} twice; unpack it, and name the folder"
                        )
                    seen.add(name)
                    yield LogFile(path / name, _content_of(path, count, unpacked, info), path)
            unpacked.finish()
    except LogError:
        raise
    except DAMAGED as error:
        if isinstance(error, OSError) and error.filename:  # it could not be opened
            raise LogError(f"{path}: {(error.strerror or str(error)).lower()}; {EXPECTED}") from error
        raise _cut_off(path, count) from error


def _cut_off(path: Path, count: int) -> LogError:
    """Return the error of an archive that is damaged in or after the member of this number."""
    return LogError(
        f"{path}: an archive that is cut off or damaged (whole members: {max(0, count - 1)}); copy it again"
    )


def _safe_name(path: Path, name: str) -> str:
    """Return the name of a member in printable letters. Raises LogError if it leads out of the archive."""
    if name.startswith("/") or ".." in PurePosixPath(name).parts:
        raise LogError(f"{path}: an archive whose member {shown(name)} leads out of it; not read")
    return str(PurePosixPath(printable(name)))


def _content_of(path: Path, count: int, unpacked: _Unpacked, info: tarfile.TarInfo) -> Callable[[], bytes]:
    """Return what reads a member."""

    def read() -> bytes:
        if info.size > LONGEST_LOG:
            raise OSError(EFBIG, f"more than {LONGEST_LOG:,} bytes, the largest size that is read")
        try:
            unpacked.seek(info.offset_data)
            content = unpacked.take(info.size)
        except DAMAGED as error:
            raise error if isinstance(error, LogError) else _cut_off(path, count) from error
        if len(content) < info.size:
            raise _cut_off(path, count)
        return content

    return read
