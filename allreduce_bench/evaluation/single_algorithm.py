"""Findings without a ranking: of one algorithm alone, and of ratios of single times.

Of one algorithm its latency and its peak bus bandwidth. Of ratios without an interval how many are above a threshold,
how many below, and by how much: an observation, no verdict, since the spread between launches is unknown.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..units import significant
from .summary_row import SummaryRow, time_of

DIRECTIONS = ("slower", "faster", "same")
DIGITS = 2  # of a factor that a single launch shows


class Direction(NamedTuple):
    """The ratios that are slower, those that are faster, or those within the threshold."""

    observed: str  # one of DIRECTIONS
    cells: int
    least: float  # longer time / shorter time of the cell that differs least
    most: float  # the same of the cell that differs most
    where: str  # name of the cell, or size, that differs most


class Performance(NamedTuple):
    """The performance of one algorithm on one number of ranks."""

    ranks: int
    algorithm: str
    latency_nbytes: int  # the smallest size
    latency_s: float
    peak_nbytes: int  # size of the highest bus bandwidth
    peak_busbw_bytes_per_s: float
    sizes: int  # sizes above 0 that have a time
    ranked: int  # of them those whose times are ranked, of which all of this is said


def performance(ranks: int, rows_by_size: Mapping[int, Sequence[SummaryRow]]) -> Performance | None:
    """Return the performance on one number of ranks; None: it has several algorithms, or no ranked time."""
    rows = [row for of_size in rows_by_size.values() for row in of_size if row["size_bytes"]]
    names = {row["competitor"] for row in rows}
    ranked = [row for row in rows if not row.get("doubt")]
    if len(names) != 1 or not ranked:
        return None
    first = min(ranked, key=lambda row: row["size_bytes"])
    peak = max(ranked, key=lambda row: row["busbw_bytes_per_s"])
    return Performance(
        ranks=ranks,
        algorithm=names.pop(),
        latency_nbytes=first["size_bytes"],
        latency_s=time_of(first),
        peak_nbytes=peak["size_bytes"],
        peak_busbw_bytes_per_s=peak["busbw_bytes_per_s"],
        sizes=len(rows),
        ranked=len(ranked),
    )


def direction_of(ratio: float, threshold: float) -> str:
    """Return one of DIRECTIONS; `threshold` is a share."""
    if ratio > 1 + threshold:
        return "slower"
    return "faster" if ratio < 1 / (1 + threshold) else "same"


def directions(ratios: Mapping[str, float], threshold: float) -> tuple[Direction, ...]:
    """Return those of DIRECTIONS that some of the named ratios have; `threshold` is a share."""
    found = []
    for kind in DIRECTIONS:
        factors = {name: max(r, 1 / r) for name, r in ratios.items() if direction_of(r, threshold) == kind}
        if factors:
            most = max(factors, key=factors.__getitem__)
            found.append(Direction(kind, len(factors), min(factors.values()), factors[most], most))
    return tuple(found)


def directions_words(found: Sequence[Direction], threshold: float) -> str:
    """Format `20 of 25 slower, 1.6 to 25 times (most: 32 MiB); 5 within 5 %`."""
    first, *others = (_words(direction, threshold) for direction in found)
    count, rest = first.split(" ", 1)
    return "; ".join([f"{count} of {sum(direction.cells for direction in found)} {rest}", *others])


def _words(direction: Direction, threshold: float) -> str:
    if direction.observed == "same":
        return f"{direction.cells} within {threshold * 100:g} %"
    least, most = (significant(factor, DIGITS) for factor in (direction.least, direction.most))
    span = least if least == most else f"{least} to {most}"
    place = f"most: {direction.where}" if direction.cells > 1 else direction.where
    return f"{direction.cells} {direction.observed}, {span} times ({place})"
