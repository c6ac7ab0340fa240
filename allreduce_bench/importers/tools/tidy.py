"""Tidy CSV: one row per cell, columns recognised by name, their units by the end of the name, or as --column says."""

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...runs.competitor import NATIVE
from ...units import printable
from ..folders import PATHS, add_systems
from ..lines import (
    NAME_LETTERS,
    SECONDS,
    Log,
    Place,
    dtype_of,
    is_number,
    itemsize_of,
    listed,
    op_of,
    shown,
    time_fields,
)
from ..row import Asked, Imported, LogError, LogWarning
from ..table_text import find_head, read_records
from . import Importer

RATES = {"bytes_per_s": 1.0, "B/s": 1.0, "MBps": 1e6, "MB/s": 1e6, "GBps": 1e9, "GB/s": 1e9, "Gbps": 1e9 / 8}
RATES |= {"Gbit/s": 1e9 / 8, "Gbit": 1e9 / 8}
TIMES: tuple[str, ...] = (
    "time",
    "median",
    "median_time",
    "time_median",
    "p50",
    "mean",
    "mean_time",
    "time_mean",
    "avg",
    "average",
)
TIMES += ("avg_time", "average_time", "avg_latency", "average_latency", "latency", "t_max", "duration", "runtime")
ALIASES = {  # field of a row -> what others call it, in small letters; the first one that the file has is taken
    "ranks": ("ranks", "nranks", "num_ranks", "n_ranks", "np", "nprocs", "procs", "processes", "ngpus", "gpus", "p"),
    "nodes": ("nodes", "nnodes", "num_nodes", "n_nodes"),
    "ranks_per_node": ("ranks_per_node", "ppn", "tasks_per_node", "procs_per_node"),
    "size_bytes": (
        "size_bytes",
        "bytes",
        "nbytes",
        "message_size",
        "msg_size",
        "message_bytes",
        "buffer_size",
        "size",
    ),
    "count": ("count", "elements", "array_dim"),
    "dtype": ("dtype", "datatype", "type"),
    "op": ("op", "redop", "mpi_op"),
    "competitor": ("competitor", "algorithm", "algo", "algo_name"),
    "collective": ("collective", "collective_type", "name"),
    "wrong": ("wrong", "#wrong", "nwrong"),
    "iterations": ("iterations", "n_iter", "iters", "repetitions", "calls"),
    "launch": ("launch", "allocation", "job", "job_id", "jobid", "source_path", "timestamp", *PATHS[1:]),
    "system": ("system", "machine", "cluster"),
    "library": ("library", "mpi", "mpi_lib"),
    "library_version": ("mpi_version", "mpi_lib_version"),
}
MEASURES = {"time": SECONDS, "busbw": RATES, "algbw": RATES}  # -> its units, in order of preference
BASES = {"time": TIMES, "busbw": ("busbw",), "algbw": ("algbw",)}  # names without a unit


class LogColumn(NamedTuple):
    """A column, and the factor from its numbers to seconds or bytes/s; 1 for others."""

    name: str
    factor: float = 1.0


def recognised_columns(header: Sequence[str], asked: Mapping[str, str], place: str) -> dict[str, LogColumn]:
    """Return names here, and time, busbw, algbw, -> columns of a header. Raises LogError for an impossible --column."""
    given = dict(_asked_columns(header, asked, place))
    lower = {name.strip().lower(): name for name in reversed(header)}
    for field, aliases in ALIASES.items():
        name = next((lower[alias] for alias in aliases if alias in lower), None)
        if name is not None and name not in {column.name for column in given.values()}:
            given.setdefault(field, LogColumn(name))
    for measure in MEASURES:
        if measure not in given and (column := _measured_column(header, measure)):
            given[measure] = column
    return given


def _names(header: Sequence[str]) -> str:
    """List the names of columns for a message, each of them short."""
    return listed((printable(name)[:NAME_LETTERS] for name in header), 30)


def _measured_column(header: Sequence[str], measure: str) -> LogColumn | None:
    """Return the column of a time or bandwidth whose name has a unit; the first one of BASES, and of the header."""
    units, column_of = MEASURES[measure], {}
    for name in reversed(header):
        base, unit = split(name, units)
        if unit:
            column_of[base] = LogColumn(name, units[unit])
    return next((column_of[base] for base in BASES[measure] if base in column_of), None)


def split(name: str, units: Mapping[str, float]) -> tuple[str, str]:
    """Split a name: `median` and `s` of `median_s`, the base in lower case; no unit if it ends in none of `units`."""
    for unit in sorted(units, key=len, reverse=True):
        match = re.fullmatch(rf"(.+?)(?:_|\s*[\[(]){re.escape(unit)}[\])]?", name.strip())
        if match:
            return match[1].strip().lower(), unit
    return name.strip().lower(), ""


