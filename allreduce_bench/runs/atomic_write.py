"""Result files that are whole or absent: a full disk or an interrupt never leaves half of one in place."""

import os
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Write `text` in UTF-8 beside `path`, then put it in its place. Raises OSError; what was there then stays.

    Several processes, on several nodes, may write the same file at once: the last one stands.
    """
    temporary = path.with_name(f"{path.name}.{unique_name()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # whose name the user knows
        raise


def unique_name() -> str:
    """What no other process that writes to a shared file system at this time is called."""
    return f"{os.uname().nodename}-{os.getpid()}"
