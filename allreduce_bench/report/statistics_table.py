"""The statistics of the calls of each cell, beyond the median, as a page shows them for one rank count."""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import NamedTuple

from ..evaluation.summary_row import SummaryRow, number_of
from ..units import format_size, three_digits

Words = Callable[[SummaryRow], str]  # of one row; empty: not available


class Column(NamedTuple):
    """A column of the table; `kind` is its style: text is set to the left."""

    heading: str
    words: Words
    kind: str = ""


class StatisticsTable(NamedTuple):
    """The columns that some cell has words for, and a line of words for each measured cell."""

    columns: list[Column]
    lines: list[list[str]]


def statistics_table(rows: Sequence[SummaryRow]) -> StatisticsTable | None:
    """Return the table of the measured cells of `rows`; None: there are none."""
    done = [row for row in rows if row["time_s"] is not None]
    columns = [column for column in COLUMNS if any(map(column.words, done))]
    return StatisticsTable(columns, [[column.words(row) for column in columns] for row in done]) if done else None


def _microseconds(name: str) -> Words:
    return lambda row: "" if (time_s := number_of(row, name)) is None else three_digits(time_s * 1e6)


def _column_text(name: str) -> Words:
    return lambda row: str(row.get(name) or "")


def _interval(row: SummaryRow) -> str:
    if row["interval"] == "range":
        return ""
    return f"{_microseconds('time_low_s')(row)} to {_microseconds('time_high_s')(row)}"


def _outliers(row: SummaryRow) -> str:
    count = row.get("outliers")
    return "" if count is None else f"{count} ({100 * count / row['repetitions']:.1f} %)"


def _lag1(row: SummaryRow) -> str:
    return "" if (lag1 := row.get("lag1")) is None else f"{round(lag1, 2) + 0.0:+.2f}"


def _drift(row: SummaryRow) -> str:
    return "" if (drift := row.get("drift")) is None else f"{round(100 * (drift - 1), 1) + 0.0:+.1f} %"


def _first_call(row: SummaryRow) -> str:
    return "" if (first := row.get("first_penalty")) is None else f"{three_digits(first)} x"


COLUMNS = (
    Column("size", lambda row: format_size(row["size_bytes"])),
    Column("competitor", itemgetter("competitor"), "text"),
    Column("timed", _column_text("repetitions")),
    Column("invalid", _column_text("invalid")),
    Column("stopped by", _column_text("stopped"), "text"),
    Column("p5 (µs)", _microseconds("p5_s")),
    Column("median (µs)", _microseconds("time_s")),
    Column("p95 (µs)", _microseconds("p95_s")),
    Column("p99 (µs)", _microseconds("p99_s")),
    Column("p99.9 (µs)", _microseconds("p99_9_s")),
    Column("interval (µs)", _interval),
    Column("outliers", _outliers),
    Column("lag-1", _lag1),
    Column("drift", _drift),
    Column("first call", _first_call),
)
