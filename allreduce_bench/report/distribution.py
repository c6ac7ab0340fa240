"""How the calls of each cell are distributed, as tables of text: what the median alone does not show."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..evaluation.summary_row import RealColumn, SummaryRow, competitor_of
from ..units import format_size, three_digits
from .live_chart import cell_id

Words = Callable[[SummaryRow], str]  # of one row; empty: it has none


class DistributionColumn(NamedTuple):
    """One column of a table; `kind` is its style."""

    heading: str
    words: Words
    kind: str = ""  # text: set to the left


def _microseconds(name: RealColumn) -> Words:
    return lambda row: "" if (time_s := row.get(name)) is None else three_digits(time_s * 1e6)


def _column_text(name: str) -> Words:
    return lambda row: str(row.get(name) or "")


def _outliers(row: SummaryRow) -> str:
    count = row.get("outliers")
    return "" if count is None else f"{count} ({100 * count / row['repetitions']:.1f} %)"


def _lag1(row: SummaryRow) -> str:
    return "" if (lag1 := row.get("lag1")) is None else f"{round(lag1, 2) + 0.0:+.2f}"


def _drift(row: SummaryRow) -> str:
    return "" if (drift := row.get("drift")) is None else f"{round(100 * (drift - 1), 1) + 0.0:+.1f} %"


def _first_call(row: SummaryRow) -> str:
    return "" if (first := row.get("first_penalty")) is None else f"{three_digits(first)} x"


def _beyond_local(row: SummaryRow) -> str:
    """By how much the global run time is above `time_s`; of completions there is no such difference."""
    if (global_s := row.get("global_s")) is None or row.get("arrival"):
        return ""
    return three_digits((global_s - row["time_s"]) * 1e6)


def _interval(row: SummaryRow) -> str:
    return (
        ""
        if row["interval"] == "range"
        else f"{_microseconds('time_low_s')(row)} to {_microseconds('time_high_s')(row)}"
    )


CELL = (
    DistributionColumn("size", lambda row: format_size(row["nbytes"])),
    DistributionColumn("algorithm", competitor_of, "text"),
    DistributionColumn("cache", lambda row: "cold" if row.get("cache") == "cold" else "", "text"),
    DistributionColumn("groups", _column_text("groups"), "text"),
)
CALLS: dict[str, tuple[DistributionColumn, ...]] = {
    "": CELL,
    "calls": (
        DistributionColumn("timed", _column_text("repetitions")),
        DistributionColumn("invalid", _column_text("invalid")),
        DistributionColumn("stopped by", _column_text("stopped"), "text"),
    ),
    "time in us": (
        DistributionColumn("p5", _microseconds("p5_s")),
        DistributionColumn("median", _microseconds("time_s")),
        DistributionColumn("p95", _microseconds("p95_s")),
        DistributionColumn("p99", _microseconds("p99_s")),
        DistributionColumn("p99.9", _microseconds("p99_9_s")),
        DistributionColumn("interval", _interval),
    ),
    "within a launch": (
        DistributionColumn("outliers", _outliers),
        DistributionColumn("lag-1", _lag1),
        DistributionColumn("drift", _drift),
        DistributionColumn("first call", _first_call),
    ),
}
DEFINITIONS: dict[str, tuple[DistributionColumn, ...]] = {
    "": CELL,
    "time in us": (
        DistributionColumn("time_s", _microseconds("time_s")),
        DistributionColumn("global", _microseconds("global_s")),
        DistributionColumn("global - time_s", _beyond_local),
        DistributionColumn("completion", _microseconds("completion_s")),
        DistributionColumn("OSU avg", _microseconds("osu_avg_s")),
        DistributionColumn("IMB t_max", _microseconds("imb_t_max_s")),
        DistributionColumn("nccl-tests", _microseconds("nccl_tests_s")),
    ),
    "common clock, us": (
        DistributionColumn("arrival skew", _microseconds("arrival_skew_s")),
        DistributionColumn("clock error", _microseconds("clock_error_s")),
    ),
    "timing method": (DistributionColumn("definition", _column_text("time_definition"), "text"),),
}


def tables(rows: Sequence[SummaryRow]) -> list[dict[str, Any]]:
    """Two tables of the measured cells of `rows`: of their calls, and of their times by other methods; or none.

    Each has `groups` {title: its columns}, only those that some cell has words for, and `lines`, each the words of a
    cell {title: words of each column}, and `cells` the `cell_id` of each line.
    """
    done = [row for row in rows if row["time_s"] is not None]
    return [_filled_table(groups, done) for groups in (CALLS, DEFINITIONS)] if done else []


def _filled_table(groups: dict[str, tuple[DistributionColumn, ...]], rows: Sequence[SummaryRow]) -> dict[str, Any]:
    filled = {
        title: [column for column in columns if any(map(column.words, rows))] for title, columns in groups.items()
    }
    kept = {title: columns for title, columns in filled.items() if columns}
    lines = [{title: [column.words(row) for column in columns] for title, columns in kept.items()} for row in rows]
    cells = [cell_id(row["ranks"], competitor_of(row), row["cache"], row["nbytes"]) for row in rows]
    return {"groups": kept, "lines": lines, "cells": cells}
