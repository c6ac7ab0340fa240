"""The history of `make ratios`: its rows and their file."""

import csv
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from allreduce_bench.runs.files import open_kept
from allreduce_bench.runs.rows import RunError

DATE, MACHINE, MPI, WHAT = "date", "machine", "mpi", "what"
HOW = ("thread_level", "placement", "estimator")
COLUMNS = (DATE, MACHINE, MPI, WHAT, "ratio", "low", "high", "launches", "goal", "met", "by", *HOW)
PAGE = "page"  # placement


class Ratio(NamedTuple):
    """A row of the history; `ratio` is None where it could not be measured, and `by` says why."""

    date: str
    machine: str
    mpi: str
    what: str
    ratio: float | None  # over launches, see `estimator`
    low: float | None  # ends of its interval over launches
    high: float | None
    launches: int
    goal: str
    met: bool | None
    by: str  # the best of ours
    thread_level: str
    placement: str  # of the vectors: page, numpy, MPI_Alloc_mem or unknown
    estimator: str


def read_ratios(path: Path) -> list[Ratio]:
    """Return the rows of a history, in the order of the file. Raises RunError."""
    try:
        with open_kept(path) as file:
            lines = list(csv.reader(file.read().decode(errors="replace").splitlines()))
    except OSError as error:
        raise RunError(
            f"{path}: {error.strerror}; expected a history of make ratios, such as results/ratios.csv"
        ) from error
    if not lines or tuple(lines[0]) != COLUMNS:
        raise RunError(f"{path}, line 1: expected the columns {','.join(COLUMNS)}")
    return [_ratio(path, number, fields) for number, fields in enumerate(lines[1:], start=2)]


def _ratio(path: Path, number: int, fields: Sequence[str]) -> Ratio:
    """Return one row. Raises RunError."""
    row = dict(zip(COLUMNS, fields))
    try:
        if len(fields) != len(COLUMNS) or row["met"] not in ("", "0", "1"):
            raise ValueError
        ratio, low, high = (float(row[name]) if row[name] else None for name in ("ratio", "low", "high"))
        if not all(value is None or isfinite(value) and value > 0 for value in (ratio, low, high)):
            raise ValueError
        met = bool(int(row["met"])) if row["met"] else None
        words = row[DATE], row[MACHINE], row[MPI], row[WHAT]
        how = (row[name] for name in ("by", *HOW))
        return Ratio(*words, ratio, low, high, int(row["launches"]), row["goal"], met, *how)
    except ValueError as error:
        raise RunError(f"{path}, line {number}: not a row of a history of make ratios; remove it") from error
