"""Verdicts on cells of two runs whose launches alternated: by rounds, launch k of one beside launch k of the other."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from ..evaluation.rounds import FEWEST_ROUNDS, is_nearly_all
from ..runs.cell import Launch


class RoundVerdict(NamedTuple):
    """The verdict on a cell, and the medians over the common rounds."""

    verdict: str  # slower, faster, same, undecided
    reason: str  # `slower in 5 of 5 rounds`
    baseline_s: float
    new_s: float
    rounds: int


def pair_rounds(before: Mapping[str, float], after: Mapping[str, float]) -> list[tuple[float, float]]:
    """Return the times of each round that both runs have; `before` and `after`: launch -> median of a cell, seconds."""
    sides = [{Launch.named(name).number: time_s for name, time_s in side.items()} for side in (before, after)]
    return [(time_s, sides[1][number]) for number, time_s in sorted(sides[0].items()) if number in sides[1]]


def judge_rounds(pairs: Sequence[tuple[float, float]], threshold: float) -> RoundVerdict:
    """Judge a cell with at least one round; `threshold` is a share.

    Slower or faster: so in nearly all rounds, and in the median by the threshold. Same: the medians within the
    threshold, and each round within twice it.
    """
    before, after = (median(times_s) for times_s in zip(*pairs))
    count, most = len(pairs), 1 + threshold
    slower, faster = sum(new > old for old, new in pairs), sum(new < old for old, new in pairs)
    if count < FEWEST_ROUNDS:
        verdict, reason = "undecided", f"{count} common rounds; a verdict needs {FEWEST_ROUNDS}"
    elif after > before * most and is_nearly_all(slower, count):
        verdict, reason = "slower", f"slower in {slower} of {count} rounds"
    elif after * most < before and is_nearly_all(faster, count):
        verdict, reason = "faster", f"faster in {faster} of {count} rounds"
    else:
        is_same = 1 / most <= after / before <= most
        is_same &= all(1 / (1 + 2 * threshold) <= new / old <= 1 + 2 * threshold for old, new in pairs)
        verdict, reason = (
            "same" if is_same else "undecided",
            f"slower in {slower}, faster in {faster} of {count} rounds",
        )
    return RoundVerdict(verdict, reason, before, after, count)
