"""OSU Micro-Benchmarks, C and Python: osu_allreduce, with ranks and nodes from the job that Flux appends."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...runs.schema import QUANTILES, QUANTILES_OF_LOGS
from ...units import MAX_RANKS
from ..lines import (
    NOISE,
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
    refuse_nothing,
    shown,
    time_fields,
    warn_of_row,
)
from ..row import Asked, Imported
from . import Importer


class FluxJob(NamedTuple):
    """A job that Flux started."""

    number: int  # of its line
    nodes: int | None
    ranks: int


def jobs(lines: Sequence[LogLine]) -> list[FluxJob]:
    """Return the jobs of a log in order: a jobspec is one line of JSON with `resources` and `tasks`."""
    jobs_of_log = []
    for line in lines:
        text = line.text.lstrip()
        if text.startswith("{") and '"resources"' in text and '"tasks"' in text:
            try:
                job = _job_of_spec(line.number, json.loads(text))
            except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
                continue  # truncated or of another version: --ranks can state it
            if 0 < job.ranks <= MAX_RANKS and (job.nodes is None or 0 < job.nodes <= job.ranks):
                jobs_of_log.append(job)
    return jobs_of_log


def _job_of_spec(number: int, spec: dict[str, Any]) -> FluxJob:
    (resource,) = spec["resources"]
    nodes = int(resource["count"]) if resource["type"] == "node" else None
    slot = resource["with"][0] if nodes else resource
    if slot["type"] != "slot":
        raise ValueError(f"a slot was expected, found {slot['type']}")
    slots = int(slot["count"]) * (nodes or 1)
    (task,) = spec["tasks"]
    count = task["count"]
    return FluxJob(number, nodes, int(count["total"]) if "total" in count else slots * int(count["per_slot"]))


def job_of(number: int, jobs_of_log: Sequence[FluxJob]) -> FluxJob | None:
    """Return the job of a table that begins in line `number`: the first one after it, else the last one before it."""
    return next((job for job in jobs_of_log if job.number > number), jobs_of_log[-1] if jobs_of_log else None)


# The importer: osu_allreduce with any of its options, several tables in a file.
#
# time_s is the column Avg Latency, the mean over ranks of each rank's mean over its calls; the Python one has no
# barrier between them. Each banner begins a table, and each table is a launch; so is a table whose sizes restart, as
# when a script repeats the program.


BANNER = re.compile(  # also where # was lost
    r"(?:#\s*|^[ \t]*(?=\w+ (?:Python )?MPI))(OSU|OMB)\s+(.*?)\s*(?:Latency\s+)?Test\b\s*(?:v?([0-9][\w.]*))?",
    re.MULTILINE,
)
HEADER = re.compile(r"#?\s*Size\b(?: \(\w+\))?(?=\s{2,}|$)", re.IGNORECASE)
DATATYPE = re.compile(r"#\s*Datatype:\s*(\w+)")
COLLECTIVE = re.compile(r"(?<!Persistent )(?<!Neighborhood )(?<!Non-blocking )(?<!Nonblocking )\bAllreduce$")
NAMES = {"OSU": "OSU Micro-Benchmarks", "OMB": "OMB-Py"}
DEFINITIONS = {"OSU Micro-Benchmarks": "osu_avg", "OMB-Py": "omb_py_avg"}
COLUMNS = {
    "Avg Latency": "avg",
    "Latency": "avg",
    "Min Latency": "min",
    "Max Latency": "max",
    "Iterations": "iterations",
}
PERCENTILE = re.compile(r"P[0-9]{1,2}")  # of -z
KEPT = [f"P{QUANTILES[name]:g}" for name in QUANTILES_OF_LOGS]
CHECKS = ("Pass", "Fail")
FULL = ("size", "avg", "min", "max", "iterations")  # of -f: version 7.3 prints them below a header of two columns


class OsuTable(NamedTuple):
    """One table of an all-reduce."""

    number: int  # of the line in which it begins
    tool: str
    version: str | None
    dtype: str | None
    columns: tuple[str, ...]
    unit_s: float  # of its times
    rows: list[LogLine]
    launched: int | None  # ranks by the launcher's line above


def recognises(text: str) -> bool:
    """Return whether this is a log of the OSU Micro-Benchmarks."""
    return BANNER.search(text) is not None


def read(log: Log, asked: Asked) -> list[Imported]:
    """Return the rows of the all-reduce tables of a log. Raises LogError: there are none, or a row makes no sense."""
    lines, rows = log.lines, []
    jobs_of_log = jobs(lines)
    for number, table in enumerate(_tables(log), start=1):
        job = job_of(table.number, jobs_of_log)
        common: dict[str, Any] = {
            "file": log.file,
            "tool": table.tool,
            "version": table.version,
            "launch": f"{log.file}, table {number}",
            "dtype": table.dtype,
            "op": "sum",
            "time_definition": DEFINITIONS[table.tool],
            **({"ranks": job.ranks, "nodes": job.nodes} if job else {"ranks": table.launched}),
        }
        rows += [Imported(**common, **fields) for fields in _table_fields(table)]
    return rows


IMPORTER = Importer(
    name="osu",
    title="OSU",
    turn=20,
    recognises=recognises,
    read=read,
    definitions={
        "osu_avg": "mean over ranks of each rank's mean over its calls (osu_allreduce, Avg Latency)",
        "omb_py_avg": "mean over ranks of each rank's mean over a loop of calls without a common start (OMB-Py)",
    },
    allreduce=r"(?m)(?:# *|^[ \t]*)O(?:SU|MB) .*\bAllreduce\b",
)


def _tables(log: Log) -> list[OsuTable]:
    """Return the tables of all-reduces that have rows. Raises LogError: there are none."""
    reader = _Reader()
    for line in log.lines:
        reader.take(line)
    tables = [table for table in reader.tables if table.rows]
    refuse_nothing(log, tables, reader.others)
    return tables


class _Reader:
    """The tables read so far, line by line."""

    def __init__(self) -> None:
        self.tables: list[OsuTable] = []  # of all-reduces
        self.others: list[str] = []  # names of other benchmarks
        self.current: OsuTable | None = None  # the table of the next row
        self.banner: re.Match | None = None  # of an all-reduce
        self.dtype: str | None = None
        self.launched: int | None = None

    def take(self, line: LogLine) -> None:
        """Read one line."""
        if match := BANNER.search(line.text):
            is_allreduce = COLLECTIVE.search(match[2]) is not None
            self.banner, self.current, self.dtype = match if is_allreduce else None, None, None
            if not is_allreduce:
                self.others.append(match[2])
        elif launched := launched_by(line.text):
            self.launched = launched.processes
        elif self.banner is None:
            return
        elif match := DATATYPE.search(line.text):
            self._take_dtype(dtype_of(match[1]))
        elif HEADER.match(line.text.lstrip()):
            self._begin(self.banner, line, *_columns(line))
            if others := [name for name in self.tables[-1].columns if PERCENTILE.fullmatch(name) and name not in KEPT]:
                warn_of_row(line.file, line, f"percentiles that have no column: {listed(others)}")
        elif is_whole((line.text.split() or [""])[0]) and not NOISE.match(line.text):
            if self.current is None:
                self._begin(self.banner, line, FULL[:2], US)
            elif _begins_again(self.current.rows, line):
                self._begin(self.banner, line, self.current.columns, self.current.unit_s)
            self.tables[-1].rows.append(line)

    def _take_dtype(self, dtype: str | None) -> None:
        self.dtype = dtype
        if self.current and self.current.rows:
            self.current = None
        elif self.current:  # version 7.1 prints it after the header
            self.current = self.tables[-1] = self.current._replace(dtype=dtype)

    def _begin(self, banner: re.Match, line: LogLine, columns: tuple[str, ...], unit_s: float) -> None:
        """Begin a table in `line`."""
        self.current = OsuTable(
            line.number, NAMES[banner[1]], banner[3], self.dtype, columns, unit_s, [], self.launched
        )
        self.tables.append(self.current)


def _begins_again(rows: Sequence[LogLine], line: LogLine) -> bool:
    """Return whether the first size of a table repeats."""
    words = line.text.split()
    return bool(rows) and len(words) > 1 and rows[0].text.split()[0] == words[0]


def _columns(header: LogLine) -> tuple[tuple[str, ...], float]:
    """Return the meaning of each column of a header, one of FULL, `check`, or its name; and the unit of times, seconds.

    Raises LogError for an unknown unit.
    """
    names = re.split(r"\s{2,}", header.text.lstrip("# ").strip())
    columns, of_times = ["size"], US
    for name in names[1:]:
        match = re.fullmatch(r"(.*?)\s*(?:\(([^()]*)\))?", name)
        bare, unit = match.groups() if match else (name, None)
        bare = bare.removesuffix(" Tail Lat")
        columns.append("check" if bare == "Validation" else COLUMNS.get(bare, bare))
        of_times = header.place.unit_s(unit) if unit and columns[-1] == "avg" else of_times
    return tuple(columns), of_times


def _table_fields(table: OsuTable) -> Iterator[dict]:
    """Yield the fields of Imported for each row of a table; truncated rows are dropped with a warning."""
    width = 0
    for line in table.rows:
        words = line.text.split()
        if sum(is_number(word) for word in words[:2]) < 2 or is_cut(line, width):
            warn_of_row(line.file, line, f"{shown(line.text)} is no whole row of a size and a time")
            continue
        width = len(line.text)
        values = dict(zip(_fitting(table.columns, words), words))
        size_bytes = line.place.whole(words[0], "the size")
        yield {"line": line.number, "size_bytes": size_bytes, **_times_and_check(values, table.unit_s, line.place)}


def _fitting(columns: Sequence[str], words: Sequence[str]) -> Sequence[str]:
    """Return the columns of a row: those of the header, or of -f if the row is wider."""
    if len(words) <= len(columns):
        return columns
    return (*FULL, "check") if len(words) >= len(FULL) else FULL[:2]


def _times_and_check(values: dict[str, str], unit_s: float, place: Place) -> dict:
    time_s = place.seconds(values.get("avg") or "", unit_s)
    fields: dict = {**time_fields(time_s, f"{values['avg']} us"), "osu_avg_s": time_s or None}
    if "iterations" in values:
        fields["iterations"] = place.whole(values["iterations"], "the number of iterations", 1)
    fields["quantiles_s"] = {int(n[1:]): place.seconds(values[n], unit_s, n) for n in KEPT if n in values}
    if "max" in values:
        fields["imb_t_max_s"] = place.real(values["max"], "the max latency") * unit_s
    check = values.get("check")
    if check in CHECKS:
        fields |= {"wrong": 0} if check == "Pass" else {"state": "wrong", "reason": "the log says: validation Fail"}
    return fields
