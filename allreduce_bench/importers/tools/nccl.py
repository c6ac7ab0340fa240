"""nccl-tests: the importer of all_reduce_perf, and the tables of any collective as printed, old and current.

Tables are read with and without a header, as text and as CSV. The number of ranks follows from algbw and busbw: of an
all-reduce busbw / algbw is 2(p-1)/p.
"""

import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil, floor, inf
from typing import Any, NamedTuple

from ...units import MAX_RANKS, counted
from ..lines import (
    ITEMSIZES,
    US,
    Log,
    LogLine,
    Place,
    dtype_of,
    is_cut,
    is_number,
    is_whole,
    launched_by,
    listed,
    note_missing_end,
    op_of,
    shown,
    time_fields,
    warn_of_row,
)
from ..nccl_log import choices_in, foreign_begin
from ..row import Asked, Imported, LogError, LogNote, LogWarning
from . import Importer

TOOL = "nccl-tests"


# lines
PROGRAM = re.compile(
    r"\b(all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoallv?|sendrecv|gather|scatter|hypercube)_perf\b"
)
END = "Avg bus bandwidth"
CONCLUDED = "Collective test concluded"
BEGIN = re.compile(r"(?m)(?:#|^)\s*(nThread\b|Collective test starting)")
OF_PROCESS = re.compile(r"\bnThread ([0-9]{1,6}) nGpus ([0-9]{1,6})\b")  # ranks in each process
VERSION = re.compile(r"(?:#|^)\s*nccl-tests version (\S+)")
RANK = re.compile(r"(?:#|^)\s*Rank\s+([0-9]+)\s+(?:Group\s+([0-9]+)\s+)?Pid\s+[0-9]+\s+on\s+(\S+)\s+device")
ITERATIONS = re.compile(r"\bwarmup iters: [0-9]+ iters: ([0-9]+)")
_NAME = r"\"?{}\"?(?:[ \t]*\([^()\n]*\))?[ \t,;]+"
HEADER = re.compile(  # with or without #, with units in the names, or of a CSV
    rf"(?:#|^)[ \t]*{_NAME.format('size')}{_NAME.format('count')}\"?type\b[^\n]*\btime\b[^\n]*\balgbw\b[^\n]*\bbusbw\b",
    re.MULTILINE,
)
WITHOUT_TIME = re.compile(  # of another tool, as NVSHMEM's with a latency, or of -C, with the time of the CPU
    rf"^#?[ \t]*{_NAME.format('size')}{_NAME.format('count')}\"?type\b(?![^\n]*\btime\b)[^\n]*\balgbw\b", re.MULTILINE
)
NAME_AND_UNIT = re.compile(r"([#\w]+)(?:\s*\(([^()]*)\))?")
UNITS = re.compile(r"#?(?:\s*\([^()]*\))+\s*")  # the line below a header
SIZES = ("b", "bytes", "elements", "elems")  # units of no time
SEPARATORS = ",;"
BROKEN = re.compile(  # the beginning of a row, without a half or with one
    r"\s*[0-9]+\s+[0-9]+\s+[A-Za-z]\w*(?:\s+[a-z]+)?(?:\s+-?[0-9]+)?(?:\s+[0-9.]+){0,3}(?:\s+(?:[0-9][0-9.e+-]*|N/A))?\s*"
)
VALUES = re.compile(r"(?:\s*(?:[0-9][0-9.e+-]*|N/A)(?=\s|$)){4,8}\s*")
ROW = re.compile(r"\s*[0-9]+\s+[0-9]+\s+[A-Za-z]\w*\s+\S")
STAMP = re.compile(r"\s+[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$")
OUT_OF_BOUNDS = re.compile(r"(?:#|^)\s*Out of bounds values\s*:\s*(?:[0-9]+\s+)?(OK|FAILED)")
# columns from one time to the next: time algbw busbw #wrong; with -I more; without #wrong
HALF, HALF_PER_ITERATION, HALF_UNCHECKED = 4, 8, 3
P99 = 6  # place of i_p99 in a half of -I: i_min, i_max, i_p99, i_cv%

Rates = Iterable[tuple[str, str]]  # algbw and busbw as printed


class NcclColumns(NamedTuple):
    """The columns of a table, from its header."""

    half: int  # number of columns of a half
    counted: bool  # wrong elements are counted, #wrong; older versions print the largest error
    unit_s: float = US
    separator: str = ""  # of CSV
    only_root: bool = False  # a column root, and none redop


