"""nccl-tests: the table of all_reduce_perf, old and current, with and without a header.

time_s is the time of one half, out of place or in place: that of a loop divided by its length, mean over ranks unless
-a said otherwise. A size that comes again (0 bytes, the cycles of -N) belongs to the same launch.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from .imported import Imported, LogError
from .lines import Line, dropped, is_cut
from .rates import factor_fits, ranks_of_factors
from .values import US, dtype_of, is_number, is_whole, listed, op_of, seconds, shown, timed, whole, wrong_elements

TOOL = "nccl-tests"
PROGRAM = re.compile(r"\b(all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoallv?|sendrecv|gather|scatter|hypercube)_perf\b")
CONCLUDED = "Collective test concluded"
BEGIN = re.compile(r"#\s*(nThread\b|Collective test starting)")
VERSION = re.compile(r"#\s*nccl-tests version (\S+)")
RANK = re.compile(r"#\s+Rank\s+([0-9]+)\s+(?:Group\s+([0-9]+)\s+)?Pid\s+[0-9]+\s+on\s+(\S+)\s+device")
ITERATIONS = re.compile(r"\biters: ([0-9]+)(?! agg)")
HEADER = re.compile(r"#\s*size\s+count\b.*\bbusbw\b")
ROW = re.compile(r"\s*[0-9]+\s+[0-9]+\s+[A-Za-z]\w*\s+\S")
STAMP = re.compile(r"\s+[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$")
OUT_OF_BOUNDS = re.compile(r"#\s*Out of bounds values\s*:\s*(?:[0-9]+\s+)?(OK|FAILED)")
COUNT = r"[0-9]+(?:\.[0-9]+)?(?:e\+[0-9]+)?"  # of wrong elements; a largest error, 2e-07, is none
HALF, HALF_PER_ITERATION = 4, 8  # columns from one time to the next: time algbw busbw #wrong, and those of -I


class Half(NamedTuple):
    """One half of a row, as printed."""

    time: str
    algbw: str
    busbw: str
    wrong: str


class Row(NamedTuple):
    """One row of a table, as printed."""

    line: Line
    nbytes: str
    count: str
    dtype: str
    op: str
    halves: tuple[Half, ...]  # out of place, in place


class Table(NamedTuple):
    """One table and what stands above it."""

    program: str
    version: str | None
    hosts: list[str]  # of each rank; empty: not said
    iterations: int | None
    columns: tuple[int, bool, bool]  # of a half; whether errors are counted (#wrong), and the CPU is timed
    rows: list[Row]
    checked: bool | None  # whether the line below the table says that nothing was out of bounds


def is_nccl(text: str) -> bool:
    """Whether this is a log of nccl-tests."""
    return "_perf" in text and BEGIN.search(text) is not None or HEADER.search(text) is not None or bool(_rows_of(text))


def _rows_of(text: str) -> list[str]:
    """Lines without any header that can only be rows."""
    return [line for line in text.splitlines() if ROW.match(line) and parsed(Line(1, line, True), HALF) is not None]


def read_nccl(file: str, lines: Sequence[Line], in_place: bool) -> list[Imported]:
    """The rows of the all-reduce tables of a log, one half of each. Raises LogError."""
    rows, others = [], []
    for count, table in enumerate(_tables(file, lines), start=1):
        ranks = _ranks(file, table)
        if _is_allreduce(table, ranks):
            common = {"file": file, "launch": f"{file}, table {count}", **_common(table, ranks)}
            halves = [half_of(file, row, table.columns, in_place) for row in table.rows]
            rows += [Imported(**common, **fields, **_checked(table, fields)) for fields in halves if fields]
        else:
            others.append(table.program or "one whose bus bandwidth is not that of an all-reduce")
    if rows and not any(row.times_s for row in rows):
        which, other = ("in-place", "leave --in-place out") if in_place else ("out-of-place", "try --in-place")
        raise LogError(f"{rows[0].place}: no {which} time in any row; {other}")
    if not rows:
        what = f"found: {listed(dict.fromkeys(others))}" if others else "no row is whole"
        raise LogError(f"{file}, line {lines[-1].number}: no row of all_reduce_perf up to here; {what}")
    return rows


def _tables(file: str, lines: Sequence[Line]) -> list[Table]:
    """All tables, of whatever collective."""
    tables: list[Table] = []
    program, version, hosts, iterations, fresh = "", None, list[str](), None, True
    columns, width = (HALF, True, False), 0
    for line in lines:
        text = line.text
        if match := RANK.search(text):
            if match[1] == "0" and (match[2] or "0") == "0":
                hosts = []
            hosts = [*hosts, match[3]]
        elif match := VERSION.search(text):
            version = match[1]
        elif BEGIN.search(text):
            fresh = True
            iterations = int(match[1]) if (match := ITERATIONS.search(text)) else iterations
            program = match[1] if (match := PROGRAM.search(text)) else program
        elif HEADER.search(text):
            columns, fresh, width = _columns(text), True, 0
        elif match := OUT_OF_BOUNDS.search(text):
            if tables:
                tables[-1] = tables[-1]._replace(checked=match[1] == "OK")
        elif match := PROGRAM.search(text):
            if CONCLUDED not in text:
                program, fresh = match[1], True
        elif is_whole((text.split() or [""])[0]) and (ROW.match(text) or not line.ended or text.split()[1:2] == []):
            row = None if is_cut(line, width) else parsed(line, columns[0])
            if row is None:
                dropped(file, line, f"{shown(text)} is no whole row")
                continue
            if fresh or not tables:
                tables.append(Table(program, version, hosts, iterations, columns, [], None))
                fresh = False
            tables[-1].rows.append(row)
            width = len(text)
    return tables


def _columns(header: str) -> tuple[int, bool, bool]:
    names = header.lstrip("# ").split()
    times = [place for place, name in enumerate(names) if name in ("time", "cputime")]
    half = times[1] - times[0] if len(times) > 1 else HALF
    return half, "#wrong" in names, "cputime" in names


def parsed(line: Line, half: int) -> Row | None:
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
    return Row(line, words[0], words[1], words[2], op, tuple(halves))


def _ranks(file: str, table: Table) -> int | None:
    """The number of ranks: of the lines that name them, else of busbw / algbw = 2(p-1)/p. Raises LogError."""
    rates = [(half.algbw, half.busbw) for row in table.rows for half in row.halves]
    if table.hosts:
        ranks = len(table.hosts)
        if table.program == "all_reduce" and not factor_fits(rates, ranks):
            place = f"{file}, line {table.rows[0].line.number}"
            raise LogError(
                f"{place}: {ranks} ranks are named above, but busbw / algbw is not 2(p-1)/p of {ranks}: "
                "groups at the same time (NCCL_TESTS_SPLIT), or a damaged log"
            )
        return ranks
    return ranks_of_factors(rates)


def _is_allreduce(table: Table, ranks: int | None) -> bool:
    """By the name of the program; without one by the operation, and by the bus bandwidth."""
    if table.program:
        return table.program == "all_reduce"
    if {row.op.lower() for row in table.rows} <= {"none"}:
        return False
    rates = [(half.algbw, half.busbw) for row in table.rows for half in row.halves]
    return factor_fits(rates, ranks)


def _checked(table: Table, fields: dict[str, Any]) -> dict[str, Any]:
    """An old table has a largest error instead of wrong elements, and below it whether that is too much anywhere."""
    counted, checked = table.columns[1], any(half.wrong != "N/A" for row in table.rows for half in row.halves)
    return {"wrong": 0} if table.checked and checked and not counted else {}


def _common(table: Table, ranks: int | None) -> dict[str, Any]:
    facts = {"hosts": table.hosts} if table.hosts else {}
    return {
        "tool": TOOL,
        "version": table.version,
        "ranks": ranks,
        "nodes": len(set(table.hosts)) or None,
        "iterations": table.iterations,
        "facts": facts,
    }


def half_of(file: str, row: Row, columns: tuple[int, bool, bool], in_place: bool) -> dict[str, Any] | None:
    """The fields of Imported of one half of a row; None where the row has no such half. Raises LogError."""
    if len(row.halves) <= in_place:
        return None
    half, place = row.halves[in_place], f"{file}, line {row.line.number}"
    _, counted, cpu = columns
    fields: dict[str, Any] = {
        "line": row.line.number,
        "nbytes": whole(row.nbytes, "the size", place),
        "count": whole(row.count, "the count", place),
        "dtype": dtype_of(row.dtype),
        "op": op_of(row.op),
        "in_place": in_place,
        "time_definition": "nccl_tests_cputime" if cpu else "nccl_tests",
    }
    if half.time == "N/A":
        return fields | {"state": "skipped", "reason": "the log says N/A"}
    time_s = seconds(half.time, US, "the time", place)
    fields |= timed(time_s, f"{half.time} us") | {"nccl_tests_s": time_s if time_s and not cpu else None}
    if half.wrong != "N/A" and counted and re.fullmatch(COUNT, half.wrong):
        fields |= wrong_elements(half.wrong, place)
    return fields
