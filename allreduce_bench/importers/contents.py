"""What folders and archives of logs hold: `.tar.gz` and `.tar`, read member by member.

Archives come from others. Nothing of them is written to the disk; members that are no regular files (links, devices)
are passed over; one with too many members or too much in them is refused as a whole, and so is one that is cut off.
A member is named by a path below its archive: `2025.tar.gz/2025/0/times.csv`.
"""

import tarfile
import zlib
from collections.abc import Callable, Iterator
from errno import EFBIG
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ..runs.files import read_given
from ..units import printable
from .lines import EXPECTED, LONGEST_LOG, head_of
from .row import LogError

ENDINGS = (".tar.gz", ".tgz", ".tar")
MAGIC, MAGIC_AT = b"ustar", 257  # of the header of a member
MOST_MEMBERS = 10_000  # of an archive, folders and links included
MOST_UNPACKED_NBYTES = 2**30  # of an archive, unpacked
AT_ONCE_NBYTES = 2**20  # of what is passed over
DAMAGED = (EOFError, zlib.error, tarfile.TarError, OSError, ValueError, OverflowError)


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
    return path.name.endswith(ENDINGS) or head_of(path)[MAGIC_AT:].startswith(MAGIC)


def stem_of_archive(name: str) -> str:
    """Return the name of an archive without its ending; any other name as it is."""
    return next((name.removesuffix(ending) for ending in ENDINGS if name.endswith(ending)), name)


def _is_hidden(path: Path | PurePosixPath) -> bool:
    return any(name.startswith(".") for name in path.parts)


def _members(path: Path) -> Iterator[LogFile]:
    """Yield the regular files of an archive. Raises LogError."""
    unpacked_nbytes = 0
    try:
        with tarfile.open(path) as archive:
            for count, info in enumerate(archive, start=1):
                unpacked_nbytes += info.size
                _refuse_too_much(path, count, unpacked_nbytes)
                name = PurePosixPath(printable(info.name))
                if info.isreg() and not _is_hidden(name):
                    yield LogFile(path / str(name).lstrip("/"), partial(_content, path, archive, info), path)
            while archive.fileobj and archive.fileobj.read(AT_ONCE_NBYTES):  # a checksum behind the last member
                pass
    except LogError:
        raise
    except DAMAGED as error:
        if isinstance(error, OSError) and error.filename:  # it could not be opened
            raise LogError(f"{path}: {(error.strerror or str(error)).lower()}; {EXPECTED}") from error
        raise _damage_error(path) from error


def _refuse_too_much(path: Path, members: int, unpacked_nbytes: int) -> None:
    """Raise LogError for an archive with more members, or more in them, than are read."""
    if members > MOST_MEMBERS or unpacked_nbytes > MOST_UNPACKED_NBYTES:
        raise LogError(
            f"{path}: an archive of more than {MOST_MEMBERS:,} members or {MOST_UNPACKED_NBYTES / 2**30:g} GiB, the "
            "most that is read; unpack what you need"
        )


def _damage_error(path: Path) -> LogError:
    return LogError(f"{path}: an archive that is cut off or damaged; copy it again")


def _content(path: Path, archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    """Return the content of a member. Raises OSError: it is too long; LogError: it is cut off."""
    if info.size > LONGEST_LOG:
        raise OSError(EFBIG, f"more than {LONGEST_LOG:,} bytes, the largest size that is read")
    try:
        file = archive.extractfile(info)
        content = file.read() if file else b""
    except DAMAGED as error:
        raise _damage_error(path) from error
    if len(content) < info.size:
        raise _damage_error(path)
    return content
