"""The ranks of a straggler report as a table, the latest first."""

from math import isfinite

import numpy as np

from ..tables import Column, Screen, columns_of, fitted
from ..units import format_time
from .straggler_sentences import Judged

MOST_RANKS = 16  # rows; suspects are always among them
HEAD = ("rank", "node", "late", "of the step", "z", "last", "p", "caused", "suffered")
LEFT_OUT = (4, 6, 8, 7)  # columns, in this order, where a screen is narrow


class RankOrder:
    """The ranks of a report, suspects first, then the latest."""

    def __init__(self, judged: Judged):
        report = judged.report
        self.suspects = [rank for suspect in report.suspects for rank in suspect.ranks]
        late = np.where(np.isfinite(report.slower_by), report.slower_by, -np.inf)
        others = [int(rank) for rank in np.argsort(-late, kind="stable") if rank not in self.suspects]
        self.ranks = [*dict.fromkeys(self.suspects), *others]


def rank_rows(judged: Judged, most: int = MOST_RANKS) -> tuple[list[list[str]], int]:
    """The rows below HEAD, and how many ranks are left out."""
    order = RankOrder(judged)
    shown = order.ranks[: max(most, len(set(order.suspects)))]
    return [_row(judged, rank) for rank in shown], len(order.ranks) - len(shown)


def _row(judged: Judged, rank: int) -> list[str]:
    report, arrivals = judged.report, judged.arrivals
    node = arrivals.node_of[rank]
    late = float(report.slower_by[rank])
    known = isfinite(late)
    p_value = float(report.p_value[rank])
    return [
        str(rank),
        arrivals.nodes[node] if arrivals.nodes else str(node),
        _signed_time(late * report.undisturbed_s) if known else "unknown",
        f"{100 * late + 0.0:.1f} %".replace("-0.0 ", "0.0 ") if known else "",
        f"{report.z[rank]:.1f}" if isfinite(report.z[rank]) else "",
        f"{100 * report.last_count[rank] / max(1, report.steps):.0f} %",
        "<1e-9" if p_value < 1e-9 else f"{p_value:.1g}",
        format_time(float(report.caused_s[rank])),
        format_time(float(report.suffered_s[rank])) if known else "",
    ]


def _signed_time(time_s: float) -> str:
    return f"-{format_time(-time_s)}" if time_s < 0 else format_time(time_s)


def rank_table(judged: Judged, screen: Screen) -> list[str]:
    """The lines of the table, fitted to the screen."""
    rows, left = rank_rows(judged)
    columns: list[Column] = columns_of([list(HEAD), *rows], left=(1,), left_out=LEFT_OUT)
    more = [f"and {left} ranks more, all less late; --format json has every rank"] if left else []
    return [*fitted(columns, screen, "--format json"), *more]
