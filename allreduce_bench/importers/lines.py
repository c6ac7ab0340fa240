"""Shared parts of importers: the lines of a log, its single values, and files that are one JSON document.

Lines are decoded, without the prefixes of launchers and without a line that was cut off. Values are whole numbers,
times, names of types and operations; anything else is refused. Documents are plain or gzip, recognised by their first
bytes.
"""

import gzip
import hashlib
import json
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager, suppress
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import IO, Any, NamedTuple

from ..runs.dtypes import DTYPES
from ..runs.files import MOST_NBYTES, nearest_name, read_given
from ..units import MAX_RANKS, counted, few, printable
from .row import LogError, LogNote, LogWarning

# files
EXPECTED = "expected the log of a benchmark"
LONGEST_LOG = MOST_NBYTES
MANGLED = 0.1  # of the characters: beyond, it is no text
BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
GZIP = b"\x1f\x8b"
PEEKED_NBYTES = 100_000  # of a file, to recognise it


# lines
PREFIX = re.compile(  # mpirun --tag-output, hydra -l, srun -l, scripts, dates of CI and kubectl, quotes, an escaped #
    r"^[ \t]*(?:\[[^\]\n]{1,80}\][ \t]?<std(?:out|err)>:?[ \t]?|\[\d{1,7}\][ \t]|\[[A-Z]{2,8}\]:[ \t]?|\d{1,7}:[ \t]"
    r"|\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:?\d\d)[ \t]|>[ \t]|\\(?=#))",
    re.ASCII | re.MULTILINE,
)
COLOURS = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")  # of a terminal, and its titles
NOISE = re.compile(  # of scripts: `0 upgraded, 0 newly installed`; a time that is no number is none
    r"\s*[0-9]+ (?!(?:nan|inf|infinity)\b)[A-Za-z]{2,}[A-Za-z,.;:]*(?:\s|$)", re.IGNORECASE
)


# collectives
SEPARATORS_OF_WORDS = re.compile(r"[\W_]+")


# libraries
LIBRARIES = {  # what a log says of its library -> its name
    r"(?<!R)NCCL version (\d+\.\d+\.\d+)": "NCCL",
    r"RCCL version *:? *(\d+\.\d+\.\d+)": "RCCL",
    r"\bnccl=\((\d+, \d+, \d+)\)": "NCCL",
    r"nccl-library=(\d{5})\b": "NCCL",
    r"Intel\(R\) MPI Library,? (?:Version )?(\d{4}\.\d+(?:\.\d+)?)": "Intel MPI",
    r"\bOpen MPI(?:\)| v| )+(\d+\.\d+\.\d+)": "Open MPI",
    r"\bMPICH Version: *(\d+\.\d+(?:\.\d+)?)": "MPICH",
    r"\bMVAPICH2? (?:Version *: *)?(\d+\.\d+(?:\.\d+)?)": "MVAPICH",
}


# launchers
LAUNCHED = re.compile(  # up to the program of a benchmark, or to the end of a line of options
    r"\b(mpirun|mpiexec(?:\.\w+)?|orterun|srun|jsrun|aprun)(?=\s)"
    r"(?:(.*?)\s\S*(?:osu_|IMB-|_perf\b|[Aa]ll_?[Rr]educe)|((?:\s+(?:-\S+|[0-9]+))*)$)"
)
PROCESSES = re.compile(r"(?:^|\s)(?:-np?|--np|--ntasks|--nrs)[ =]*([0-9]{1,8})(?!\S)")
OF_RESOURCE_SET = re.compile(r"\s(?:-a|--tasks_per_rs)[ =]*([0-9]{1,8})(?!\S)")  # of jsrun


# values
US = 1e-6  # seconds
SECONDS = {"ns": 1e-9, "us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0}
LARGEST = 10**17  # of any whole number in a log: above, it is damaged
SHORTEST_S, LONGEST_S = 1e-12, 1e7  # of any call: 1 ps, 115 days
NAME_LETTERS = 80  # length of a word of a document
SPELLINGS = {  # other names of known types
    "float": "float32",
    "single": "float32",
    "fp32": "float32",
    "real": "float32",
    "double": "float64",
    "fp64": "float64",
    "half": "float16",
    "fp16": "float16",
    "bf16": "bfloat16",
    "int": "int32",
    "int32_t": "int32",
    "int64_t": "int64",
    "long": "int64",
    "byte": "char",
}
ITEMSIZES = {**DTYPES, "char": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "uint32": 4, "uint64": 8}
ITEMSIZES |= {"fp8_e4m3": 1, "fp8_e5m2": 1, "f8e4m3": 1, "f8e5m2": 1}
WHOLE = re.compile(r"[+]?[0-9]{1,40}(?:\.0*)?")
NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE
)


