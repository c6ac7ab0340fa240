"""How one competitor stands to another: compared round by round, by a rule that can be checked by eye.

A round is the launches that share ranks and number: 4r-2, 4r-2-forced, 4r-2-ring. Two competitors are compared over the
rounds that both have, by their medians there. Nearly all rounds: so many that equals reach as many, one way or the
other, with a probability of at most 5 % (sign test; Conover, Practical Nonparametric Statistics, 1999, 3.4); five of
five count, too: 5/5, 6/6, 7/7, 8/8, 8/9, 9/10, 10/11, 10/12, 12/15, 15/20, 21/30.
"""

from collections.abc import Mapping
from statistics import median

from ..runs.cell import beside
from ..runs.schema import EQUAL, FASTEST, SLOWER, UNCLEAR
from ..stats import sign_test

FEWEST_ROUNDS = 5  # fewer show nothing
LEVEL = 0.05  # of the two-sided sign test
NEGLIGIBLE = 1.05  # a ratio of medians from which one is faster, up to which two may be equal
ALIKE = 1.1  # the largest ratio in any round of two that are equal
FEWEST_PROBABLE, PROBABLE = 2, 1.5  # rounds, and a ratio of medians, from which one is probably faster


def times_by_round(launch_medians: Mapping[str, float]) -> dict[str, float]:
    """Return the times of a cell by round, seconds; `launch_medians`: launch -> median."""
    return {beside(launch): time_s for launch, time_s in launch_medians.items()}


def ratios_by_round(launch_medians: Mapping[str, float], others: Mapping[str, float]) -> dict[str, float]:
    """Return the first over the second in each round that both have; both are launch -> median."""
    times_s, others_s = times_by_round(launch_medians), times_by_round(others)
    return {name: times_s[name] / others_s[name] for name in times_s if name in others_s}


def is_nearly_all(count: int, of: int) -> bool:
    """Return whether so many of these rounds are nearly all."""
    return 2 * count > of and (count == of >= FEWEST_ROUNDS or sign_test(count, of) <= LEVEL)


def relation(times_s: Mapping[str, float], others_s: Mapping[str, float]) -> str:
    """Return how the first stands to the second, by their times by round: slower, fastest, equal or unclear.

    Slower: in nearly all common rounds, and its median over them by NEGLIGIBLE; fastest: the reverse. Equal: the
    medians within NEGLIGIBLE and every round within ALIKE. Fewer than FEWEST_ROUNDS common rounds are unclear.
    """
    pairs = [(times_s[name], others_s[name]) for name in times_s if name in others_s]
    if len(pairs) < FEWEST_ROUNDS:
        return UNCLEAR
    middle_s, other_s = (median(of) for of in zip(*pairs))
    if middle_s >= NEGLIGIBLE * other_s and is_nearly_all(sum(one > other for one, other in pairs), len(pairs)):
        return SLOWER
    if other_s >= NEGLIGIBLE * middle_s and is_nearly_all(sum(one < other for one, other in pairs), len(pairs)):
        return FASTEST
    is_equal = 1 / NEGLIGIBLE <= middle_s / other_s <= NEGLIGIBLE
    return EQUAL if is_equal and all(1 / ALIKE <= one / other <= ALIKE for one, other in pairs) else UNCLEAR


def is_probably_faster(times_s: Mapping[str, float], others_s: Mapping[str, float]) -> bool:
    """Return whether the first is faster in each of a few common rounds, and by PROBABLE in the median.

    Pairs that differ by 1.5 to 2 times in one allocation have the same order in another one in 97 % of cases, and in
    more beyond (3,589 pairs of published measurements).
    """
    pairs = [(times_s[name], others_s[name]) for name in times_s if name in others_s]
    if len(pairs) < FEWEST_PROBABLE:
        return False
    middle_s, other_s = (median(of) for of in zip(*pairs))
    return all(one < other for one, other in pairs) and PROBABLE * middle_s <= other_s
