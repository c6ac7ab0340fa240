"""OSU Micro-Benchmarks, C and Python: osu_allreduce with any of its options, several tables in a file.

time_s is the column Avg Latency, the mean over ranks of each rank's mean over its calls; the Python one has no barrier
between them. Each banner begins a table, and each table is a launch; so is a table whose sizes begin again, as where a
script repeats the program.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .flux import job_of, jobs
from .lines import LogLine, dropped, is_cut
from .row import Imported, LogError
from .values import US, dtype_of, is_number, is_whole, listed, real, seconds, shown, timed, whole

BANNER = re.compile(r"#\s*(OSU|OMB)\s+(.*?)\s*(?:Latency\s+)?Test\b\s*(?:v?([0-9][\w.]*))?")
HEADER = re.compile(r"#\s*Size\b", re.IGNORECASE)
DATATYPE = re.compile(r"#\s*Datatype:\s*(\w+)")
COLLECTIVE = re.compile(r"(?<!Persistent )(?<!Neighborhood )\bAllreduce$")
NAMES = {"OSU": "OSU Micro-Benchmarks", "OMB": "OMB-Py"}
DEFINITIONS = {"OSU Micro-Benchmarks": "osu_avg", "OMB-Py": "omb_py_avg"}
COLUMNS = {
    "Avg Latency": "avg",
    "Latency": "avg",
    "Min Latency": "min",
    "Max Latency": "max",
    "Iterations": "iterations",
}
CHECKS = ("Pass", "Fail")
FULL = ("size", "avg", "min", "max", "iterations")  # of -f: version 7.3 prints them below a header of two columns


class OsuTable(NamedTuple):
    """One table of an all-reduce."""

    number: int  # of the line in which it begins
    tool: str
    version: str | None
    dtype: str | None
    columns: tuple[str, ...]
    rows: list[LogLine]


def is_osu(text: str) -> bool:
    """Whether this is a log of the OSU Micro-Benchmarks."""
    return BANNER.search(text) is not None


def read_osu(file: str, lines: Sequence[LogLine]) -> list[Imported]:
    """The rows of the all-reduce tables of a log. Raises LogError: there are none, or a row makes no sense."""
    found, rows = jobs(lines), []
    for count, table in enumerate(_tables(file, lines), start=1):
        job = job_of(table.number, found)
        layout: dict[str, Any] = {"ranks": job.ranks, "nodes": job.nodes} if job else {}
        for row in table_rows(file, table.columns, table.rows):
            common: dict[str, Any] = {
                "file": file,
                "tool": table.tool,
                "version": table.version,
                "launch": f"{file}, table {count}",
            }
            rows.append(
                Imported(
                    **common, dtype=table.dtype, op="sum", time_definition=DEFINITIONS[table.tool], **layout, **row
                )
            )
    return rows


def _tables(file: str, lines: Sequence[LogLine]) -> list[OsuTable]:
    tables: list[OsuTable] = []
    others: list[str] = []
    current: OsuTable | None = None
    banner: re.Match | None = None
    dtype: str | None = None
    for line in lines:
        if match := BANNER.search(line.text):
            banner, current, dtype = match, None, None
            if not COLLECTIVE.search(match[2]):
                others.append(match[2])
        elif banner is None or not COLLECTIVE.search(banner[2]):
            continue
        elif match := DATATYPE.search(line.text):
            dtype = dtype_of(match[1])
            if current and current.rows:
                current = None
            elif current:  # version 7.1 prints it behind the header
                current = tables[-1] = current._replace(dtype=dtype)
        elif HEADER.match(line.text.lstrip()):
            current = OsuTable(line.number, NAMES[banner[1]], banner[3], dtype, _columns(line.text), [])
            tables.append(current)
        elif is_whole(line.text.split()[0] if line.text.split() else ""):
            if current is None or _begins_again(current.rows, line):
                columns = current.columns if current else FULL[:2]
                current = OsuTable(line.number, NAMES[banner[1]], banner[3], dtype, columns, [])
                tables.append(current)
            current.rows.append(line)
    if not any(table.rows for table in tables):
        what = f"found: {listed(dict.fromkeys(others))}" if others else "the table is empty"
        raise LogError(f"{file}, line {lines[-1].number}: no row of an all-reduce up to here; {what}")
    return [table for table in tables if table.rows]


def _begins_again(rows: Sequence[LogLine], line: LogLine) -> bool:
    """Whether the first size of a table comes again."""
    words = line.text.split()
    return bool(rows) and len(words) > 1 and rows[0].text.split()[0] == words[0]


def _columns(header: str) -> tuple[str, ...]:
    """What stands in each column of a header: one of FULL, `check`, or its name."""
    names = re.split(r"\s{2,}", header.lstrip("# ").strip())
    found = ["size"]
    for name in names[1:]:
        bare = re.sub(r"\s*\(us\)$", "", name)
        found.append("check" if bare == "Validation" else COLUMNS.get(bare, bare))
    return tuple(found)


def table_rows(file: str, columns: Sequence[str], lines: Sequence[LogLine]) -> Iterator[dict]:
    """The fields of Imported of each row of a table; rows that were cut off are dropped with a warning."""
    width = 0
    for line in lines:
        words, place = line.text.split(), f"{file}, line {line.number}"
        numbers = sum(is_number(word) for word in words[:2])
        if numbers < 2 or is_cut(line, width):
            dropped(file, line, f"{shown(line.text)} is no whole row of a size and a time")
            continue
        width = len(line.text)
        values = dict(zip(_fitting(columns, words), words))
        yield {"line": line.number, "nbytes": whole(words[0], "the size", place), **_row(values, place)}


def _fitting(columns: Sequence[str], words: Sequence[str]) -> Sequence[str]:
    """The columns of a row: those of the header, or of -f where the row is wider."""
    if len(words) <= len(columns):
        return columns
    return (*FULL, "check") if len(words) >= len(FULL) else FULL[:2]


def _row(values: dict[str, str], place: str) -> dict:
    time_s = seconds(values.get("avg") or "", US, "the time", place)
    row: dict = {**timed(time_s, f"{values['avg']} us"), "osu_avg_s": time_s or None}
    if "iterations" in values:
        row["iterations"] = whole(values["iterations"], "the number of iterations", place, 1)
    for name, field in (("min", "shortest_s"), ("max", "imb_t_max_s")):
        if name in values:
            row[field] = real(values[name], f"the {name} latency", place) * US
    check = values.get("check")
    if check in CHECKS:
        row |= {"wrong": 0} if check == "Pass" else {"state": "wrong", "reason": "the log says: validation Fail"}
    return row
