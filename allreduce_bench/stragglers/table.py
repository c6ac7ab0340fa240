"""The ranks of a straggler report as a table, the latest first."""

from math import isfinite

import numpy as np

from ..tables import Column, Screen, columns_of, fitted
from ..units import format_time
from .localise import GROUP, RANK
from .sentences import Judged, often_words, since_words
from .silence import z_words
from .verdict import NO_READY_TIMES, Suspect

MOST_RANKS = 16  # rows; suspects are always among them
HEAD = ("rank", "node", "late", "of a step", "z", "last", "p", "caused", "suffered")
SINCE = "since"  # one more column, where a suspect is slow for a stretch, or at times: its row is of these steps
LEFT_OUT = (4, 6, 8, 7)  # columns, in this order, where a screen is narrow


class RankOrder:
    """The ranks of a report, suspects first, then the latest."""

    def __init__(self, judged: Judged):
        report = judged.report
        self.suspects = [rank for suspect in report.suspects for rank in suspect.ranks]
        self.all_shown = {rank for suspect in report.suspects if suspect.kind != GROUP for rank in suspect.ranks}
        late = np.where(np.isfinite(report.slower_by), report.slower_by, -np.inf)
        others = [int(rank) for rank in np.argsort(-late, kind="stable") if rank not in self.suspects]
        first = sorted(dict.fromkeys(self.suspects), key=lambda rank: rank not in self.all_shown)
        self.ranks = [*first, *others]


def table_head(judged: Judged) -> tuple[str, ...]:
    """The names of the columns."""
    return (*HEAD, SINCE) if any(when_words(suspect, judged) for suspect in judged.report.suspects) else HEAD


def when_words(suspect: Suspect, judged: Judged) -> str:
    """In which steps it is slow; empty: in all."""
    return often_words(suspect) or since_words(suspect, judged)


def rank_rows(judged: Judged, most: int = MOST_RANKS) -> tuple[list[list[str]], int]:
    """The rows below `table_head`, and how many ranks are left out; none where nobody says when it is ready."""
    if judged.report.silence == NO_READY_TIMES:
        return [], 0
    order = RankOrder(judged)
    shown = order.ranks[: max(most, len(order.all_shown))]
    own = {suspect.ranks[0]: suspect for suspect in judged.report.suspects if suspect.kind == RANK}
    since = {rank: when_words(each, judged) for each in judged.report.suspects for rank in each.ranks}
    has_since = table_head(judged) != HEAD
    rows = [_row(judged, rank, own.get(rank)) + [since.get(rank, "")] * has_since for rank in shown]
    return rows, len(order.ranks) - len(shown)


def _row(judged: Judged, rank: int, suspect: Suspect | None) -> list[str]:
    """What is known of a rank in all steps; of a rank that is a suspect the figures of its sentence."""
    report, arrivals = judged.report, judged.arrivals
    node = arrivals.node_of[rank]
    late, z = (suspect.slower_by, suspect.z) if suspect else (float(report.slower_by[rank]), float(report.z[rank]))
    last = suspect.last_share if suspect else float(report.last_count[rank]) / max(1, report.steps)
    p_value = suspect.p_value if suspect else float(report.p_value[rank])
    known = isfinite(late)
    return [
        str(rank),
        arrivals.nodes[node] if arrivals.nodes else str(node),
        _signed_time(late * report.undisturbed_s) if known else "unknown",
        f"{100 * late + 0.0:.1f} %".replace("-0.0 ", "0.0 ") if known else "",
        z_words(z, ".3g" if suspect else ".1f") if isfinite(z) else "",
        f"{100 * last:.3g} %" if suspect else f"{100 * last:.0f} %",
        "" if not isfinite(p_value) else "<1e-9" if p_value < 1e-9 else f"{p_value:.1g}",
        _time(suspect.caused_s if suspect else float(report.caused_s[rank])),
        _time(float(report.suffered_s[rank])) if known else "",
    ]


def _time(time_s: float) -> str:
    return format_time(time_s) if time_s else "0"


def _signed_time(time_s: float) -> str:
    return f"-{format_time(-time_s)}" if time_s < 0 else format_time(time_s)


def left_words(judged: Judged, left: int) -> str:
    """Of ranks that have no row: `48 ranks more, all less late`; those of a group may be as late."""
    return f"{left} ranks more" + ", all less late" * (not judged.report.groups)


def rank_table(judged: Judged, screen: Screen) -> list[str]:
    """The lines of the table, fitted to the screen."""
    rows, left = rank_rows(judged)
    if not rows:
        return []
    columns: list[Column] = columns_of([list(table_head(judged)), *rows], left=(1,), left_out=LEFT_OUT)
    more = [f"and {left_words(judged, left)}; --format json has every rank"] if left else []
    return [*fitted(columns, screen, "--format json"), *more]
