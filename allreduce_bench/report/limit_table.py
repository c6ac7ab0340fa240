"""The lower limit of each size and what share of it each all-reduce reached, as a table of the page."""

from collections.abc import Sequence
from typing import NamedTuple

from ..evaluation.competitors import competing
from ..evaluation.limits import share_of_limit
from ..evaluation.summary_row import SummaryRow
from ..models.bounds import Bounds

MODELLED = ("modelled latency", "modelled bandwidth")  # of which a limit is made that is no measured one
NONE, ABOVE = "-", "above 100 %"  # no limit is known, or the time is below it


class LimitLine(NamedTuple):
    """The limit of one size of one rank count and cache."""

    nbytes: int
    limit_s: float
    limit_by: str  # one of `evaluation.limits.LIMITS`, or of MODELLED
    shares: dict[str, str]  # algorithm -> `82 %`, and `82 % (95 %)` where its schedule has a higher limit of its own


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
