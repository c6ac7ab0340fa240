"""The tables of nccl-tests as printed, old and current, with and without a header, of whatever collective.

Also what algbw and busbw say of the ranks: of an all-reduce busbw / algbw is 2(p-1)/p.
"""

import re
from collections.abc import Iterable, Sequence
from math import ceil, floor, inf
from typing import NamedTuple

from ..units import MAX_RANKS
from .lines import LogLine, dropped, is_cut, is_number, is_whole, shown

TOOL = "nccl-tests"


# lines
PROGRAM = re.compile(
    r"\b(all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoallv?|sendrecv|gather|scatter|hypercube)_perf\b"
)
CONCLUDED = "Collective test concluded"
BEGIN = re.compile(r"#\s*(nThread\b|Collective test starting)")
VERSION = re.compile(r"#\s*nccl-tests version (\S+)")
RANK = re.compile(r"#\s+Rank\s+([0-9]+)\s+(?:Group\s+([0-9]+)\s+)?Pid\s+[0-9]+\s+on\s+(\S+)\s+device")
ITERATIONS = re.compile(r"\bwarmup iters: [0-9]+ iters: ([0-9]+)")
HEADER = re.compile(r"#\s*size\s+count\b.*\bbusbw\b")
ROW = re.compile(r"\s*[0-9]+\s+[0-9]+\s+[A-Za-z]\w*\s+\S")
STAMP = re.compile(r"\s+[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$")
OUT_OF_BOUNDS = re.compile(r"#\s*Out of bounds values\s*:\s*(?:[0-9]+\s+)?(OK|FAILED)")
HALF, HALF_PER_ITERATION = 4, 8  # columns from one time to the next: time algbw busbw #wrong, and those of -I

Rates = Iterable[tuple[str, str]]  # algbw and busbw as printed


class NcclColumns(NamedTuple):
    """What a header says."""

    half: int  # number of columns of a half
    counted: bool  # whether wrong elements are counted, #wrong; older ones have the largest error
    cpu: bool  # whether the time is that of the CPU


PLAIN = NcclColumns(HALF, True, False)


class Half(NamedTuple):
    """One half of a row, as printed."""

    time: str
    algbw: str
    busbw: str
    wrong: str


class NcclRow(NamedTuple):
    """One row of a table, as printed."""

    line: LogLine
    nbytes: str
    elements: str
    dtype: str
    op: str
    halves: tuple[Half, ...]  # out of place, in place


class NcclTable(NamedTuple):
    """One table and what stands above it."""

    program: str
    version: str | None
    hosts: list[str]  # of each rank; empty: not said
    iterations: int | None
    columns: NcclColumns
    rows: list[NcclRow]
    checked: bool | None  # whether the line below the table says that nothing was out of bounds


def begins_table(text: str) -> bool:
    """Whether a text has the beginning or the header of a table."""
    return "_perf" in text and BEGIN.search(text) is not None or HEADER.search(text) is not None


def has_bare_row(text: str) -> bool:
    """Whether some line without any header can only be a row."""
    return any(ROW.match(line) and parse_row(LogLine(1, line, True), HALF) for line in text.splitlines())


def read_tables(file: str, lines: Sequence[LogLine]) -> list[NcclTable]:
    """The tables of a log in its order; rows that are not whole are dropped with a warning."""
    reader = _Reader(file)
    for line in lines:
        reader.take(line)
    return reader.tables


