"""Files that are one JSON document, plain or packed by gzip: how they begin, by which they are told; what they hold.

Pickles are never read: whoever unpickles a file runs what it says.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..runs.files import MOST_NBYTES
from .row import LogError
from .values import LARGEST, printable, shown

PEEKED_NBYTES = 100_000
GZIP = b"\x1f\x8b"
PICKLES = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))  # how each protocol since 2 begins
NAME_LETTERS = 80


@contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes]]:
    with open(path, "rb") as file:
        if file.peek(len(GZIP)).startswith(GZIP):
            with gzip.open(file) as unpacked:
                yield unpacked  # type: ignore[misc]  # a GzipFile
        else:
            yield file


def head_of(path: Path) -> bytes:
    """How a file begins, unpacked; empty: it is no file, or cannot be read. A pipe, which is read but once, is left."""
    if not path.is_file():
        return b""
    try:
        with _unpacked(path) as file:
            return file.read(PEEKED_NBYTES)
    except (OSError, EOFError, zlib.error):
        return b""


def is_pickle(head: bytes) -> bool:
    """Whether a file that begins so is a pickle."""
    return head.startswith(PICKLES)


def document_of(path: Path, most_nbytes: int = MOST_NBYTES) -> Any:
    """The JSON document of a file. Raises LogError: unreadable, too long, cut off or damaged."""
    try:
        with _unpacked(path) as file:
            content = file.read(most_nbytes + 1)
    except (EOFError, zlib.error) as error:
        raise LogError(f"{path}: packed by gzip and damaged or cut off; copy it again") from error
    except OSError as error:
        raise LogError(f"{path}: {(error.strerror or str(error)).lower()}; expected a JSON document") from error
    if len(content) > most_nbytes:
        raise LogError(f"{path}: more than {most_nbytes:,} bytes, the largest size that is read; record fewer steps")
    try:
        return json.loads(content.decode("utf-8-sig", errors="replace"))
    except json.JSONDecodeError as error:
        raise LogError(f"{path}, line {error.lineno}: damaged JSON, or cut off; record or copy it again") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets without end
        raise LogError(f"{path}, line 1: damaged JSON; record or copy it again") from error


def whole_of(
    content: Mapping[str, Any], name: str, place: str, least: int = 0, most: int = LARGEST, default: int | None = None
) -> int:
    """A whole number of an object, also one written as text. Raises LogError."""
    value = content.get(name, default)
    if isinstance(value, str) and value.lstrip("-").isdecimal() and value.isascii() and len(value) < 20:
        value = int(value)
    if type(value) is not int or not least <= value <= most:
        raise LogError(
            f"{place}: {name} is {shown(repr(value)[:60])}, expected a whole number from {least} to {most:.15g}"
        )
    return value


def text_of(content: Mapping[str, Any], name: str) -> str:
    """A word of an object in one line; empty: there is none."""
    value = content.get(name)
    return "" if value is None else printable(str(value))[:NAME_LETTERS]
