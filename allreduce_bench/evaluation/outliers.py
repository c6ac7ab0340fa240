"""Outliers: times far from the times of both neighbouring sizes, which a reader should not take for a feature."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .competing import tables
from .grade import NOT_RELIABLE
from .summary_row import SummaryRow, time_of

FAR = 2.0  # times both neighbours, or less than both by as much


class Outlier(NamedTuple):
    """A cell, and the times of its competitor at the next smaller and the next larger size, seconds."""

    row: SummaryRow
    below_s: float
    above_s: float


def outliers(rows: Sequence[SummaryRow]) -> Iterator[Outlier]:
    """Yield the cells that take FAR times as long as both neighbours, or are as much shorter than both.

    Of doubted times, and of times that are not reliable, it is known that they are no feature.
    """
    for sizes in tables(row for row in rows if not row.get("doubt") and row.get("grade") != NOT_RELIABLE).values():
        for name in dict.fromkeys(row["competitor"] for row in rows):
            series = [row for of_size in sizes.values() for row in of_size if row["competitor"] == name]
            for below, row, above in zip(series, series[1:], series[2:]):
                below_s, time_s, above_s = time_of(below), time_of(row), time_of(above)
                if time_s >= FAR * max(below_s, above_s) or FAR * time_s <= min(below_s, above_s):
                    yield Outlier(row, below_s, above_s)
