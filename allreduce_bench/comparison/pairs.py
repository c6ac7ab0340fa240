"""Verdicts on cells over all pairs of a time of the baseline and one of the new runs, by a rule to check by eye.

With five launches a side that differ by 10 % it finds 89 % of cells that are 1.3 times slower, with 10 launches 95 %,
with 20 launches 98 %. Of equal cells it calls at most 1.8 % slower and 1.8 % faster with five launches a side, whatever
their noise, and 0.1 % with ten (`tests/studies/error_rates.py`).
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from statistics import median
from typing import NamedTuple

from ..evaluation.single_algorithm import direction_of

FEWEST = 4  # launches or jobs a side: of three, nearly all pairs of equal sides would be slower in 5 % of cells


class PairCounts(NamedTuple):
    """Pairs of an old and a new time: all of them, and those in which the new one is slower, faster or the same."""

    slower: int
    faster: int
    same: int  # within twice the threshold
    pairs: int


class PairVerdict(NamedTuple):
    """The verdict on a cell, and the pairs on which it rests."""

    verdict: str  # slower, faster, same, undecided
    counts: PairCounts


def judge_pairs(before_s: Sequence[float], after_s: Sequence[float], threshold: float) -> PairVerdict:
    """Judge a cell by its times on both sides, seconds, at least FEWEST each; `threshold` is a share.

    Slower or faster: so in at least nine of ten of all pairs of an old and a new time, and medians apart by the
    threshold. Same: medians within the threshold, and nine of ten pairs within twice it. Undecided: the rest.
    """
    counts = count_pairs(product(before_s, after_s), threshold)
    return judge_counts(counts, median(after_s) / median(before_s), threshold, _is_nine_of_ten)


def count_pairs(pairs: Iterable[tuple[float, float]], threshold: float) -> PairCounts:
    """Count pairs of an old and a new time."""
    ratios = [new / old for old, new in pairs]
    same = sum(direction_of(ratio, 2 * threshold) == "same" for ratio in ratios)
    return PairCounts(sum(ratio > 1 for ratio in ratios), sum(ratio < 1 for ratio in ratios), same, len(ratios))


def judge_counts(
    counts: PairCounts, ratio: float, threshold: float, is_enough: Callable[[str, int, int], bool]
) -> PairVerdict:
    """Judge a cell by the ratio of its medians, if a verdict, its pairs, and all pairs pass `is_enough`."""
    verdict = direction_of(ratio, threshold)
    holds = is_enough(verdict, getattr(counts, verdict), counts.pairs)
    return PairVerdict(verdict if holds else "undecided", counts)


def _is_nine_of_ten(verdict: str, count: int, of: int) -> bool:
    return 10 * count >= 9 * of