class Log(NamedTuple):
    """A log to be read."""

    path: Path
    text: str

    @property
    def file(self) -> str:
        """Return its name, for messages and rows."""
        return str(self.path)

    @property
    def lines(self) -> "list[LogLine]":
        """Return all its lines."""
        return lines_of(self.text, self.file)


class LogLine(NamedTuple):
    """One line, with its number in the file from 1."""

    number: int
    text: str  # without the launcher's prefix and trailing blanks
    ended: bool  # by a line end; the last line of a truncated file is not
    file: str = ""

    @property
    def place(self) -> "Place":
        """Return where it stands."""
        return Place(f"{self.file}, line {self.number}")


def is_allreduce(name: str) -> bool:
    """Return whether a log names an all-reduce so: `all_reduce`, `AllReduce`."""
    return SEPARATORS_OF_WORDS.sub("", name).lower() == "allreduce"


def library_of(text: str) -> str | None:
    """Return the library that a log states, with its version; None if it states none, or several."""
    found = {f"{name} {_format_version(match)}" for form, name in LIBRARIES.items() for match in re.findall(form, text)}
    return found.pop() if len(found) == 1 else None


def _format_version(version: str) -> str:
    """Return `2.28.8` of `2.28.8`, `2, 28, 8`, or NCCL's number 22808."""
    if version.isdecimal():
        return f"{int(version) // 10000}.{int(version) // 100 % 100}.{int(version) % 100}"
    return version.replace(", ", ".")


class Launched(NamedTuple):
    """What the line of a launcher says."""

    processes: int | None  # None: it does not say how many


def launched_by(text: str) -> Launched | None:
    """Return what a line says that starts a benchmark, such as `mpirun -np 8 ./osu_allreduce`; None for another."""
    match = LAUNCHED.search(text) if "run" in text or "mpiexec" in text else None
    if not match:
        return None
    options = match[2] or match[3] or ""
    numbers = PROCESSES.findall(options)
    if len(numbers) != 1:  # several programs, or a file of hosts
        return Launched(None)
    each = OF_RESOURCE_SET.search(options) if match[1] == "jsrun" else None
    ranks = int(numbers[0]) * int(each[1] if each else 1)
    return Launched(ranks if 0 < ranks <= MAX_RANKS else None)


def read_text(path: Path) -> str:
    """Return the text of a log. Raises LogError: absent, too long, empty, compressed, or no text."""
    return text_of_file(path, lambda: read_given(path, LONGEST_LOG))


def text_of_file(path: Path, read: Callable[[], bytes]) -> str:
    """Return the text of what `read` reads, without prefixes of launchers and colours. Raises LogError as above."""
    try:
        content = read()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise LogError(f"{path}: {reason}; {nearest_name(path)}{EXPECTED}") from error
    if not content.strip():
        raise LogError(f"{path}, line 1: empty; {EXPECTED}")
    for magic, name in PACKED.items():
        if content.startswith(magic):
            raise LogError(f"{path}, line 1: compressed by {name}; unpack it first")
    coding = next((coding for mark, coding in BYTE_ORDER_MARKS.items() if content.startswith(mark)), "utf-8")
    text = content.decode(coding, errors="replace")
    strange = sum(letter == "\ufffd" or (letter < " " and letter not in "\t\n\r\f\v\x1b") for letter in text[:100_000])
    if "\0" in text or strange > MANGLED * min(len(text), 100_000):
        first = re.search(r"[\0-\x08\x0e-\x1a\x1c-\x1f\ufffd]", text)
        number = text.count("\n", 0, first.start() if first else 0) + 1
        raise LogError(f"{path}, line {number}: binary, not text; {EXPECTED}")
    text = PREFIX.sub("", COLOURS.sub("", text) if "\x1b" in text else text)
    if not text.strip():
        raise LogError(f"{path}, line 1: empty; {EXPECTED}")
    return text


def digest_of(path: Path) -> str | None:
    """Return the SHA-256 of a log; None if it is no regular file (a pipe can be read only once) or cannot be read."""
    try:
        return hashlib.sha256(read_given(path)).hexdigest() if path.is_file() else None
    except OSError:
        return None


def lines_of(text: str, file: str = "") -> list[LogLine]:
    """Split the text of a file into its lines."""
    parts = re.split(r"\r\n|\n|\r", text)
    last = len(parts)
    return [
        LogLine(number, PREFIX.sub("", part, count=1).rstrip(), number < last, file)
        for number, part in enumerate(parts, start=1)
        if number < last or part
    ]


def is_cut(line: LogLine, width: int) -> bool:
    """Return whether the last line of a file is a truncated row: without an end, and shorter than the row before."""
    return not line.ended and len(line.text) < width


