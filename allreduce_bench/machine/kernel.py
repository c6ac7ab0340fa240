"""Readers of the kernel's files. A missing or hidden file gives None: no machine has them all.

Thousands of ranks read them at their start, so with as few system calls as possible.
"""

import os
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

ROOT = Path("/")  # parent of proc/ and sys/; looked up at every call, so that tests can replace it
AT_ONCE = 1 << 16  # bytes of one read


def read(path: str) -> str | None:
    """Return the text of `path` (such as `proc/meminfo`), stripped; None if it cannot be read."""
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


@cache
def read_once(path: str) -> str | None:
    """Return `read(path)` of a file that does not change while a process lives."""
    return read(path)


def read_int(path: str) -> int | None:
    """Return the integer in `path`; None if there is none."""
    try:
        return int(read(path) or "")
    except ValueError:
        return None


def matching_paths(pattern: str) -> list[str]:
    """Return the paths that match, such as `sys/class/net/*`, in alphabetical order.

    What follows the last part with a wildcard is not looked for: whoever reads it sees whether it is there.
    """
    paths = [""]
    for part in pattern.split("/"):
        wild = any(letter in part for letter in "*?[")
        paths = [f"{path}{name}/" for path in paths for name in (_names(path, part) if wild else [part])]
    return sorted(path[:-1] for path in paths)


def _names(folder: str, pattern: str) -> list[str]:
    try:
        return [name for name in os.listdir(ROOT / folder) if fnmatchcase(name, pattern)]
    except OSError:
        return []


def exists(path: str) -> bool:
    """Return whether the file or folder exists, and is visible to this process."""
    return os.path.exists(ROOT / path)
