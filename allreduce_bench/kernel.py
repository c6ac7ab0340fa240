"""Files in which the system tells about itself. What is not there is None: no machine has them all."""

from pathlib import Path

ROOT = Path("/")  # what proc/ and sys/ stand under; looked up at every call, so that tests can put it elsewhere


def read(path: str) -> str | None:
    """The text of `path` (such as `proc/meminfo`) without the white space around it; None where it cannot be read."""
    try:
        return (ROOT / path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def read_int(path: str) -> int | None:
    """The whole number that `path` holds; None where it holds none."""
    try:
        return int(read(path) or "")
    except ValueError:
        return None


def found(pattern: str) -> list[str]:
    """The paths that match, such as `sys/class/net/*`, in alphabetical order."""
    try:
        return sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern))
    except OSError:
        return []


def exists(path: str) -> bool:
    """Whether there is such a file or folder, and this process may see it."""
    try:
        return (ROOT / path).exists()
    except OSError:
        return False
