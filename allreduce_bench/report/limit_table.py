"""The lower limit of each size and what share of it each all-reduce reached, as a table of the page."""

from collections.abc import Sequence
from typing import NamedTuple

from ..evaluation.competitors import competing
from ..evaluation.summary_row import SummaryRow

NONE, ABOVE = "-", "above 100 %"  # no limit is known, or the time is below it


class LimitLine(NamedTuple):
    """The limit of one size of one rank count and cache."""

    nbytes: int
    limit_s: float
    limit_by: str  # one of `evaluation.limits.LIMITS`
    shares: dict[str, str]  # algorithm -> `82 %`, and `82 % (95 %)` where its schedule has a higher limit of its own


def limit_lines(rows: Sequence[SummaryRow]) -> list[LimitLine]:
    """A line for each size at which a limit is known, of rows of one rank count and cache."""
    lines: dict[int, LimitLine] = {}
    for row in sorted(competing(rows), key=lambda row: row["nbytes"]):
        if (limit_s := row.get("limit_s")) and (kind := row.get("limit_by")):
            line = lines.setdefault(row["nbytes"], LimitLine(row["nbytes"], limit_s, kind, {}))
            line.shares[row["algorithm"]] = shares_text(row)
    return list(lines.values())


def shares_text(row: SummaryRow) -> str:
    """What share of its limit a measured time reached, and in brackets of that of its own schedule if it is higher."""
    limit_s, own_s = row.get("limit_s"), row.get("own_limit_s")
    if not limit_s:
        return NONE
    share = _percent(row.get("of_limit"))
    return f"{share} ({_percent(row.get('of_own_limit'))})" if own_s and own_s > limit_s else share


def _percent(share: float | None) -> str:
    return ABOVE if share is None else f"{100 * share:.0f} %"
