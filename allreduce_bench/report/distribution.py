"""The distribution of the calls of each cell, beyond the median, and the table of times of a rank count.

`statistics_table` is a table of text; `call_distributions` are the calls themselves, for readers who ask a page for
those of one cell.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, cast

from ..evaluation.competing import competing, mockups
from ..evaluation.frames import CELL_OF_LAUNCH, read_calls, valid_calls
from ..evaluation.limits import share_of_limit
from ..evaluation.summary_row import SummaryRow, number_of
from ..models.bounds import Bounds
from ..runs.folder import RunFolder
from ..units import format_size, in_ranks, three_digits
from . import figures
from .grid import lowest_of, winner_of
from .live_chart import cell_id

MOST_CALLS = 60_000  # in a page: about 400 KB
LEAST_KEPT = 9  # of a launch
DIGITS = 4  # of the microseconds of a call
Words = Callable[[SummaryRow], str]  # of one row; empty: not available


class DistributionColumn(NamedTuple):
    """One column of a table; `kind` is its style."""

    heading: str
    words: Words
    kind: str = ""  # text: set to the left


def statistics_table(rows: Sequence[SummaryRow]) -> dict[str, Any] | None:
    """Return a table of the calls of the measured cells of `rows`; None: there are none.

    It has `groups` {title: its columns}, only those that some cell has words for, `lines`, each the words of a cell
    {title: words of each column}, and `cells`, the `cell_id` of each line.
    """
    done = [row for row in rows if row["time_s"] is not None]
    groups = {title: [column for column in of if any(map(column.words, done))] for title, of in CALLS.items()}
    kept = {title: columns for title, columns in groups.items() if columns}
    lines = [{title: [column.words(row) for column in columns] for title, columns in kept.items()} for row in done]
    return {"groups": kept, "lines": lines, "cells": list(map(_id, done))} if done else None


def _microseconds(name: str) -> Words:
    return lambda row: "" if (time_s := number_of(row, name)) is None else three_digits(time_s * 1e6)


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


def _interval(row: SummaryRow) -> str:
    if row["interval"] == "range":
        return ""
    return f"{_microseconds('time_low_s')(row)} to {_microseconds('time_high_s')(row)}"


# the columns: the cell, its calls
CELL = (
    DistributionColumn("size", lambda row: format_size(row["size_bytes"])),
    DistributionColumn("competitor", itemgetter("competitor"), "text"),
)
CALLS: dict[str, tuple[DistributionColumn, ...]] = {
    "": CELL,
    "calls": (
        DistributionColumn("timed", _column_text("repetitions")),
        DistributionColumn("invalid", _column_text("invalid")),
        DistributionColumn("stopped by", _column_text("stopped"), "text"),
    ),
    "time (µs)": (
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


def call_distributions(
    folder: RunFolder, rows: Iterable[SummaryRow], most: int = MOST_CALLS
) -> dict[str, dict[str, Any]]:
    """Return the calls of each cell of `rows` that has a time, by its `cell_id`.

    Each has its title, the microseconds of its calls by launch, and whether these are all. Excluded are warm-ups and
    invalid calls, and the runs of groups. Cells with more calls than
    `most` allows each are thinned evenly in ascending order, keeping the shortest and the longest. Raises RunError.
    """
    groups = folder.plan().groups
    titles = {
        _id(row): f"{row['competitor']}, {in_ranks([row['ranks']])}, {format_size(row['size_bytes'])}"
        for row in competing(rows)
        if row["time_s"] is not None and not groups
    }
    calls = _calls(folder, titles)
    launches = sum(len(of_cell) for of_cell in calls.values())
    share = max(LEAST_KEPT, most // max(1, launches))
    return {
        name: {
            "title": titles[name],
            "launches": {launch: _kept(times, share) for launch, times in of_cell.items()},
            "all": all(len(times) <= share for times in of_cell.values()),
        }
        for name, of_cell in calls.items()
    }


def _id(row: SummaryRow) -> str:
    return cell_id(row["ranks"], row["competitor"], row["size_bytes"])


def _calls(folder: RunFolder, titles: Mapping[str, str]) -> dict[str, dict[str, list[float]]]:
    """Return seconds by cell and launch."""
    found: dict[str, dict[str, list[float]]] = {}
    by_launch = valid_calls(read_calls(folder)).groupby(CELL_OF_LAUNCH, sort=False, observed=True)["time_s"]
    for key, times_s in by_launch:
        ranks, competitor, size_bytes, launch = cast("tuple[int, str, int, str]", key)
        if (name := cell_id(ranks, competitor, size_bytes)) in titles:
            found.setdefault(name, {})[launch] = times_s.tolist()
    return found


def _kept(times: Sequence[float], most: int) -> list[float]:
    """Return at most `most` of them, in their order, in microseconds."""
    places = range(len(times))
    if len(times) > most:
        ascending = sorted(places, key=times.__getitem__)
        places = sorted(ascending[round(i * (len(times) - 1) / (most - 1))] for i in range(most))  # type: ignore
    return [float(f"{times[place] * 1e6:.{DIGITS}g}") for place in places]


# The times of one rank count on a page: a line for each size, with lower bounds, statistics and groups


MODELLED = ("modelled latency", "modelled bandwidth")  # bounds that are modelled, not measured
NONE, ABOVE = "-", "above 100 %"  # no known lower bound; the time is below it


class LimitLine(NamedTuple):
    """The lower bound of one size of one rank count."""

    size_bytes: int
    limit_s: float
    limit_by: str  # one of `evaluation.limits.LIMITS`, or of MODELLED
    shares: dict[str, str]  # algorithm -> `82 %`, and `82 % (95 %)` where its schedule has a higher bound of its own


def time_table(ranks: int, rows: Sequence[SummaryRow], least: Bounds | None) -> dict[str, Any]:
    """Return the times of one rank count: a line for each size, with a row of the summary for each
    algorithm.
    """
    lines = []
    for size_bytes in sorted({row["size_bytes"] for row in rows}):
        of_size = [row for row in competing(rows) if row["size_bytes"] == size_bytes]
        beside = [row for row in mockups(rows) if row["size_bytes"] == size_bytes]
        row_of = {row["competitor"]: row for row in (*of_size, *beside)}
        lowest = lowest_of(of_size)
        some = next(iter(row_of.values()))
        winner, floors = winner_of(lowest) if lowest else "", [number_of(some, name) for name in figures.REFERENCES]
        lines.append({"size_bytes": size_bytes, "row_of": row_of, "lowest": lowest, "winner": winner, "floors": floors})
    declared = next((row["nodes_declared"] for row in rows if row.get("nodes_declared")), None)
    marks = {
        "oversubscribed": any(row["oversubscribed"] for row in rows),
        "declared": declared,
        "floors": any(number_of(row, name) for row in rows for name in figures.REFERENCES),
    }
    place = {
        "ranks": ranks,
        "groups": rows[0].get("groups_in_words"),
    }
    of_limits = {
        "limits": limit_lines(rows, least),
        "statistics": statistics_table(rows),
    }
    return {**place, "lines": lines, **of_limits, **marks}


def limit_lines(rows: Sequence[SummaryRow], least: Bounds | None = None) -> list[LimitLine]:
    """Return a line for each size with a known lower bound, of rows of one rank count.

    `least`: the bounds of one byte by the run's models, used where no measured figure gives one; its name then says
    so.
    """
    lines: dict[int, LimitLine] = {}
    for row in sorted(competing(rows), key=lambda row: row["size_bytes"]):
        held = add_limit(row, least)
        if (limit_s := held.get("limit_s")) and (kind := held.get("limit_by")):
            line = lines.setdefault(row["size_bytes"], LimitLine(row["size_bytes"], limit_s, kind, {}))
            line.shares[row["competitor"]] = shares_text(held)
    return list(lines.values())


def add_limit(row: SummaryRow, least: Bounds | None) -> SummaryRow:
    """Return the row with its lower bound: by measured figures, else by models, if there is one and it has a time."""
    if row.get("limit_s") or least is None or not row["time_s"] or not row["size_bytes"]:
        return row
    limit_s, kind = max(zip((least.latency_s, least.bandwidth_s * row["size_bytes"]), MODELLED))
    return {**row, "limit_s": limit_s, "limit_by": kind, "of_limit": share_of_limit(limit_s, row["time_s"])}


def shares_text(row: SummaryRow) -> str:
    """Return the efficiency of a measured time, and in brackets that by its schedule's own bound, if higher."""
    limit_s, own_s = row.get("limit_s"), row.get("own_limit_s")
    if not limit_s:
        return NONE
    share = _percent(row.get("of_limit"))
    return f"{share} ({_percent(row.get('of_own_limit'))})" if own_s and own_s > limit_s else share


def _percent(share: float | None) -> str:
    return ABOVE if share is None else f"{100 * share:.0f} %"