PLAIN = NcclColumns(HALF, True)


class Half(NamedTuple):
    """One half of a row, as printed."""

    time: str
    algbw: str
    busbw: str
    wrong: str
    p99: str = ""  # of -I


class NcclRow(NamedTuple):
    """One row of a table, as printed."""

    line: LogLine
    size_bytes: str
    elements: str
    dtype: str
    op: str
    root: str  # empty: none is printed
    halves: tuple[Half, ...]  # out of place, in place


class NcclTable(NamedTuple):
    """One table and the head above it."""

    program: str
    version: str | None
    hosts: list[str]  # of each rank; empty: unknown
    launched: int | None  # ranks by the launcher's line above
    iterations: int | None
    columns: NcclColumns
    rows: list[NcclRow]
    checked: bool | None  # the line below the table says that nothing was out of bounds

    @property
    def place(self) -> Place:
        """Return where its first row stands."""
        return self.rows[0].line.place

    @property
    def rates(self) -> list[tuple[str, str]]:
        """Return algbw and busbw as printed, of all halves."""
        return [(half.algbw, half.busbw) for row in self.rows for half in row.halves]


def begins_table(text: str) -> bool:
    """Return whether a text has the beginning or the header of a table."""
    return "_perf" in text and BEGIN.search(text) is not None or HEADER.search(text) is not None


def has_bare_row(text: str) -> bool:
    """Return whether some line can only be a row, without any header."""
    rows = (line for line in text.splitlines() if ROW.match(line))
    return not WITHOUT_TIME.search(text) and any(parse_row(LogLine(1, line, True), HALF) for line in rows)


def join_rows(log: Log) -> Sequence[LogLine]:
    """Return lines in which rows that NCCL's own lines broke are whole: cut where these begin, joined where halves fit.

    A half that does not fit is named, and left out. nccl-tests writes a row in parts: what it measures, and each half.
    """
    begin = foreign_begin(log.text)
    joined: list[LogLine] = []
    half_alone: set[int] = set()  # places of rows of one half that began without any: which half is it?
    for line in log.lines:
        at = begin.search(line.text) if begin else None
        own = line._replace(text=line.text[: at.start()]) if at else line
        if joined and VALUES.fullmatch(own.text) and BROKEN.fullmatch(joined[-1].text):
            whole_row = joined[-1]._replace(text=f"{joined[-1].text} {own.text}")
            if _fits_itself(whole_row):
                place, whole_parsed = len(joined) - 1, parse_row(whole_row, HALF)
                if whole_parsed and len(whole_parsed.halves) > 1:
                    half_alone.discard(place)
                elif parse_row(joined[-1], HALF) is None:
                    half_alone.add(place)
                joined[-1] = whole_row
                continue
            warn_of_row(
                log.file, own, f"{shown(own.text)} does not fit the row above: algbw is not size / time, or busbw"
            )
        if own.text.strip() or not at:
            joined.append(own)
    for place in half_alone:
        warn_of_row(log.file, joined[place], f"{shown(joined[place].text)} has one half, and it is open which")
    return [line for place, line in enumerate(joined) if place not in half_alone]


def _fits_itself(line: LogLine) -> bool:
    """Return whether the halves of a row, one or both, have algbw = size / time and a busbw of an all-reduce."""
    row = parse_row(line, HALF)
    if row is None or not row.size_bytes.isdecimal():
        return False
    for half in row.halves:
        if not all(map(is_number, half[:3])) or float(half.time) <= 0:
            return False
        rate = int(row.size_bytes) / float(half.time) / 1e3  # GB/s
        digits = len(half.time.partition(".")[2])
        if abs(float(half.algbw) - rate) > 0.0051 + rate * 0.5 * 10.0**-digits / float(half.time):
            return False
    return factor_fits([(half.algbw, half.busbw) for half in row.halves], None)


def read_tables(lines: Sequence[LogLine]) -> list[NcclTable]:
    """Return the tables of a log in order; truncated rows are dropped with a warning."""
    reader = _Reader()
    for line in lines:
        reader.take(line)
    return reader.tables


