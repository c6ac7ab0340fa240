"""Verdicts on cells of two runs whose launches alternated: by rounds, launch k of one beside launch k of the other."""

from collections.abc import Mapping, Sequence
from statistics import median

from ..evaluation.rounds import is_nearly_all
from ..runs.cell import Launch
from .pairs import PairVerdict, count_pairs, judge_counts


def pair_rounds(before: Mapping[str, float], after: Mapping[str, float]) -> list[tuple[float, float]]:
    """Return the times of each round that both runs have; `before` and `after`: launch -> median of a cell, seconds."""
    sides = [{Launch.named(name).number: time_s for name, time_s in side.items()} for side in (before, after)]
    return [(time_s, sides[1][number]) for number, time_s in sorted(sides[0].items()) if number in sides[1]]


def judge_rounds(pairs: Sequence[tuple[float, float]], threshold: float) -> PairVerdict:
    """Judge a cell by at least `evaluation.rounds.FEWEST_ROUNDS` rounds; `threshold` is a share.

    Slower or faster: so in nearly all rounds, and in the median by the threshold. Same: the medians within the
    threshold, and each round within twice it.
    """
    before_s, after_s = (median(times_s) for times_s in zip(*pairs))
    return judge_counts(count_pairs(pairs, threshold), after_s / before_s, threshold, _is_enough)


def _is_enough(verdict: str, count: int, of: int) -> bool:
    return count == of if verdict == "same" else is_nearly_all(count, of)
