"""The times of one rank count as a page shows them: a line for each size, with limits, statistics and groups."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..evaluation import group_losses
from ..evaluation.competitors import competing, ways_of
from ..evaluation.limits import share_of_limit
from ..evaluation.summary_row import SummaryRow, competitor_of, number_of
from ..models.bounds import Bounds
from ..runs.plan import Plan
from . import distribution, figures
from .grid import lowest_of, winner_of

MODELLED = ("modelled latency", "modelled bandwidth")  # of which a limit is made that is no measured one
NONE, ABOVE = "-", "above 100 %"  # no limit is known, or the time is below it


class LimitLine(NamedTuple):
    """The limit of one size of one rank count and cache."""

    nbytes: int
    limit_s: float
    limit_by: str  # one of `evaluation.limits.LIMITS`, or of MODELLED
    shares: dict[str, str]  # algorithm -> `82 %`, and `82 % (95 %)` where its schedule has a higher limit of its own


def time_table(plan: Plan, ranks: int, cache: str, rows: Sequence[SummaryRow], least: Bounds | None) -> dict[str, Any]:
    """The times of one rank count and cache: a line for each size, in it a row of the summary for each algorithm."""
    lines = []
    for nbytes in sorted({row["nbytes"] for row in rows}):
        row_of = {competitor_of(row): row for row in competing(rows) if row["nbytes"] == nbytes}
        lowest = lowest_of(row_of.values())
        some = next(iter(row_of.values()))
        winner, floors = winner_of(lowest) if lowest else "", [number_of(some, name) for name in figures.FLOORS]
        lines.append({"nbytes": nbytes, "row_of": row_of, "lowest": lowest, "winner": winner, "floors": floors})
    declared = next((row["nodes_declared"] for row in rows if row.get("nodes_declared")), None)
    marks = {
        "oversubscribed": any(row["oversubscribed"] for row in rows),
        "declared": declared,
        "floors": any(number_of(row, name) for row in rows for name in figures.FLOORS),
    }
    groups = {"groups": rows[0].get("groups_in_words"), "losses": group_losses.loss_rows(rows) if plan.groups else []}
    tables = {
        "limits": limit_lines(rows, least),
        "statistics": distribution.tables([row for row in rows if ways_of([row]) == ways_of(rows)[:1]]),
    }
    return {"ranks": ranks, "cache": cache, "lines": lines, **tables, **marks, **groups}


def limit_lines(rows: Sequence[SummaryRow], least: Bounds | None = None) -> list[LimitLine]:
    """A line for each size at which a limit is known, of rows of one rank count and cache.

    `least`: the bounds of one byte by the run's models; where no measured figure gives a limit, they do, and its name
    says so.
    """
    lines: dict[int, LimitLine] = {}
    for row in sorted(competing(rows), key=lambda row: row["nbytes"]):
        held = row if row.get("limit_s") else _with_modelled_limit(row, least)
        if (limit_s := held.get("limit_s")) and (kind := held.get("limit_by")):
            line = lines.setdefault(row["nbytes"], LimitLine(row["nbytes"], limit_s, kind, {}))
            line.shares[row["algorithm"]] = shares_text(held)
    return list(lines.values())


def _with_modelled_limit(row: SummaryRow, least: Bounds | None) -> SummaryRow:
    """The row with the limit by models, if there is one and it has a time."""
    if least is None or not row["time_s"] or not row["nbytes"]:
        return row
    limit_s, kind = max(zip((least.latency_s, least.bandwidth_s * row["nbytes"]), MODELLED))
    return {**row, "limit_s": limit_s, "limit_by": kind, "of_limit": share_of_limit(limit_s, row["time_s"])}


def shares_text(row: SummaryRow) -> str:
    """What share of its limit a measured time reached, and in brackets of that of its own schedule if it is higher."""
    limit_s, own_s = row.get("limit_s"), row.get("own_limit_s")
    if not limit_s:
        return NONE
    share = _percent(row.get("of_limit"))
    return f"{share} ({_percent(row.get('of_own_limit'))})" if own_s and own_s > limit_s else share


def _percent(share: float | None) -> str:
    return ABOVE if share is None else f"{100 * share:.0f} %"