def warn_of_row(file: str, line: LogLine, why: str) -> None:
    """Warn of a line that was left out."""
    warnings.warn(f"{file}, line {line.number}: {why}; left out", LogWarning, stacklevel=2)


def warn_of_others(file: str, benchmarks: Iterable[str]) -> None:
    """Warn of benchmarks that were left out and are named like an all-reduce."""
    if names := [name for name in dict.fromkeys(benchmarks) if "allreduce" in name.lower()]:
        warnings.warn(f"{file}: other benchmarks: {listed(names)}; left out", LogWarning, stacklevel=2)


def refuse_nothing(log: Log, rows: Sized, others: Sequence[str], why: str = "the table is empty") -> None:
    """Raise LogError if a log has no rows of an all-reduce: it has `others`, or `why`; else warn of these."""
    if not rows:
        what = f"found: {listed(dict.fromkeys(others))}" if any(others) else why
        raise LogError(f"{log.lines[-1].place}: no row of an all-reduce up to here; {what}")
    warn_of_others(log.file, others)


def note_missing_end(log: Log, last: int, end: str) -> None:
    """Warn of a log that lacks the line `end`, with which its tool ends, below the line number `last`."""
    lines = log.lines
    if not any(end in line.text for line in lines[last:]):
        words = f"{lines[-1].place}: the log ends without the line '{end}' of its tool: is it cut off?"
        warnings.warn(LogNote(words), stacklevel=2)


def shown(text: str, most: int = 40) -> str:
    """Format `'text'`, short and in one line, for a message."""
    line = printable(text.strip())
    return f"'{line[:most]}...'" if len(line) > most else f"'{line}'"


def shown_value(value: object) -> str:
    """Format a value of JSON as it stands there, short and in one line: a text has quotes, a number none."""
    line = printable(repr(value))
    return f"{line[:40]}..." if len(line) > 40 else line


def listed(names: Iterable[object], most: int = 8) -> str:
    """Format `a, b, c`, or the first of them `and 12 more`."""
    return few(names, most)


def is_number(text: str) -> bool:
    """Return whether a field is a number, including nan and inf."""
    return NUMBER.fullmatch(text) is not None


def is_whole(text: str) -> bool:
    """Return whether a field consists of digits only."""
    return text.isascii() and text.isdigit()


class Place(str):
    """Where a text of a log stands, as `FILE, line 12`: its methods parse a field, or raise LogError that names it."""

    __slots__ = ()

    def whole(self, text: str, what: str, least: int = 0, most: int = LARGEST) -> int:
        """Parse a whole number."""
        value = int(text.partition(".")[0]) if WHOLE.fullmatch(text) else -1
        if not least <= value <= most:
            raise LogError(f"{self}: {what} is {shown(text)}, expected a whole number from {least} to {most:.15g}")
        return value

    def ranks(self, text: str) -> int:
        """Parse a number of ranks."""
        return self.whole(text, "the number of ranks", 1, MAX_RANKS)

    def real(self, text: str, what: str) -> float:
        """Parse a number, finite and not negative."""
        value = float(text) if is_number(text) else -1.0
        if not isfinite(value) or value < 0:
            raise LogError(f"{self}: {what} is {shown(text)}, expected a number of 0 or more")
        return value

    def size(self, text: str, unit: str = "") -> int:
        """Parse a size such as `2.0` `KB` to bytes; K, M, G and T count in 1024, as in these logs."""
        power = " KMGT".find(unit.strip().upper()[:1] or "B")
        return round(self.real(text, "the size") * 1024 ** max(0, power))

    def unit_s(self, unit: str) -> float:
        """Return the seconds of a unit of time."""
        name = unit.strip().lower().replace("\u00b5", "u").replace("\u03bc", "u")
        if name not in SECONDS:
            raise LogError(f"{self}: the unit of its times is {shown(unit)}, expected one of {', '.join(SECONDS)}")
        return SECONDS[name]

    def seconds(self, text: str, unit_s: float, what: str = "the time") -> float:
        """Parse a time in units of `unit_s` to seconds; 0 stays 0."""
        value = self.real(text, what) * unit_s
        if value and not SHORTEST_S < value < LONGEST_S:
            raise LogError(f"{self}: {what} is {shown(text)}: {value:.0e} s, which is implausible")
        return value

    def wrong(self, text: str) -> dict[str, Any]:
        """Parse a count of wrong elements, which some logs print as 1e+06, to the fields of Imported."""
        count = int(min(self.real(text, "the number of wrong elements"), LARGEST))
        reason = f"the log says: {counted(count, 'wrong element')}"
        return {"wrong": count} | ({"state": "wrong", "reason": reason} if count else {})


