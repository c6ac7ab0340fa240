"""The lines of a log: decoded, without what launchers put before each of them, and without a line that was cut off."""

import hashlib
import re
import warnings
from pathlib import Path
from typing import NamedTuple

from ..runs.files import MOST_NBYTES, read_given
from .documents import is_pickle
from .row import LogError, LogWarning

MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
SQLITE = b"SQLite format 3\0"
PREFIX = re.compile(  # mpirun --tag-output, hydra -l, srun -l
    r"\s*(?:\[[^\]]{1,80}\]\s?<std(?:out|err)>:?\s?|\[\d{1,7}\]\s|\d{1,7}:\s)", re.ASCII
)
EXPECTED = "expected the log of a benchmark"
LONGEST_LOG = MOST_NBYTES
MANGLED = 0.1  # of the characters: beyond, it is no text


class Log(NamedTuple):
    """A log to be read."""

    path: Path
    text: str

    @property
    def file(self) -> str:
        """Its name, for messages and rows."""
        return str(self.path)

    @property
    def lines(self) -> "list[LogLine]":
        """All its lines."""
        return lines_of(self.text)


class LogLine(NamedTuple):
    """One line, its number in the file from 1."""

    number: int
    text: str  # without launchers' prefix and blanks at its end
    ended: bool  # by a line end; the last one of a file that was cut off is not


def read_text(path: Path) -> str:
    """The text of a log. Raises LogError: absent, too long, empty, compressed, or no text."""
    try:
        content = read_given(path, LONGEST_LOG)
    except OSError as error:
        raise LogError(f"{path}: {(error.strerror or str(error)).lower()}; {EXPECTED}") from error
    except ValueError as error:  # a null byte in its name
        raise LogError(f"{str(path)!r}: {error}; {EXPECTED}") from error
    if not content.strip():
        raise LogError(f"{path}, line 1: empty; {EXPECTED}")
    for magic, name in PACKED.items():
        if content.startswith(magic):
            raise LogError(f"{path}, line 1: compressed by {name}; unpack it first")
    if is_pickle(content):
        raise LogError(f"{path}, line 1: a pickle, which is not read, since it runs what it says; {EXPECTED}")
    if content.startswith(SQLITE):
        raise LogError(f"{path}, line 1: a SQLite database, as of Nsight Systems; {EXPECTED}")
    coding = next((coding for mark, coding in MARKS.items() if content.startswith(mark)), "utf-8")
    text = content.decode(coding, errors="replace")
    strange = sum(letter == "\ufffd" or (letter < " " and letter not in "\t\n\r\f\v\x1b") for letter in text[:100_000])
    if "\0" in text or strange > MANGLED * min(len(text), 100_000):
        first = re.search(r"[\0-\x08\x0e-\x1a\x1c-\x1f\ufffd]", text)
        number = text.count("\n", 0, first.start() if first else 0) + 1
        raise LogError(f"{path}, line {number}: binary, not text; {EXPECTED}")
    return text


def digest_of(path: Path) -> str | None:
    """The SHA-256 of a log; None of what is no file or cannot be read, and of a pipe, which can be read but once."""
    try:
        return hashlib.sha256(read_given(path)).hexdigest() if path.is_file() else None
    except OSError:
        return None


def lines_of(text: str) -> list[LogLine]:
    """All lines of a text."""
    parts = re.split(r"\r\n|\n|\r", text)
    last = len(parts)
    return [
        LogLine(number, PREFIX.sub("", part, count=1).rstrip(), number < last)
        for number, part in enumerate(parts, start=1)
        if number < last or part
    ]


def is_cut(line: LogLine, width: int) -> bool:
    """Whether the last line of a file is a row that was cut off: it has no end, and is shorter than the row before."""
    return not line.ended and len(line.text) < width


def dropped(file: str, line: LogLine, why: str) -> None:
    """Warn of a line that was left out."""
    warnings.warn(f"{file}, line {line.number}: {why}; left out", LogWarning, stacklevel=2)