class _Reader:
    """The tables read so far, line by line."""

    def __init__(self) -> None:
        self.tables = list[NcclTable]()
        self.program = ""
        self.version: str | None = None
        self.hosts: list[str] = []
        self.listed = False  # the ranks, since the last beginning
        self.iterations: int | None = None
        self.processes: int | None = None  # that the launcher's line names
        self.starts: set[int | None] = set()  # of all such lines
        self.of_process: int | None = None  # ranks of each
        self.columns: NcclColumns | None = PLAIN  # None: of a table of another tool
        self.fresh, self.width = True, 0  # the next row begins a table; length of the previous row

    def take(self, line: LogLine) -> None:
        """Read one line. Raises LogError: a header has an unknown unit, or each process ran alone."""
        if self.columns and self.columns.separator and not HEADER.search(line.text):
            line = line._replace(text=line.text.replace(self.columns.separator, " "))
        if (line.text.split() or [""])[0].isdigit():
            self._take_row(line)
        elif match := RANK.search(line.text):
            first = match[1] == "0" and match[2] in (None, "0")
            if first and self.listed:
                raise LogError(
                    f"{line.place}: a second rank 0: each process ran alone, as nccl-tests do that "
                    "are built without MPI=1; build them with it"
                )
            self.listed = True
            self.hosts = [] if first else self.hosts  # a new list: tables above keep theirs
            self.hosts.append(match[3])
        elif HEADER.search(line.text):
            self.columns, self.fresh, self.width = _columns(line), True, 0
        elif WITHOUT_TIME.search(line.text):
            warn_of_row(line.file, line, "a table without a column time, of another tool or of -C")
            self.columns = None
        elif self.columns and self.fresh and UNITS.fullmatch(line.text):
            units = (unit for unit in re.findall(r"\(([^()]*)\)", line.text) if unit.strip().lower() not in SIZES)
            self.columns = self.columns._replace(unit_s=_unit_s(next(units, ""), line.place))
        elif match := OUT_OF_BOUNDS.search(line.text):
            self.tables[-1:] = [table._replace(checked=match[1] == "OK") for table in self.tables[-1:]]
        else:
            self._take_head(line.text)

    def _take_head(self, text: str) -> None:
        if launched := launched_by(text):
            self.processes = launched.processes
            self.starts.add(launched.processes)
        if match := VERSION.search(text):
            self.version = match[1]
        if match := ITERATIONS.search(text):
            self.iterations = int(match[1][:9]) or None
        if match := OF_PROCESS.search(text):
            self.of_process = int(match[1]) * int(match[2])
        program = PROGRAM.search(text)
        if BEGIN.search(text) or program and CONCLUDED not in text:
            self.fresh, self.listed, self.columns = True, False, self.columns or PLAIN
            self.program = program[1] if program else self.program

    def _take_row(self, line: LogLine) -> None:
        if not ROW.match(line.text) and line.ended and len(line.text.split()) > 1:
            return  # foreign output that begins with a number
        if self.columns is None:
            return
        row = None if is_cut(line, self.width) else parse_row(line, self.columns.half)
        if row is None:
            warn_of_row(line.file, line, f"{shown(line.text)} is no whole row")
            return
        if self.fresh or not self.tables:
            launched = self.processes * self.of_process if self.processes and self.of_process else None
            if launched and self.hosts and launched != len(self.hosts) and len(self.starts) == 1:
                alone = ": each process ran alone, built without MPI=1?" if len(self.hosts) == 1 else ""
                raise LogError(
                    f"{line.place}: {counted(len(self.hosts), 'rank')} listed above, but the "
                    f"launcher's line starts {launched}{alone}; expected the output of one launch"
                )
            above = self.program, self.version, self.hosts, launched, self.iterations, self.columns
            self.tables.append(NcclTable(*above, [], None))
            self.fresh = False
        self.tables[-1].rows.append(row)
        self.width = len(line.text)


def _columns(header: LogLine) -> NcclColumns:
    """Return the columns of a table from its header. Raises LogError for an unknown unit of time."""
    separator = next((letter for letter in SEPARATORS if letter in header.text), "")
    named = NAME_AND_UNIT.findall(header.text.replace(separator or " ", " ").replace('"', " ").lstrip("# "))
    names = [name.lower() for name, _ in named]
    times = [column for column, name in enumerate(names) if name == "time"]
    alone = HALF_UNCHECKED if names[-1] == "busbw" else HALF
    half = times[1] - times[0] if len(times) > 1 else alone
    counted = "#wrong" in names or "wrong" in names
    only_root = "root" in names and "redop" not in names
    return NcclColumns(half, counted, _unit_s(named[times[0]][1], header.place), separator, only_root)


