"""The ranked rows of one size, or of several sizes together, compared pair by pair over their launches."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import exp
from statistics import fmean
from typing import NamedTuple

from ..stats import LEAST_FOR_INTERVAL
from .grade import NOT_RELIABLE
from .summary_row import SummaryRow, competitor_of, time_of
from .telling import Difference, differences, drawn_in, launch_ratios

IMPORTED = "imported"  # the executor of rows whose repetitions are means of many calls

Pair = tuple[int, str, str]  # nbytes, algorithm of the numerator, algorithm of the denominator
Question = tuple[str, str, Sequence[int]]  # algorithms of numerator and denominator, sizes taken together


class Contest(NamedTuple):
    """The ranked rows of one size."""

    rows: Mapping[str, SummaryRow]  # by algorithm
    lowest: str  # the algorithm of the lowest time
    is_open: bool  # times are reliable, and no doubted one may be lower

    @property
    def others(self) -> list[str]:
        """All algorithms but the one of the lowest time."""
        return [name for name in self.rows if name != self.lowest]


def contest_of(rows: Sequence[SummaryRow]) -> Contest | None:
    """The contest between the measured rows of one size; None: fewer than two can be ranked."""
    ranked = {competitor_of(row): row for row in rows if row["doubt"] is None}
    if len(ranked) < 2:
        return None
    lowest = min(ranked.values(), key=time_of)
    doubted = [row for row in rows if row["doubt"] is not None]
    is_lowest = all(min(row["launch_medians"].values()) > time_of(lowest) for row in doubted)
    return Contest(ranked, competitor_of(lowest), is_lowest and lowest["grade"] != NOT_RELIABLE)


def has_enough_calls(row: SummaryRow) -> bool:
    """Whether its launches have enough calls for a median."""
    return row["executor"] == IMPORTED or row["repetitions"] >= LEAST_FOR_INTERVAL * row["launches"]


def told_pairs(contests: Mapping[int, Contest]) -> dict[Pair, Difference]:
    """The comparisons of the pairs of each size, both ways; all pairs share their spread."""
    ratios = _ratios_of_pairs(contests)
    told: dict[Pair, Difference] = {}
    for (nbytes, first, second), difference in zip(ratios, differences([list(of.values()) for of in ratios.values()])):
        if difference:
            told |= {(nbytes, first, second): difference, (nbytes, second, first): difference.inverse}
    return told


def told_means(contests: Mapping[int, Contest], questions: Sequence[Question]) -> list[Difference | None]:
    """The ratio of the times of two algorithms, as the mean over the sizes of a question at which both are ranked.

    None: too few launches have all of these. Outliers of disturbed launches are drawn in before the mean is taken.
    """
    ratios = _ratios_of_pairs(contests)
    drawn = {pair: (list(ratios[pair]), logs) for pair, logs in zip(ratios, drawn_in(list(ratios.values())))}
    means, kept = [], []
    for name, other, sizes in questions:
        signs_and_pairs = [
            (sign, (n, *names)) for n in sizes for sign, names in ((1, (name, other)), (-1, (other, name)))
        ]
        of_sizes = [(sign, *drawn[pair]) for sign, pair in signs_and_pairs if pair in drawn]
        by_launch = [dict(zip(launches, sign * logs.values)) for sign, launches, logs in of_sizes]
        common = [launch for launch in by_launch[0] if all(launch in of for of in by_launch)] if by_launch else []
        means.append([exp(fmean(of[launch] for of in by_launch)) for launch in common])
        kept.append(fmean(logs.kept for *_, logs in of_sizes) if of_sizes else 1.0)
    return differences(means, kept)


def _ratios_of_pairs(contests: Mapping[int, Contest]) -> dict[Pair, dict[str, float]]:
    """Of each pair that has enough calls, in one order: launch -> ratio."""
    return {
        (nbytes, first, second): launch_ratios(contest.rows[first], contest.rows[second])
        for nbytes, contest in contests.items()
        for first, second in combinations(contest.rows, 2)
        if has_enough_calls(contest.rows[first]) and has_enough_calls(contest.rows[second])
    }