class _Reader:
    """What was read so far, line by line."""

    def __init__(self, file: str):
        self.file, self.tables = file, list[NcclTable]()
        self.program = ""
        self.version: str | None = None
        self.hosts: list[str] = []
        self.iterations: int | None = None
        self.columns = PLAIN
        self.fresh, self.width = True, 0  # whether the next row begins a table; the length of the row before

    def take(self, line: LogLine) -> None:
        """Take in one line."""
        if (line.text.split() or [""])[0].isdigit():
            self._take_row(line)
        elif match := RANK.search(line.text):
            first = match[1] == "0" and match[2] in (None, "0")
            self.hosts = [] if first else self.hosts  # a new list: tables above keep theirs
            self.hosts.append(match[3])
        elif HEADER.search(line.text):
            self.columns, self.fresh, self.width = _columns(line.text), True, 0
        elif match := OUT_OF_BOUNDS.search(line.text):
            self.tables[-1:] = [table._replace(checked=match[1] == "OK") for table in self.tables[-1:]]
        else:
            self._take_head(line.text)

    def _take_head(self, text: str) -> None:
        if match := VERSION.search(text):
            self.version = match[1]
        if match := ITERATIONS.search(text):
            self.iterations = int(match[1][:9]) or None
        program = PROGRAM.search(text)
        if BEGIN.search(text) or program and CONCLUDED not in text:
            self.fresh = True
            self.program = program[1] if program else self.program

    def _take_row(self, line: LogLine) -> None:
        if not ROW.match(line.text) and line.ended and len(line.text.split()) > 1:
            return  # words of somebody else that begin with a number
        row = None if is_cut(line, self.width) else parse_row(line, self.columns.half)
        if row is None:
            dropped(self.file, line, f"{shown(line.text)} is no whole row")
            return
        if self.fresh or not self.tables:
            above = self.program, self.version, self.hosts, self.iterations, self.columns
            self.tables.append(NcclTable(*above, [], None))
            self.fresh = False
        self.tables[-1].rows.append(row)
        self.width = len(line.text)


def _columns(header: str) -> NcclColumns:
    """What the header of a table says."""
    names = header.lstrip("# ").split()
    times = [place for place, name in enumerate(names) if name in ("time", "cputime")]
    half = times[1] - times[0] if len(times) > 1 else HALF
    return NcclColumns(half, "#wrong" in names, "cputime" in names)


def parse_row(line: LogLine, half: int) -> NcclRow | None:
    """The fields of a row; None where it is none, or not whole. `half`: columns of a half, see HALF.

    redop may be blank and root absent, so what stands behind the type is told by its kind and number.
    """
    words = STAMP.sub("", line.text).split()
    if len(words) < 3 + HALF or not (is_whole(words[0]) and is_whole(words[1])):
        return None
    rest = words[3:]
    op = "" if is_number(rest[0]) or rest[0] == "N/A" else rest.pop(0)
    values = []
    for word in rest:
        if not is_number(word) and word != "N/A":
            break
        values.append(word)
    if len(values) % 2 and re.fullmatch(r"-?[0-9]+", values[0]):
        values = values[1:]  # the root
    if half == HALF and len(values) >= 2 * HALF_PER_ITERATION:
        half = HALF_PER_ITERATION
    if len(values) < half or len(values) < 2 * half and len(words) - 3 > len(values) + 2:
        return None
    halves = [Half(*values[start : start + HALF]) for start in (0, half) if len(values) >= start + HALF]
    return NcclRow(line, words[0], words[1], words[2], op, tuple(halves))


def ranks_of_factors(rates: Rates) -> int | None:
    """The number of ranks whose 2(p-1)/p is that of every row; None where none or several are."""
    low, high = _factor_bounds(rates)
    if not 0 < low <= high < 2:
        return None
    least, most = ceil(2 / (2 - low) - 1e-9), floor(2 / (2 - high) + 1e-9)
    return least if least == most and 1 < least <= MAX_RANKS else None


def factor_fits(rates: Rates, ranks: int | None) -> bool:
    """Whether rows may be those of an all-reduce of so many ranks, of any number for None: yes if they do not say."""
    low, high = _factor_bounds(list(rates))
    if low > high or high == inf:
        return True  # rates that contradict each other, or are too small: they say nothing
    if ranks is None:
        return high >= 1 and low < 2
    return low <= 2 * (ranks - 1) / ranks <= high


def _factor_bounds(rates: Rates) -> tuple[float, float]:
    """Between what busbw / algbw lies, by the digits of every row; (0, inf) where they say nothing."""
    low, high = 0.0, inf
    for printed in rates:
        if all(is_number(text) for text in printed):
            algbw, busbw = map(float, printed)
            half = [0.5 * 10.0 ** -len(text.partition(".")[2].partition("e")[0]) for text in printed]
            if algbw > half[0]:
                low = max(low, (busbw - half[1]) / (algbw + half[0]))
                high = min(high, (busbw + half[1]) / (algbw - half[0]))
    return low, high