def _asked_columns(header: Sequence[str], asked: Mapping[str, str], place: str):
    """Return the columns of --column."""
    for wanted, name in asked.items():
        if name not in header:
            raise LogError(f"{place}: --column {wanted}={name}: no column '{name}'; it has: {_names(header)}")
        for measure, units in MEASURES.items():
            base, unit = split(wanted, units)
            if base == measure:
                _, unit_of_name = split(name, units)
                if unit_of_name and unit and units[unit_of_name] != units[unit] and wanted != "time_s":
                    raise LogError(f"{place}: --column {wanted}={name}: is it {unit} or {unit_of_name}?")
                if not (unit_of_name or unit):
                    raise LogError(
                        f"{place}: --column {wanted}={name}: the unit is missing; use a name such as {measure}_us"
                    )
                yield measure, LogColumn(name, units[unit_of_name or unit])
                break
        else:
            if wanted not in ALIASES:
                known = f"{', '.join(ALIASES)}, time_s, time_us, busbw_GBps"
                raise LogError(f"{place}: --column {wanted}={name}: unknown '{wanted}'; known: {known}")
            yield wanted, LogColumn(name)


def are_columns(header: Sequence[str]) -> bool:
    """Return whether a header has a size, a time or a bandwidth, so that an error can name what is missing."""
    return bool({"size_bytes", "count", *MEASURES} & set(recognised_columns(header, {}, "")))


def warn_of_ignored(rows: Sequence[Imported], asked: Asked) -> None:
    """Warn of columns that may distinguish systems: of words, with few values, and not read."""
    file, header = rows[0].file, list(rows[0].fields)
    columns = recognised_columns(header, asked.columns, file).values()
    read = {column.name for column in columns} | set(asked.where)
    for name in header:
        values = {row.fields[name] for row in rows if name not in read}
        if 1 < len(values) <= 8 and not all(is_number(value) for value in values if value):
            some = listed(sorted(shown(value) for value in values), 4)
            warnings.warn(
                f"{file}: column '{name}' is ignored, but its values differ: {some}; select with --where {name}=VALUE",
                LogWarning,
                stacklevel=2,
            )


# The importer: one row per cell.
#
# time_s is the column of a time (the first of TIMES if there are several), or derived from busbw or algbw and the size.
# Launches are distinguished by a column such as launch, allocation, job or source_path.


TOOL = "CSV"
OWN = ({"competitor", "time_definition"}, {"competitor", "arrival_skew_s"})  # columns that only our CSVs have together
OTHER_COLLECTIVES = {"allgather", "reducescatter", "broadcast", "bcast", "reduce", "alltoall", "alltoallv"}
OTHER_COLLECTIVES |= {"sendrecv", "gather", "scatter", "hypercube"}
ABSENT = ("", "na", "n/a", "nan", "null", "none", "-")
Table = dict[str, LogColumn]


def recognises(text: str) -> bool:
    """Return whether the first line that is no comment is a header with the columns of a tidy CSV."""
    header = find_head(text).names
    return len(header) > 1 and are_columns(header)


def is_summary(text: str) -> bool:
    """Return whether this program wrote the CSV: a summary, or the calls of a launch."""
    return any(set(find_head(text).names) >= columns for columns in OWN)


def looks_tidy(text: str) -> bool:
    """Return whether that line may be a header that --column completes."""
    header = find_head(text).names
    return len(header) > 1 and all(name and not is_number(name) for name in header)


def read(log: Log, asked: Asked) -> list[Imported]:
    """Return the rows. Raises LogError: a column is missing, or a field does not fit its column."""
    file = log.file
    number, header, _ = find_head(log.text)
    place = f"{file}, line {number}"
    table = recognised_columns(header, asked.columns, place)
    if not {"size_bytes", "count"} & set(table):
        raise LogError(f"{place}: no column for the size; add --column size_bytes=COLUMN; it has: {_names(header)}")
    if not set(MEASURES) & set(table):
        raise LogError(
            f"{place}: no column of a time or a bandwidth whose name has its unit; add --column time_us=COLUMN, or "
            f"busbw_GBps=COLUMN; it has: {_names(header)}"
        )
    records = read_records(file, log.text, {column.name for column in table.values()})
    rows = [
        _imported_row(file, number, fields, table, asked) for number, fields in records if is_allreduce(fields, table)
    ]
    if not rows:
        raise LogError(f"{place}: no row of an all-reduce below this header")
    is_told = "system" in table or "launch" in asked.columns
    return rows if is_told else add_systems(rows)


