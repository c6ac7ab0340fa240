"""Who wins which class of sizes of a summary, by how much, as facts."""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from ..stats import geometric_mean
from .summary import by_size
from .summary_row import SummaryRow, time_of

CLASSES = (("below 8 KiB", 0, 8 * 1024), ("8 KiB to 1 MiB", 8 * 1024, 1024**2), ("1 MiB and above", 1024**2, inf))

NEGLIGIBLE = 1.05  # a ratio of times below which nobody is called the winner


UNMEASURED = "unmeasured"  # no algorithm was measured at every size
SPLIT = "split"  # whoever is best over all sizes is clearly beaten at some
TIE = "tie"  # native and others are too near to each other
WON = "won"


class Span(NamedTuple):
    """Neighbouring sizes, bytes, at which one algorithm is the fastest."""

    algorithm: str
    low: int
    high: int


class Verdict(NamedTuple):
    """What there is to say of one class of sizes at one rank count."""

    ranks: int
    sizes: str  # the class
    kind: str  # UNMEASURED, SPLIT, TIE or WON
    winner: str = ""  # of TIE and WON: who has the lowest mean
    near: tuple[str, ...] = ()  # who is as fast, by ascending time
    rival: str = ""  # whom the winner is compared with; empty: nobody
    factor: float = 1.0  # the rival's time over the winner's: the geometric mean over the sizes
    size_count: int = 1  # sizes that decided
    nbytes: int = 0  # the largest of them
    time_s: float = 0.0  # of the winner at that size
    spans: tuple[Span, ...] = ()  # of SPLIT
    absent: tuple[str, ...] = ()  # of TIE and WON: who was not measured at every size


def verdicts(rows: Sequence[SummaryRow]) -> list[Verdict]:
    """One verdict per rank count and class of sizes that was measured, with a warm cache if that was measured."""
    class_verdicts, measured = [], by_size(rows)
    cache = "warm" if any(cache == "warm" for _, _, cache in measured) else "cold"
    for ranks in sorted({row["ranks"] for row in rows if row["ranks"] > 1}):
        rows_by_size = {n: measured[p, n, c] for p, n, c in measured if (p, c) == (ranks, cache) and n}
        for label, low, high in CLASSES:
            rows_of_class = {n: rows for n, rows in rows_by_size.items() if low <= n < high}
            if rows_of_class:
                sizes = label if cache == "warm" else f"{label}, cold cache"
                class_verdicts.append(_verdict(ranks, sizes, rows_of_class))
    return class_verdicts


def _verdict(ranks: int, label: str, rows_by_size: dict[int, list[SummaryRow]]) -> Verdict:
    """The winner has the lowest geometric mean of time over the fastest time, among those measured at every size.

    Sizes at which fewer algorithms have a time than at others do not count, and whoever is clearly beaten at some size
    does not win.
    """
    most = max(map(len, rows_by_size.values()))
    rows_by_size = {nbytes: rows for nbytes, rows in rows_by_size.items() if len(rows) == most}
    slowdown: dict[str, list[float]] = {}
    for rows_of_size in rows_by_size.values():
        best = min(map(time_of, rows_of_size))
        for row in rows_of_size:
            slowdown.setdefault(row["algorithm"], []).append(time_of(row) / best)
    score = {name: geometric_mean(values) for name, values in slowdown.items() if len(values) == len(rows_by_size)}
    if not score:
        return Verdict(ranks, label, UNMEASURED)
    ordered = sorted(score, key=score.__getitem__)
    if any(_clearly_beaten(rows, ordered[0]) for rows in rows_by_size.values()):
        return Verdict(ranks, label, SPLIT, spans=_spans(rows_by_size))
    absent = tuple(name for name in slowdown if name not in score)
    return _with_rivals(Verdict(ranks, label, WON, ordered[0], absent=absent), ordered[1:], score, rows_by_size)


def _with_rivals(
    verdict: Verdict, others: list[str], score: dict[str, float], rows_by_size: dict[int, list[SummaryRow]]
) -> Verdict:
    """The verdict with what the winner is compared with: native, if others are not as fast as it."""
    winner, largest = verdict.winner, max(rows_by_size)
    near = tuple(
        name
        for name in others
        if score[name] < NEGLIGIBLE * score[winner] or _tied_throughout(rows_by_size, winner, name)
    )
    kind = TIE if "native" in near or (winner == "native" and near) else WON
    rival = "native" if "native" in score else next((name for name in others if name not in near), "")
    if winner == "native":
        rival = others[0] if others else ""
    row = next(row for row in rows_by_size[largest] if row["algorithm"] == winner)
    return verdict._replace(
        kind=kind,
        near=near,
        rival=rival,
        factor=score[rival] / score[winner] if rival else 1.0,
        size_count=len(rows_by_size),
        nbytes=largest,
        time_s=time_of(row),
    )


def _clearly_beaten(rows_of_size: list[SummaryRow], name: str) -> bool:
    """Whether the data tell another one of this size from `name`, and it is faster by more than is negligible."""
    best = min(rows_of_size, key=time_of)
    own = next(row for row in rows_of_size if row["algorithm"] == name)
    return own["rank_of_best"] not in ("best", "tie") and time_of(own) > NEGLIGIBLE * time_of(best)


def _spans(rows_by_size: dict[int, list[SummaryRow]]) -> tuple[Span, ...]:
    """Who is fastest where."""
    spans: list[Span] = []
    for nbytes, rows_of_size in sorted(rows_by_size.items()):
        name = str(min(rows_of_size, key=time_of)["algorithm"])
        if spans and spans[-1].algorithm == name:
            spans[-1] = spans[-1]._replace(high=nbytes)
        else:
            spans.append(Span(name, nbytes, nbytes))
    return tuple(spans)


def _tied_throughout(rows_by_size: dict[int, list[SummaryRow]], winner: str, name: str) -> bool:
    """Whether intervals say at every size that the two cannot be told apart; too few calls say nothing."""
    return all(
        row["rank_of_best"] in ("best", "tie") and row["interval"] != "range"
        for rows in rows_by_size.values()
        for row in rows
        if row["algorithm"] in (winner, name)
    )
