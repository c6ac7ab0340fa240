"""The decisions about the cells of a comparison (slower, faster, same or undecided), and their error rates.

Two errors are held, each over what it harms:

* A false alarm, `slower` or `faster` of a cell whose true ratio is within the threshold, in at most 5 % of whole
  comparisons, however many cells they have. A cell is tested against the threshold, not against 1, by both tails of
  Student's t (TREAT: McCarthy and Smyth, Bioinformatics 25, 2009), and cells together by Holm's step-down procedure
  (Scand. J. Stat. 6, 1979), which supposes nothing of how they depend on each other and finds no less than Bonferroni.
  What is borrowed from other cells makes no cell's spread smaller here: one noisier than the rest raises no alarm.
* A false `same`, of a cell whose true ratio is at the threshold or beyond, in at most 5 % of such cells, each for
  itself, since it fails no gate. Two one-sided tests (Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987), which is to
  say: the 90 % interval lies within the threshold.

So whatever is slower or faster has an interval beyond the threshold; what has such an interval may be undecided still.

What it finds, with 12 cells, 5 launches a side and a threshold of 10 % (`tests/studies/error_rates.py`): where launches
of a cell differ by 5 % or less, at most 30 % of equal cells stay undecided and 90 % of those that are 30 % slower are
found. Where they differ by more, 5 launches do not tell, and `need` says how many would.
"""

from collections.abc import Sequence
from math import ceil, inf, log, sqrt
from statistics import median
from typing import NamedTuple

from ..evaluation.spread import t_below, t_quantile
from .ratio import MISSED, Estimate

ERROR_SHARE = 0.05  # of comparisons with a false alarm, and of cells that are falsely the same
assert MISSED == 2 * ERROR_SHARE
MOST = 1000  # further units that are looked at
CHANCE = 0.75  # probability that the stated number of further units leads to a verdict


class Decision(NamedTuple):
    """The decision about a cell."""

    verdict: str  # slower, faster, same, undecided
    p_holm: float  # of a ratio within the threshold, adjusted for all cells: slower or faster at ERROR_SHARE or below
    level: float  # of one cell alone, at which it would be slower or faster


class Need(NamedTuple):
    """The number of units per side that decides most equal cells."""

    spread: float  # standard deviation of the logarithm of one unit, the median of the cells
    units: int
    found: int  # of the cell that has fewest


def decide(estimated: Sequence[Estimate], threshold: float) -> list[Decision]:
    """The decisions of the cells of one comparison; `threshold` is a share."""
    p_values = [beyond_p(of_cell, threshold) for of_cell in estimated]
    adjusted = holm(p_values)
    rejected = sum(p <= ERROR_SHARE for p in adjusted)
    level = ERROR_SHARE / max(1, len(estimated) - rejected)
    return [
        Decision(_verdict(of_cell, p <= ERROR_SHARE, threshold), p, level) for of_cell, p in zip(estimated, adjusted)
    ]


def place(low: float, high: float, threshold: float) -> str:
    """slower, faster, same, or undecided: where one interval of new / baseline lies; `threshold` is a share."""
    most = 1 + threshold
    if low > most:
        return "slower"
    if high < 1 / most:
        return "faster"
    return "same" if 1 / most < low and high < most else "undecided"


def beyond_p(estimated: Estimate, threshold: float) -> float:
    """The largest probability of such a difference, up or down, where the true ratio is within the threshold."""
    margin, distance, error = log(1 + threshold), abs(estimated.own.value), estimated.cautious_error
    if not error:
        return float(distance <= margin)
    tails = ((margin - distance) / error, (-margin - distance) / error)
    return min(1.0, sum(float(t_below(tail, estimated.degrees)) for tail in tails))


def holm(p_values: Sequence[float]) -> list[float]:
    """The same p-values adjusted for each other by Holm's procedure, in their order: reject those up to the level."""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for done, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - done) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def more_units(so_far: Estimate, threshold: float, level: float) -> int | None:
    """The number of further units per side that leads to a verdict with the probability CHANCE; None: more than MOST.

    `level` is that of Decision. Supposes that the variance is as it was found, and knows that the ratio is not: it may
    be anywhere within what the units so far allow.
    """
    import numpy as np

    if not so_far.variance:  # further units change nothing
        return None
    more = np.arange(1, MOST + 1)
    per_unit = sum(1 / (count + more) for count in so_far.own.units)
    error_so_far, error_then = so_far.own.error(so_far.variance), np.sqrt(so_far.variance * per_unit)
    moves = np.sqrt(error_so_far**2 - error_then**2)
    margin, centre = log(1 + threshold), so_far.own.value
    reach, alarm_reach = (t_quantile(1 - p, so_far.degrees + 2 * more) * error_then for p in (ERROR_SHARE, level))

    def below(value: np.ndarray) -> np.ndarray:
        return t_below((value - centre) / moves, so_far.degrees)

    decided = 1 - below(margin + alarm_reach) + below(-margin - alarm_reach)
    decided += np.maximum(below(margin - reach) - below(reach - margin), 0)
    enough = np.flatnonzero(decided >= CHANCE)
    return int(more[enough[0]]) if enough.size else None


def need(estimated: Sequence[Estimate], threshold: float) -> Need:
    """How many units a side call an equal cell of the middle spread the same with the probability CHANCE.

    By the normal distribution: the interval's reach and where the ratio falls add up to the threshold.
    """
    spread = sqrt(median(of_cell.variance for of_cell in estimated))
    reaches = float(t_quantile(1 - ERROR_SHARE, inf)) + float(t_quantile((1 + CHANCE) / 2, inf))
    units = ceil(2 * (spread * reaches / log(1 + threshold)) ** 2)
    return Need(spread, units, min(min(of_cell.own.units) for of_cell in estimated))


def _verdict(estimated: Estimate, is_beyond: bool, threshold: float) -> str:
    where = place(estimated.low, estimated.high, threshold)
    return where if is_beyond or where == "same" else "undecided"