IMPORTER = Importer(
    name="csv",
    title="",
    turn=90,
    recognises=recognises,
    read=read,
    definitions={"csv_": "the column {} of the CSV", "none": "unknown: no cell has a time"},
    has_columns=True,
)


def _get(fields: Mapping[str, str], table: Table, name: str) -> str | None:
    """Return the field of a name here; None if it is absent."""
    if name not in table:
        return None
    value = fields[table[name].name]
    return None if value.lower() in ABSENT else printable(value)


def is_allreduce(fields: Mapping[str, str], table: Table) -> bool:
    """Return whether a row is of an all-reduce; a column `name` may name anything."""
    words = re.sub(r"\W|_", "", (_get(fields, table, "collective") or "allreduce").lower())
    collective = words.removeprefix("mpi").removeprefix("nccl")
    is_any = "collective" in table and table["collective"].name.lower() == "name"
    return collective == "allreduce" or (is_any and collective not in OTHER_COLLECTIVES)


def _imported_row(file: str, number: int, fields: dict[str, str], table: Table, asked: Asked) -> Imported:
    place = Place(f"{file}, line {number}")

    def text(name: str) -> str | None:
        return _get(fields, table, name)

    def number_of(name: str, least: int = 0) -> int | None:
        value = text(name)
        return None if value is None else place.whole(value, table[name].name, least)

    dtype = dtype_of(text("dtype") or asked.dtype or "")
    count, size_bytes = number_of("count"), number_of("size_bytes")
    size_bytes = _nbytes_of(count, dtype, place) if size_bytes is None else size_bytes
    ranks = place.ranks(value) if (value := text("ranks")) else None
    ranks, nodes = _layout(ranks, number_of("nodes", 1), number_of("ranks_per_node", 1), place)
    library = " ".join(filter(None, (text("library"), text("library_version"))))
    wrong = place.wrong(value) if (value := text("wrong")) else {}
    return Imported(
        file=file,
        line=number,
        tool=TOOL,
        launch=text("launch") or file,
        size_bytes=size_bytes,
        competitor=text("competitor") or NATIVE,
        ranks=ranks,
        nodes=nodes,
        dtype=dtype,
        op=op_of(text("op") or ""),
        count=count,
        system=text("system"),
        iterations=number_of("iterations", 1),
        facts={"mpi": {"library": library}} if library else {},
        fields=fields,
        **_time_or_reason(fields, table, size_bytes, ranks or asked.ranks, place) | wrong,
    )


def _nbytes_of(count: int | None, dtype: str | None, place: str) -> int:
    """Return the size of so many elements, bytes. Raises LogError."""
    if count is None:
        raise LogError(f"{place}: no size; expected bytes or a count of elements")
    if dtype is None:
        raise LogError(f"{place}: the type of the elements is unknown; add --dtype")
    return count * itemsize_of(dtype)


def _layout(ranks: int | None, nodes: int | None, per_node: int | None, place: Place) -> tuple[int | None, int | None]:
    """Return ranks and nodes, each derived from the other and the ranks per node if it is missing."""
    if ranks is None and nodes and per_node:
        ranks = place.ranks(str(nodes * per_node))
    if nodes is None and ranks and per_node and ranks % per_node == 0:
        nodes = ranks // per_node
    return ranks, nodes


def _time_or_reason(
    fields: Mapping[str, str], table: Table, size_bytes: int, ranks: int | None, place: Place
) -> dict[str, Any]:
    """Return time, definition and state of a row; a row without a time has a reason."""
    measure = next((name for name in MEASURES if _get(fields, table, name) is not None), None)
    if measure is None:
        return {"state": "left out", "reason": "the log has no time", "time_definition": "none"}
    column, printed = table[measure], _get(fields, table, measure) or ""
    if measure == "time":
        time_s = place.seconds(printed, column.factor, column.name)
    else:
        rate = place.real(printed, column.name) * column.factor
        time_s = _time_of_rate(measure, rate, size_bytes, ranks, place)
    return {"time_definition": f"csv_{column.name}", **time_fields(time_s, printed)}


def _time_of_rate(measure: str, rate: float, size_bytes: int, ranks: int | None, place: Place) -> float:
    """Return the seconds of a bandwidth in bytes/s; 0 if it is uninformative."""
    if measure == "busbw" and ranks is None:
        raise LogError(f"{place}: a bus bandwidth needs a number of ranks; add --ranks N or --column ranks=COLUMN")
    share = 2 * (ranks - 1) / ranks if measure == "busbw" and ranks else 1.0
    time_s = share * size_bytes / rate if rate > 0 else 0.0
    return place.seconds(repr(time_s), 1.0, f"the time of its {measure}")
