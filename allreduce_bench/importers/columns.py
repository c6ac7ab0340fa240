"""Which column of a CSV holds what: by its name, its unit by the end of its name, or as --column says."""

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .lines import is_number, listed, shown
from .row import Asked, Imported, LogError, LogWarning

SECONDS = {"ns": 1e-9, "us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0}
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
    "nbytes": ("nbytes", "bytes", "size_bytes", "message_size", "msg_size", "message_bytes", "buffer_size", "size"),
    "count": ("count", "elements", "array_dim"),
    "dtype": ("dtype", "datatype", "type"),
    "op": ("op", "redop", "mpi_op"),
    "algorithm": ("algorithm", "algo", "algo_name"),
    "executor": ("executor",),
    "segment": ("segment",),
    "cache": ("cache",),
    "collective": ("collective", "collective_type"),
    "state": ("state",),
    "reason": ("reason",),
    "wrong": ("wrong", "#wrong", "nwrong"),
    "iterations": ("iterations", "n_iter", "iters", "repetitions", "calls"),
    "launch": ("launch", "allocation", "job", "job_id", "jobid", "source_path", "timestamp", "file"),
    "system": ("system", "machine", "cluster"),
    "library": ("library", "mpi", "mpi_lib"),
    "library_version": ("mpi_version", "mpi_lib_version"),
}
MEASURES = {"time": SECONDS, "busbw": RATES, "algbw": RATES}  # -> its units, in order of preference
BASES = {"time": TIMES, "busbw": ("busbw",), "algbw": ("algbw",)}  # names without a unit


class LogColumn(NamedTuple):
    """A column, and what to multiply its numbers by for seconds or bytes/s; 1 for others."""

    name: str
    factor: float = 1.0


def recognised_columns(header: Sequence[str], asked: Mapping[str, str], place: str) -> dict[str, LogColumn]:
    """Our names, and time, busbw and algbw, -> the columns of a header. Raises LogError for what cannot be meant."""
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


def _measured_column(header: Sequence[str], measure: str) -> LogColumn | None:
    """The column of a time or a bandwidth whose name says its unit; the first one of BASES, and of the header."""
    units, column_of = MEASURES[measure], {}
    for name in reversed(header):
        base, unit = split(name, units)
        if unit:
            column_of[base] = LogColumn(name, units[unit])
    return next((column_of[base] for base in BASES[measure] if base in column_of), None)


def measure_without_unit(header: Sequence[str]) -> tuple[str, str] | None:
    """`time_us` and the first column that is called as a time or bandwidth but has no unit; None: there is none."""
    example = {"time": "time_us", "busbw": "busbw_GBps", "algbw": "algbw_GBps"}
    lower = {name.strip().lower(): name for name in reversed(header)}
    named = ((example[measure], lower[base]) for measure, bases in BASES.items() for base in bases if base in lower)
    return next(named, None)


def split(name: str, units: Mapping[str, float]) -> tuple[str, str]:
    """`median` and `s` of `median_s`, the base in small letters; no unit for a name that ends in none of `units`."""
    for unit in sorted(units, key=len, reverse=True):
        match = re.fullmatch(rf"(.+?)(?:_|\s*[\[(]){re.escape(unit)}[\])]?", name.strip())
        if match:
            return match[1].strip().lower(), unit
    return name.strip().lower(), ""


def _asked_columns(header: Sequence[str], asked: Mapping[str, str], place: str):
    """What --column says."""
    for wanted, name in asked.items():
        if name not in header:
            raise LogError(f"{place}: no column '{name}' for --column {wanted}={name}; it has: {listed(header, 30)}")
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
    """Whether a header has a size, a time or a bandwidth: then a sentence can say what else a CSV needs."""
    return bool({"nbytes", "count", *MEASURES} & set(recognised_columns(header, {}, "")))


def warn_of_ignored(rows: Sequence[Imported], asked: Asked) -> None:
    """Warn of columns that may tell systems apart: of words, with a few values, and read as nothing."""
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
