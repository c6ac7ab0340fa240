"""The history of `make ratios` for the page: the latest of each ratio, and earlier values."""

import csv
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from ..runs.files import open_kept
from ..runs.rows import RunError

DATE, MACHINE, MPI, WHAT = "date", "machine", "mpi", "what"
HOW = ("thread_level", "placement", "estimator")
COLUMNS = (DATE, MACHINE, MPI, WHAT, "ratio", "low", "high", "launches", "goal", "met", "by", *HOW)
PAGE, UNKNOWN = "page", "unknown"  # placements


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


class RatioLine(NamedTuple):
    """The latest row of one ratio on one machine, MPI and placement, and the ratios before it, the oldest first."""

    latest: Ratio
    before: tuple[float, ...]


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


def ratio_lines(ratios: Sequence[Ratio]) -> list[RatioLine]:
    """Return a line for each ratio on each machine, MPI and placement, in order of first appearance.

    The placement of vectors affects times: rows of unknown placement are separate.
    """
    rows_of: dict[tuple[str, ...], list[Ratio]] = {}
    for row in ratios:
        rows_of.setdefault((row.machine, row.mpi, row.what, row.placement), []).append(row)
    return [
        RatioLine(rows[-1], tuple(row.ratio for row in rows[:-1] if row.ratio is not None)) for rows in rows_of.values()
    ]


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
