"""Files of checkpoints: whole or absent, each with a checksum in its name, of which the newest whole ones are taken.

`step-40.<checksum>.npz`: the name has the first digits of the SHA-256 of the content, and the file gets that name once
it is on the disk. So what has such a name is whole, or was damaged later, which the checksum tells.
"""

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from .files import open_kept, unique_name

NAME = re.compile(r"step-(\d{1,18})\.([0-9a-f]{16})")
MOST_STEPS = 10**18  # which the name cannot hold
KEPT = 2  # files in a folder: the newest may be damaged later
ABANDONED_S = 600.0  # a file that is being written changes sooner


def write_checkpoint(
    folder: Path, step: int, content: bytes | memoryview, suffix: str, damaged: Iterable[Path] = ()
) -> Path:
    """Write what is kept after `step` steps through to the disk; of files up to this step the newest two are kept.

    Those of later steps are left alone: they are of another start of the program. What is `damaged` is removed once a
    whole file is there. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"step-{step}.{_checksum(content)}{suffix}"
    hidden = folder / f".{path.name}.{unique_name()}.tmp"
    try:
        with open(hidden, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        hidden.replace(path)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise
    bad = [one for one in damaged if one != path]  # else the same content was written in its place
    old = [one for one, of_step, _ in _files(folder, suffix) if of_step <= step and one not in bad][KEPT:]
    for left in (*bad, *old, *_abandoned(folder, suffix, path.stat().st_mtime)):
        left.unlink(missing_ok=True)
    return path


def _abandoned(folder: Path, suffix: str, now: float) -> Iterator[Path]:
    """Yield what ranks that were killed meanwhile left half written, by the clock of the file system."""
    for path in folder.glob(f".step-*{suffix}.*.tmp"):
        with suppress(FileNotFoundError):  # of another start of the program, which writes here, too
            if now - path.stat().st_mtime > ABANDONED_S:
                yield path


def whole_checkpoints(
    folder: Path, suffix: str, damaged: Callable[[Path], object] = lambda path: None
) -> Iterator[tuple[Path, int, bytes]]:
    """Yield path, step and content of the whole files of a folder, the newest first; call `damaged` for others.

    What is no regular file, but has the name of one, is damaged, too. Raises OSError.
    """
    for path, step, checksum in _files(folder, suffix):
        try:
            with open_kept(path) as file:
                content = file.read()
        except FileNotFoundError:  # another start of the program has written a newer one meanwhile
            continue
        except OSError:
            if stat.S_ISREG(path.lstat().st_mode):
                raise
            content = None
        if content is not None and _checksum(content) == checksum:
            yield path, step, content
        else:
            damaged(path)


def _files(folder: Path, suffix: str) -> list[tuple[Path, int, str]]:
    """Return path, step and checksum of what has the name of a checkpoint, the newest first."""
    if not folder.exists():
        return []
    paths = [path for path in folder.iterdir() if path.suffix == suffix and not path.is_dir()]
    named = [(path, name) for path in paths if (name := NAME.fullmatch(path.stem))]
    return sorted(((path, int(name[1]), name[2]) for path, name in named), key=lambda one: -one[1])


def _checksum(content: bytes | memoryview) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