@lru_cache
def dtype_of(text: str) -> str | None:
    """Return the name of a type used here, else the log's, in lower case without MPI_; None for none."""
    name = text.strip().strip(".").lower().removeprefix("mpi_").removeprefix("nccl")
    name = re.sub(r"\W", "_", name)[:40]
    return SPELLINGS.get(name, name) or None


def itemsize_of(dtype: str | None) -> int:
    """Return bytes of an element; 1 if unknown."""
    return ITEMSIZES.get(dtype or "", 1)


@lru_cache
def op_of(text: str) -> str | None:
    """Return the name of an operation used here, else the log's; None for none."""
    name = re.sub(r"\W", "_", text.strip().lower().removeprefix("mpi_"))[:40]
    return None if name in ("", "none", "null", "n_a") else name


def time_fields(time_s: float, printed: str) -> dict[str, Any]:
    """Return the fields of Imported for a time; for 0 those of a cell without one."""
    if time_s > 0:
        return {"times_s": (time_s,)}
    return {"state": "left out", "reason": f"the log says {printed}: too short for its digits"}


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked; empty if unreadable or no regular file: a pipe is read only once."""
    if not path.is_file():
        return b""
    try:
        with _unpacked(path) as file:
            return file.read(PEEKED_NBYTES)
    except (OSError, EOFError, zlib.error):
        return b""


def document_of(path: Path, most_nbytes: int = MOST_NBYTES) -> Any:
    """Return the JSON document of a file. Raises LogError: unreadable, too long, truncated or damaged."""
    try:
        with _unpacked(path) as file:
            content = file.read(most_nbytes + 1)
    except (EOFError, zlib.error) as error:
        raise LogError(f"{path}: packed by gzip and damaged or cut off; copy it again") from error
    except OSError as error:
        strerror = (error.strerror or str(error)).lower()
        raise LogError(f"{path}: {strerror}; expected a JSON document") from error
    if len(content) > most_nbytes:
        raise LogError(f"{path}: more than {most_nbytes:,} bytes, the largest size that is read; record fewer steps")
    try:
        return json.loads(content.decode("utf-8-sig", errors="replace"))
    except json.JSONDecodeError as error:
        raise LogError(f"{path}, line {error.lineno}: damaged JSON, or cut off; record or copy it again") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets without end
        raise LogError(f"{path}, line 1: damaged JSON; record or copy it again") from error


def texts_in_json(text: str) -> list[tuple[str, str]]:
    """Return the texts of several lines in a JSON document, or in one a line, each with its place: `data.stdout`.

    The strings of one object, or of one list, are one text. Empty: it is no such document, or is damaged.
    """
    text = text.lstrip("\ufeff \t\r\n")
    found: list[tuple[str, str]] = []
    if text.startswith(("{", "[", '"')) and ("\\n" in text or '"#' in text):
        try:
            _take_texts(json.loads(text), "", found)
        except (ValueError, RecursionError):
            for number, line in enumerate(text.split("\n"), start=1):
                with suppress(ValueError, RecursionError):
                    _take_texts(json.loads(line), f"line {number}", found)
    return found


def _take_texts(value: Any, place: str, found: list[tuple[str, str]]) -> None:
    """Add the texts of a JSON value, in order."""
    items = list(
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else [("", value)]
    )
    text = "\n".join(item for _, item in items if isinstance(item, str))
    if "\n" in text:
        found.append((place or "text", text.rstrip("\n") + "\n"))
    for name, item in items:
        if isinstance(item, dict | list):
            _take_texts(item, f"{place}.{name}".lstrip("."), found)


@contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed if it is gzip."""
    with open(path, "rb") as file:
        if file.peek(len(GZIP)).startswith(GZIP):
            with gzip.open(file) as unpacked:
                yield unpacked  # type: ignore[misc]  # a GzipFile
        else:
            yield file


def whole_of(
    content: Mapping[str, Any], name: str, place: str, least: int = 0, most: int = LARGEST, default: int | None = None
) -> int:
    """Return a whole number of an object, also one written as text. Raises LogError."""
    value = content.get(name, default)
    if isinstance(value, str) and value.lstrip("-").isdecimal() and value.isascii() and len(value) < 20:
        value = int(value)
    if type(value) is not int or not least <= value <= most:
        raise LogError(f"{place}: {name} is {shown_value(value)}, expected a whole number from {least} to {most:.15g}")
    return value


def text_of(content: Mapping[str, Any], name: str) -> str:
    """Return a word of an object in one line; empty if absent."""
    value = content.get(name)
    return "" if value is None else printable(str(value))[:NAME_LETTERS]
