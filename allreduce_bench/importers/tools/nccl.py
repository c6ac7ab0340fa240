"""nccl-tests: the table of all_reduce_perf, old and current, with and without a header.

time_s is the time of one half, out of place or in place: that of a loop divided by its length, mean over ranks unless
-a said otherwise. A size that comes again (0 bytes, the cycles of -N) belongs to the same launch.
"""

import re
import warnings
from typing import Any

from ..importer import Importer
from ..lines import US, Log, dtype_of, listed, op_of, seconds, timed, whole, wrong_elements
from ..nccl_table import (
    TOOL,
    NcclColumns,
    NcclRow,
    NcclTable,
    begins_table,
    factor_fits,
    has_bare_row,
    ranks_of_factors,
    read_tables,
)
from ..row import Asked, Imported, LogError, LogWarning

COUNT = r"[0-9]+(?:\.[0-9]+)?(?:e\+[0-9]+)?"  # of wrong elements; a largest error, 2e-07, is none


def recognises(text: str) -> bool:
    """Whether this is a log of nccl-tests."""
    return begins_table(text) or has_bare_row(text)


def read(log: Log, asked: Asked) -> list[Imported]:
    """The rows of the all-reduce tables of a log, one half of each. Raises LogError."""
    file, lines, rows, others = log.file, log.lines, [], []
    for number, table in enumerate(read_tables(file, lines), start=1):
        ranks = _ranks(file, table)
        if _is_allreduce(table, ranks):
            rows += _rows_of_table(file, number, table, ranks, asked.in_place)
        else:
            others.append(table.program or "one whose bus bandwidth is not that of an all-reduce")
    if rows and not any(row.times_s for row in rows):
        which, other = ("in-place", "leave --in-place out") if asked.in_place else ("out-of-place", "try --in-place")
        raise LogError(f"{rows[0].place}: no {which} time in any row; {other}")
    if not rows:
        what = f"found: {listed(dict.fromkeys(others))}" if others else "no row is whole"
        raise LogError(f"{file}, line {lines[-1].number}: no row of all_reduce_perf up to here; {what}")
    return rows


IMPORTER = Importer(
    name="nccl-tests",
    title="nccl-tests",
    turn=40,
    recognises=recognises,
    read=read,
    allreduce="all_reduce",
    has_halves=True,
)


def _rows_of_table(file: str, number: int, table: NcclTable, ranks: int | None, in_place: bool) -> list[Imported]:
    """One half of the rows of a table; warns where the log says that some result was wrong and not which."""
    if table.checked is False and not table.columns.counted:
        what = "results out of bounds, and the log does not say at which size"
        warnings.warn(f"{file}, table of line {table.rows[0].line.number}: {what}", LogWarning, stacklevel=2)
    common = {"file": file, "launch": f"{file}, table {number}", **_common(table, ranks)}
    halves = [_half_of(file, row, table.columns, in_place) for row in table.rows]
    return [Imported(**common, **fields, **_checked(table)) for fields in halves if fields]


def _ranks(file: str, table: NcclTable) -> int | None:
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


def _is_allreduce(table: NcclTable, ranks: int | None) -> bool:
    """By the name of the program; without one by the operation, and by the bus bandwidth."""
    if table.program:
        return table.program == "all_reduce"
    if {row.op.lower() for row in table.rows} <= {"none"}:
        return False
    rates = [(half.algbw, half.busbw) for row in table.rows for half in row.halves]
    return factor_fits(rates, ranks)


def _checked(table: NcclTable) -> dict[str, Any]:
    """An old table has a largest error instead of wrong elements, and below it whether that is too much anywhere."""
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


def _half_of(file: str, row: NcclRow, columns: NcclColumns, in_place: bool) -> dict[str, Any] | None:
    """The fields of Imported of one half of a row; None where the row has no such half. Raises LogError."""
    if len(row.halves) <= in_place:
        return None
    half, place = row.halves[in_place], f"{file}, line {row.line.number}"
    fields: dict[str, Any] = {
        "line": row.line.number,
        "nbytes": whole(row.nbytes, "the size", place),
        "count": whole(row.elements, "the count", place),
        "dtype": dtype_of(row.dtype),
        "op": op_of(row.op),
        "in_place": in_place,
        "time_definition": "nccl_tests_cputime" if columns.cpu else "nccl_tests",
    }
    if half.time == "N/A":
        return fields | {"state": "skipped", "reason": "the log says N/A"}
    time_s = seconds(half.time, US, "the time", place)
    fields |= timed(time_s, f"{half.time} us") | {"nccl_tests_s": time_s if time_s and not columns.cpu else None}
    if half.wrong != "N/A" and columns.counted and re.fullmatch(COUNT, half.wrong):
        fields |= wrong_elements(half.wrong, place)
    return fields