def _unit_s(unit: str, place: Place) -> float:
    """Return the seconds of the unit of times; of none those that nccl-tests has. Raises LogError."""
    return place.unit_s(unit) if unit else US


def parse_row(line: LogLine, half: int) -> NcclRow | None:
    """Parse the fields of a row; None if it is none, or truncated. `half`: columns of a half, see HALF.

    redop may be blank and root absent, so fields after the type are recognised by their kind and number.
    """
    words = STAMP.sub("", line.text).split()
    if len(words) < 3 + min(half, HALF) or not (is_whole(words[0]) and is_whole(words[1])):
        return None
    rest = words[3:]
    op = "" if is_number(rest[0]) or rest[0] == "N/A" else rest.pop(0)
    root, values = "", []
    for word in rest:
        if not is_number(word) and word != "N/A":
            break
        values.append(word)
    is_odd = len(values) % 3 == 1 if half == HALF_UNCHECKED else len(values) % 2 == 1
    if values and re.fullmatch(r"-[0-9]+" if not is_odd else r"-?[0-9]+", values[0]):
        root, values = values[0], values[1:]
    if half == HALF and len(values) >= 2 * HALF_PER_ITERATION:
        half = HALF_PER_ITERATION
    if len(values) < half or len(values) < 2 * half and len(words) - 3 > len(values) + 2:
        return None
    shown_columns = min(half, HALF)
    halves = [
        Half(
            *(*values[start : start + shown_columns], "N/A")[:HALF],  # type: ignore[call-arg]
            values[start + P99] if half == HALF_PER_ITERATION and len(values) > start + P99 else "",
        )
        for start in (0, half)
        if len(values) >= start + shown_columns
    ]
    return NcclRow(line, words[0], words[1], words[2], op, root, tuple(halves))


def ranks_of_factors(rates: Rates) -> int | None:
    """Return the number of ranks whose 2(p-1)/p fits every row; None if none or several do."""
    low, high = _factor_bounds(rates)
    if not 0 < low <= high < 2:
        return None
    least, most = ceil(2 / (2 - low) - 1e-9), floor(2 / (2 - high) + 1e-9)
    return least if least == most and 1 < least <= MAX_RANKS else None


def factor_fits(rates: Rates, ranks: int | None) -> bool:
    """Return whether rows may be of an all-reduce of so many ranks (None: any); True if unclear."""
    low, high = _factor_bounds(list(rates))
    if low > high or high == inf:
        return True  # contradictory or too small rates are uninformative
    if ranks is None:
        return high >= 1 and low < 2
    return low <= 2 * (ranks - 1) / ranks <= high


def refuse_other_factor(rates: Rates, ranks: int, place: Place) -> None:
    """Raise LogError for rows that cannot be of an all-reduce of so many ranks."""
    if not factor_fits(rates, ranks):
        raise LogError(f"{place}: {ranks} ranks, but busbw / algbw is not 2(p-1)/p of {ranks}; is the log damaged?")


def _factor_bounds(rates: Rates) -> tuple[float, float]:
    """Return bounds of busbw / algbw from the digits of every row; (0, inf) if they are uninformative."""
    low, high = 0.0, inf
    for printed in rates:
        if all(is_number(text) for text in printed):
            algbw, busbw = map(float, printed)
            half = [0.5 * 10.0 ** -len(text.partition(".")[2].partition("e")[0]) for text in printed]
            if algbw > half[0]:
                low = max(low, (busbw - half[1]) / (algbw + half[0]))
                high = min(high, (busbw + half[1]) / (algbw - half[0]))
    return low, high


# The importer of all_reduce_perf, old and current, with and without a header.
#
# time_s is the time of one half, out of place or in place: a loop divided by its length, mean over ranks unless -a says
# otherwise. A size that repeats (0 bytes, the cycles of -N) belongs to the same launch.


COUNT = r"[0-9]+(?:\.[0-9]+)?(?:e\+[0-9]+)?"  # of wrong elements; a largest error, 2e-07, is none


def recognises(text: str) -> bool:
    """Return whether this is a log of nccl-tests."""
    return begins_table(text) or has_bare_row(text)


