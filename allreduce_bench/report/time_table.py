"""The times of one rank count on a page: a line for each size, with the lower bounds of its cells."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..evaluation.competing import competing, mockups
from ..evaluation.summary_row import SummaryRow, number_of
from . import figures
from .grid import lowest_of, winner_of
from .statistics_table import statistics_table

ABOVE = "above 100 %"  # the time is below its lower bound


class LimitLine(NamedTuple):
    """The lower bound of one size of one rank count."""

    size_bytes: int
    limit_s: float
    limit_by: str  # one of `evaluation.limits.LIMITS`
    shares: dict[str, str]  # algorithm -> `82 %`, and `82 % (95 %)` where its schedule has a higher bound of its own


def time_table(ranks: int, rows: Sequence[SummaryRow]) -> dict[str, Any]:
    """Return the times of one rank count: a line for each size, with a row of the summary for each algorithm."""
    lines = []
    for size_bytes in sorted({row["size_bytes"] for row in rows}):
        of_size = [row for row in competing(rows) if row["size_bytes"] == size_bytes]
        beside = [row for row in mockups(rows) if row["size_bytes"] == size_bytes]
        row_of = {row["competitor"]: row for row in (*of_size, *beside)}
        lowest = lowest_of(of_size)
        some = next(iter(row_of.values()))
        winner, floors = winner_of(lowest) if lowest else "", [number_of(some, name) for name in figures.REFERENCES]
        lines.append({"size_bytes": size_bytes, "row_of": row_of, "lowest": lowest, "winner": winner, "floors": floors})
    return {
        "ranks": ranks,
        "groups": rows[0].get("groups_in_words"),
        "lines": lines,
        "limits": limit_lines(rows),
        "statistics": statistics_table(rows),
        "oversubscribed": any(row["oversubscribed"] for row in rows),
        "declared": next((row["nodes_declared"] for row in rows if row.get("nodes_declared")), None),
        "floors": any(number_of(row, name) for row in rows for name in figures.REFERENCES),
    }


def limit_lines(rows: Sequence[SummaryRow]) -> list[LimitLine]:
    """Return a line for each size with a known lower bound, of rows of one rank count."""
    lines: dict[int, LimitLine] = {}
    for row in sorted(competing(rows), key=lambda row: row["size_bytes"]):
        if (limit_s := row.get("limit_s")) and (kind := row.get("limit_by")):
            line = lines.setdefault(row["size_bytes"], LimitLine(row["size_bytes"], limit_s, kind, {}))
            line.shares[row["competitor"]] = shares_text(row)
    return list(lines.values())


def shares_text(row: SummaryRow) -> str:
    """Return the efficiency of a measured time, and in brackets that by its schedule's own bound, if higher."""
    own_s, share = row.get("own_limit_s"), _percent(row.get("of_limit"))
    return f"{share} ({_percent(row.get('of_own_limit'))})" if own_s and own_s > (row["limit_s"] or 0.0) else share


def _percent(share: float | None) -> str:
    return ABOVE if share is None else f"{100 * share:.0f} %"
