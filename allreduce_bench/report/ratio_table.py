"""The history of `make ratios` as a part of the page: the latest of each ratio, and what it was before."""

import csv
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from ..runs.careful_reading import open_kept
from ..runs.rows import RunError

DATE, MACHINE, MPI, WHAT = "date", "machine", "mpi", "what"
COLUMNS = (DATE, MACHINE, MPI, WHAT, "ratio", "low", "high", "launches", "goal", "met", "by", "thread_level")


class Ratio(NamedTuple):
    """A row of the history; `ratio` is None where it could not be measured, and `by` says why."""

    date: str
    machine: str
    mpi: str
    what: str
    ratio: float | None  # median over launches
    low: float | None  # ends of its 95 % interval over launches
    high: float | None
    launches: int
    goal: str
    met: bool | None
    by: str  # the best of ours
    thread_level: str


class RatioLine(NamedTuple):
    """The latest row of one ratio on one machine and MPI, and the medians of the rows before it, the oldest first."""

    latest: Ratio
    before: tuple[float, ...]


def read_ratios(path: Path) -> list[Ratio]:
    """The rows of a history, in the order of the file. Raises RunError."""
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
    """A line for each ratio on each machine and MPI, in the order in which they came first."""
    rows_of: dict[tuple[str, str, str], list[Ratio]] = {}
    for row in ratios:
        rows_of.setdefault((row.machine, row.mpi, row.what), []).append(row)
    return [
        RatioLine(rows[-1], tuple(row.ratio for row in rows[:-1] if row.ratio is not None)) for rows in rows_of.values()
    ]


def _ratio(path: Path, number: int, fields: Sequence[str]) -> Ratio:
    """One row. Raises RunError."""
    row = dict(zip(COLUMNS, fields))
    try:
        if len(fields) != len(COLUMNS) or row["met"] not in ("", "0", "1"):
            raise ValueError
        ratio, low, high = (float(row[name]) if row[name] else None for name in ("ratio", "low", "high"))
        if not all(value is None or isfinite(value) and value > 0 for value in (ratio, low, high)):
            raise ValueError
        met = bool(int(row["met"])) if row["met"] else None
        words = row[DATE], row[MACHINE], row[MPI], row[WHAT]
        return Ratio(*words, ratio, low, high, int(row["launches"]), row["goal"], met, row["by"], row["thread_level"])
    except ValueError as error:
        raise RunError(f"{path}, line {number}: not a row of a history of make ratios; remove it") from error