def read(log: Log, asked: Asked) -> list[Imported]:
    """Return the rows of the all-reduce tables of a log, one half of each. Raises LogError."""
    file, rows = log.file, list[Imported]()
    lines = join_rows(log)
    tables = read_tables(lines)
    others = _other_collectives(tables)
    for number, (table, other) in enumerate(zip(tables, others), start=1):
        if not other:
            rows += _rows_of_table(file, number, table, _ranks(table), asked.in_place)
        elif not table.program:
            refusal = LogError(f"{table.place}: not an all-reduce: {other}; expected a table of all_reduce_perf")
            if all(others):
                raise refusal
            warnings.warn(f"{refusal}; left out", LogWarning, stacklevel=2)
    if any(row.ranks == 1 for row in rows):
        words = f"{file}: tables of 1 rank: did each process run alone, built without MPI=1?"
        warnings.warn(LogNote(words), stacklevel=2)
    rows = _add_choices(log, rows)
    if rows and not any(row.times_s for row in rows):
        which, other = ("in-place", "leave --in-place out") if asked.in_place else ("out-of-place", "try --in-place")
        raise LogError(f"{rows[0].place}: no {which} time in any row; {other}")
    if not rows:
        what = f"found: {listed(dict.fromkeys(others))}" if any(others) else "no row is whole"
        raise LogError(f"{lines[-1].place}: no row of all_reduce_perf up to here; {what}")
    if BEGIN.search(log.text):
        note_missing_end(log, tables[-1].rows[-1].line.number, END)
    return rows


IMPORTER = Importer(
    name="nccl-tests",
    title="nccl-tests",
    turn=40,
    recognises=recognises,
    read=read,
    definitions={
        "nccl_tests": "a loop of calls without a common start, divided by its length; mean over ranks unless -a was"
        " given",
    },
    allreduce=r'all_reduce|(?m:^"?size"?[^\n,;]*[,;]"?count"?[^\n,;]*[,;]"?type\b)',  # a CSV names no program
    has_halves=True,
)


def _add_choices(log: Log, rows: list[Imported]) -> list[Imported]:
    """Return rows with the algorithm and protocol that NCCL chose at their sizes, where its lines stand in the log."""
    found = choices_in(log.path, log.text)
    if found is None:
        return rows
    ran: dict[int, list[str]] = defaultdict(list)
    for choice in found.choices:
        ran[choice.size_bytes] += [f"{choice.algorithm} {choice.protocol}"] if choice.named else []
    return [replace(row, ran=tuple(dict.fromkeys(ran[row.size_bytes]))) for row in rows]


def _rows_of_table(file: str, number: int, table: NcclTable, ranks: int | None, in_place: bool) -> list[Imported]:
    """Return one half of the rows of a table; warn if the log reports a wrong result without naming it."""
    if table.checked is False and not table.columns.counted:
        what = "results out of bounds, and the log does not say at which size"
        warnings.warn(f"{table.place}: {what}", LogWarning, stacklevel=2)
    common = {"file": file, "launch": f"{file}, table {number}", **_common(table, ranks)}
    halves = [_half_of(row, table.columns, in_place) for row in table.rows]
    return [Imported(**common, **fields, **_checked(table)) for fields in halves if fields]


def _ranks(table: NcclTable) -> int | None:
    """Return the number of ranks: of the lines that name them, else of busbw / algbw = 2(p-1)/p. Raises LogError."""
    rates = table.rates
    if table.hosts:
        ranks = len(table.hosts)
        if table.program == "all_reduce" and not factor_fits(rates, ranks):
            raise LogError(
                f"{table.place}: {ranks} ranks are named above, but busbw / algbw is not 2(p-1)/p of {ranks}: groups "
                "at the same time (NCCL_TESTS_SPLIT), or a damaged log"
            )
        return ranks
    return ranks_of_factors(rates) or (table.launched if factor_fits(rates, table.launched) else None)


def _other_collectives(tables: Sequence[NcclTable]) -> list[str]:
    """Return for each table which other collective it is of, as `_other_collective` does; empty: of all-reduces.

    Tables without a program are judged together: where one is of another collective, so are those whose rates do not
    prove an all-reduce.
    """
    others = [_other_collective(table) for table in tables]
    unnamed = next((other for table, other in zip(tables, others) if other and not table.program), "")
    return [
        other or ("" if table.program or _proves_allreduce(table) else unnamed) for table, other in zip(tables, others)
    ]


