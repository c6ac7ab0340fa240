"""The statistics of one cell: the ratio of two sides' times, its interval, and how much more would decide.

The model. The logarithm of a launch's median is the side's true value + what its run (the day, the nodes) adds + what
its launch adds; all independent, the last two normal. Calls within a launch are no replication: a launch counts once.

* One run a side: the unit is the launch. What a run adds is then unknown and not in the interval: it speaks of these
  two runs. The interval is Welch's (Biometrika 34, 1947), who supposes no equal variances, with at most the degrees of
  freedom of two sides of the smaller one's count: without that cap 3 launches against 30 give 0.7 false alarms in 50
  equal cells at a promised 0.05, with it 0.02.
* More runs on some side: the unit is the run, the mean of its launches, so that the spread between runs is in the
  interval. With three runs or more on both sides it is Welch's as above. Else both sides are held to have the same
  spread, Student's t: for a single new run that is the prediction interval, s sqrt(1 + 1/R) with R - 1 degrees of
  freedom. Runs of fewer launches than those that the spread is known from get what launches add on top.

Launches are not paired by their number: the i-th launches of two runs have nothing in common, and pairing would halve
the degrees of freedom: in 20 cells of 5 launches intervals become 1.4 times wider, of 3 launches 1.9 times. Only
launches that took turns in time could gain by it, and such runs can be given as many runs a side.
"""

from collections.abc import Sequence
from math import exp, log, sqrt
from statistics import fmean, variance
from typing import NamedTuple

import numpy as np
from scipy.stats import t

Side = Sequence[Sequence[float]]  # its runs, each the medians of its launches in seconds
FEW = 3  # units: below, a side's own variance is not used alone
MOST = 1000  # further units that are looked at
CHANCE = 0.75  # that as many further units as are named lead to a verdict


class Estimate(NamedTuple):
    """How the new side's times compare with the baseline's, ratios are new / baseline."""

    ratio: float
    low: float  # of the interval
    high: float
    unit: str  # of replication: launch or run
    units: tuple[int, int]  # of baseline and new
    variances: tuple[float, float]  # of the logarithm of one unit
    hedges_g: float | None  # the difference of logarithms over their pooled standard deviation; None: that is 0


def estimate(baseline: Side, new: Side, error_share: float, tick_s: float = 0.0) -> Estimate:
    """The ratio with the interval that misses it in `error_share` of all cases.

    Every time is above 0; with one run a side each has two launches or more. `tick_s` is the step of the clock:
    launches whose medians are the same number are not taken to be known better than that.
    """
    sides = [[[log(time_s) for time_s in run] for run in side] for side in (baseline, new)]
    unit = "launch" if len(baseline) == len(new) == 1 else "run"
    values = [side[0] if unit == "launch" else [fmean(run) for run in side] for side in sides]
    units = len(values[0]), len(values[1])
    squares = [variance(side) * (len(side) - 1) if len(side) > 1 else 0.0 for side in values]
    pooled = sum(squares) / (sum(units) - 2)
    if min(units) >= FEW:
        variances = squares[0] / (units[0] - 1), squares[1] / (units[1] - 1)
    else:
        added = _added_variances(sides)
        variances = pooled + added[0], pooled + added[1]
    least = [(tick_s / exp(fmean(side))) ** 2 / 12 for side in values]  # of what is rounded to whole ticks
    variances = max(variances[0], least[0]), max(variances[1], least[1])
    difference = fmean(values[1]) - fmean(values[0])
    reach = float(_half_interval(variances, units, error_share))
    shrunk = 1 - 3 / (4 * (sum(units) - 2) - 1)  # Hedges, J. Educ. Stat. 6, 1981: d of small samples is too large
    hedges_g = difference / sqrt(pooled) * shrunk if pooled and sum(units) > 3 else None
    low, high = exp(difference - reach), exp(difference + reach)
    return Estimate(exp(difference), low, high, unit, units, variances, hedges_g)


def verdict(low: float, high: float, threshold: float) -> str:
    """slower, faster, same, or undecided: where the interval of new / baseline lies; `threshold` is a share."""
    most = 1 + threshold
    if low > most:
        return "slower"
    if high < 1 / most:
        return "faster"
    return "same" if 1 / most < low and high < most else "undecided"


def more_units(so_far: Estimate, threshold: float, error_share: float) -> int | None:
    """How many further units a side lead to a verdict with the probability CHANCE; None: more than MOST.

    Supposes that the variances are as they were found, and knows that the ratio is not: it may be anywhere within what
    the units so far allow.
    """
    more = np.arange(1, MOST + 1)
    units = tuple(count + more for count in so_far.units)
    margin, centre = log(1 + threshold), log(so_far.ratio)
    error_so_far, error_then = (_standard_error(so_far.variances, counts) for counts in (so_far.units, units))
    moves = np.sqrt(np.maximum(error_so_far**2 - error_then**2, 0))
    if not moves.all():  # no spread at all: further units change nothing
        return None
    reach = _half_interval(so_far.variances, units, error_share)
    degrees = _degrees_of_freedom(so_far.variances, so_far.units)

    def below(value: np.ndarray) -> np.ndarray:
        return t.cdf((value - centre) / moves, degrees)

    decided = 1 - below(margin + reach) + below(-margin - reach)
    decided += np.maximum(below(margin - reach) - below(reach - margin), 0)
    enough = np.flatnonzero(decided >= CHANCE)
    return int(more[enough[0]]) if enough.size else None


def _half_interval(variances, units, error_share: float):
    """Half of the interval of the difference of means."""
    return t.ppf(1 - error_share / 2, _degrees_of_freedom(variances, units)) * _standard_error(variances, units)


def _standard_error(variances, units):
    """The standard error of the difference of means; `units` may be arrays."""
    return np.sqrt(sum(of_unit / np.asarray(count, float) for of_unit, count in zip(variances, units)))


def _degrees_of_freedom(variances, units):
    """Degrees of freedom, see the module; `units` may be arrays."""
    counts = [np.asarray(count, float) for count in units]
    parts = [of_unit / count for of_unit, count in zip(variances, counts)]
    fewest = np.minimum(*counts)
    if not sum(variances):
        return 2 * fewest - 2
    with np.errstate(divide="ignore", invalid="ignore"):  # a single unit: its branch is not taken
        welch = sum(parts) ** 2 / sum(part**2 / (count - 1) for part, count in zip(parts, counts))
    return np.where(fewest >= FEW, np.minimum(welch, 2 * fewest - 2), sum(counts) - 2)


def _added_variances(sides: Sequence[Side]) -> tuple[float, float]:
    """What is added to the variance of a run of each side, where the other side's known spread is of more launches."""
    launches = [len(side) / sum(1 / len(run) for run in side) for side in sides]  # of a run, harmonic mean
    within = [(variance(run), len(run) - 1) for side in sides for run in side if len(run) > 1]
    degrees = sum(count for _, count in within)
    of_launch = sum(of_run * count for of_run, count in within) / degrees if degrees else 0.0
    less_known = 0 if len(sides[0]) < len(sides[1]) else 1
    added = [0.0, 0.0]
    added[less_known] = of_launch * max(0.0, 1 / launches[less_known] - 1 / launches[1 - less_known])
    return added[0], added[1]
