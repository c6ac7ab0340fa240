"""The times of one rank count as a page shows them: a line for each size, with limits, statistics and groups."""

from collections.abc import Sequence
from typing import Any

from ..evaluation import group_losses
from ..evaluation.competitors import competing, ways_of
from ..evaluation.summary_row import SummaryRow, competitor_of
from ..models.bounds import Bounds
from ..runs.plan import Plan
from . import distribution, figures
from .grid import lowest_of, winner_of
from .limit_table import limit_lines


def time_table(plan: Plan, ranks: int, cache: str, rows: Sequence[SummaryRow], least: Bounds | None) -> dict[str, Any]:
    """The times of one rank count and cache: a line for each size, in it a row of the summary for each algorithm."""
    lines = []
    for nbytes in sorted({row["nbytes"] for row in rows}):
        row_of = {competitor_of(row): row for row in competing(rows) if row["nbytes"] == nbytes}
        lowest = lowest_of(row_of.values())
        some = next(iter(row_of.values()))
        winner, floors = winner_of(lowest) if lowest else "", [some[name] for name in figures.FLOORS]
        lines.append({"nbytes": nbytes, "row_of": row_of, "lowest": lowest, "winner": winner, "floors": floors})
    declared = next((row["nodes_declared"] for row in rows if row.get("nodes_declared")), None)
    marks = {
        "oversubscribed": any(row["oversubscribed"] for row in rows),
        "declared": declared,
        "floors": any(row[name] for row in rows for name in figures.FLOORS),
    }
    groups = {"groups": rows[0].get("groups_in_words"), "losses": group_losses.loss_rows(rows) if plan.groups else []}
    tables = {
        "limits": limit_lines(rows, least),
        "statistics": distribution.tables([row for row in rows if ways_of([row]) == ways_of(rows)[:1]]),
    }
    return {"ranks": ranks, "cache": cache, "lines": lines, **tables, **marks, **groups}