def _other_collective(table: NcclTable) -> str:
    """Return the program of another collective, without one what tells the table from an all-reduce's; else empty."""
    if table.program:
        return "" if table.program == "all_reduce" else table.program
    if why := why_rows_are_others(table.rows):
        return why
    if table.columns.only_root:
        return "a column root, and none redop"
    return "" if factor_fits(table.rates, _ranks(table)) else "busbw / algbw is not 2(p-1)/p"


def why_rows_are_others(rows: Sequence[NcclRow]) -> str:
    """Return what tells rows from an all-reduce's by root, operation and count, in each row: one may be damaged."""
    if rows and all(row.root and not row.root.startswith("-") for row in rows):
        return f"root {rows[0].root}"
    if {row.op.lower() for row in rows} == {"none"}:
        return "redop none"
    sized = [
        (int(row.size_bytes), int(row.elements) * ITEMSIZES[dtype])
        for row in rows
        if (dtype := dtype_of(row.dtype) or "") in ITEMSIZES
        and all(is_whole(text) and len(text) < 20 for text in row[1:3])
        and int(row.size_bytes)
    ]
    if sized and all(size_bytes != counted for size_bytes, counted in sized):
        size_bytes, counted = sized[-1]
        return f"count times element size is {counted}, and the size {size_bytes}"
    return ""


def _proves_allreduce(table: NcclTable) -> bool:
    """Return whether busbw / algbw is above 1, as of no other collective."""
    low, high = _factor_bounds(table.rates)
    return 1 < low <= high


def _checked(table: NcclTable) -> dict[str, Any]:
    """Return the check of an old table: a largest error, and below it whether that is too large anywhere."""
    checked = any(half.wrong != "N/A" for row in table.rows for half in row.halves)
    return {"wrong": 0} if table.checked and checked and not table.columns.counted else {}


def _common(table: NcclTable, ranks: int | None) -> dict[str, Any]:
    facts: dict[str, Any] = {"hosts": table.hosts} if table.hosts else {}
    if ranks and not table.hosts:
        facts["ranks_from"] = "busbw / algbw of the rows, which is 2(p-1)/p"
    return {
        "tool": TOOL,
        "version": table.version,
        "ranks": ranks,
        "nodes": len(set(table.hosts)) or None,
        "iterations": table.iterations,
        "facts": facts,
    }


def _half_of(row: NcclRow, columns: NcclColumns, in_place: bool) -> dict[str, Any] | None:
    """Return the fields of Imported for one half of a row; None if the row lacks it. Raises LogError."""
    if len(row.halves) <= in_place:
        return None
    half, place = row.halves[in_place], row.line.place
    printed = {"size": row.size_bytes, "count": row.elements, "type": row.dtype, "redop": row.op}
    printed["time"] = half.time
    if columns.counted and re.fullmatch(COUNT, half.wrong):
        printed["wrong"] = half.wrong
    fields = fields_of_half(place, printed, in_place, columns.unit_s)
    if is_number(half.p99):
        fields["quantiles_s"] = {99: place.seconds(half.p99, columns.unit_s, "i_p99")}
    return {"line": row.line.number, **fields}


def fields_of_half(
    place: Place, printed: Mapping[str, str], in_place: bool | None, unit_s: float = US
) -> dict[str, Any]:
    """Return the fields of Imported for one half of a row.

    `printed`: size, count, type, redop, wrong, and time in units of `unit_s`. Raises LogError.
    """
    fields: dict[str, Any] = {
        "size_bytes": place.whole(printed["size"], "the size"),
        "count": place.whole(printed["count"], "the count") if "count" in printed else None,
        "dtype": dtype_of(printed.get("type", "")),
        "op": op_of(printed.get("redop", "")),
        "in_place": in_place,
        "time_definition": "nccl_tests",
    }
    text = printed.get("time", "N/A")
    if text == "N/A":
        return fields | {"state": "skipped", "reason": "the log says N/A"}
    time_s = place.seconds(text, unit_s)
    fields |= time_fields(time_s, f"{text} us") | {"nccl_tests_s": time_s or None}
    return fields | (place.wrong(printed["wrong"]) if "wrong" in printed else {})
