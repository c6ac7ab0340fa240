"""Result files that are whole or absent: a full disk or an interrupt never leaves half of one in place."""

from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write `text` in UTF-8 beside `path`, then put it in its place. Raises OSError; what was there then stays."""
    beside = path.with_name(f"{path.name}.tmp")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # whose name the user knows
        raise
