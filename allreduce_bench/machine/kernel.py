"""Files of the kernel about the system. A missing file gives None: no machine has them all.

Ranks ask at their start, in thousands: with as few calls as it takes.
"""

import os
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

ROOT = Path("/")  # what proc/ and sys/ stand under; looked up at every call, so that tests can put it elsewhere
AT_ONCE = 1 << 16  # bytes of one read


def read(path: str) -> str | None:
    """The text of `path` (such as `proc/meminfo`) without the white space around it; None where it cannot be read."""
    try:
        file = os.open(ROOT / path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        parts = []
        while part := os.read(file, AT_ONCE):
            parts.append(part)
        return b"".join(parts).decode(errors="replace").strip()
    except OSError:
        return None
    finally:
        os.close(file)


def read_lasting(path: str) -> str | None:
    """As `read`, once for a process: of what does not change while it lives."""
    return kept(ROOT, path)


@lru_cache(maxsize=16)
def kept(root: Path, path: str) -> str | None:
    """What `path` below `root` said first."""
    return read(path)


def read_int(path: str) -> int | None:
    """The whole number that `path` holds; None where it holds none."""
    try:
        return int(read(path) or "")
    except ValueError:
        return None


def matching_paths(pattern: str) -> list[str]:
    """The paths that match, such as `sys/class/net/*`, in alphabetical order."""
    paths = [""]
    for part in pattern.split("/"):
        wild = any(letter in part for letter in "*?[")
        paths = [f"{path}{name}/" for path in paths for name in (_names(path, part) if wild else [part])]
    return sorted(path[:-1] for path in paths if wild or exists(path[:-1]))


def exists(path: str) -> bool:
    """Whether there is such a file or folder, and this process may see it."""
    return os.path.exists(ROOT / path)


def _names(folder: str, pattern: str) -> list[str]:
    try:
        return [name for name in os.listdir(ROOT / folder) if fnmatchcase(name, pattern)]
    except OSError:
        return []
