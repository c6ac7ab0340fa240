"""The statistics of a comparison: the ratio of two sides' times with its interval, and a verdict for each cell.

The model. The logarithm of a launch's median is the side's true value + an effect of its run (the day, the nodes) + an
effect of the launch; all independent, the last two normal. Calls within a launch are no replication: a launch counts
once.

* One run per side: the unit is the launch. The effect of a run is then unknown and not in the interval, which is about
  these two runs only. The variance of a cell alone is that of Welch's test (Biometrika 34, 1947), which does not assume
  equal variances, with at most the degrees of freedom of two sides of the smaller side's count: without that cap 3
  launches against 30 give 0.7 false alarms in 50 equal cells at a promised 0.05, with it 0.02.
* More runs on some side: the unit is the run, the mean of its launches, so that the spread between runs is in the
  interval. With three runs or more on both sides the test is Welch's as above. Else both sides are assumed to have the
  same spread, Student's t: for a single new run that is the prediction interval, s sqrt(1 + 1/R) with R - 1 degrees of
  freedom. Runs of fewer launches than those that the spread is estimated from get the variance between launches on top.

The cells of a comparison share information about the spread of units (`evaluation.spread`): a cell's squared standard
error per unit is shrunk towards those of the others, and counts with more degrees of freedom.

The times printed are those of the sides' own tables, medians over launches, and their ratio. Medians of few launches
are less efficient than means (5 launches need 7 for the same), so verdicts rest on the means of logarithms, which
estimate the same ratio under the model. The interval is that of the means, widened to hold the printed ratio if it does
not, so that no verdict contradicts that ratio.

Launches are not paired by their number: the i-th launches of two runs have nothing in common, and pairing would halve
the degrees of freedom. Only launches that took turns in time could gain by it, and such runs can be given as many runs
per side.

The decisions control two error rates:

* A false alarm, `slower` or `faster` of a cell whose true ratio is within the threshold, occurs in at most 5 % of whole
  comparisons, however many cells they have. A cell is tested against the threshold, not against 1, by both tails of
  Student's t (TREAT: McCarthy and Smyth, Bioinformatics 25, 2009), and cells together by Holm's procedure (`holm`).
  Pooling never lowers a cell's own variance here: one noisier than the rest raises no alarm.
* A false `same`, of a cell whose true ratio is at the threshold or beyond, occurs in at most 5 % of such cells, each
  by itself, since it fails no gate. Two one-sided tests (Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987), that is:
  the 90 % interval lies within the threshold.

So a cell that is slower or faster has an interval beyond the threshold; one with such an interval may be undecided.

With 12 cells, 5 launches per side and a threshold of 10 % (`tests/studies/error_rates.py`): where launches of a cell
differ by 5 % or less, at most 30 % of equal cells stay undecided and 90 % of those that are 30 % slower are found.
Where they differ by more, 5 launches do not suffice, and `need` says how many would.
"""

from collections.abc import Sequence
from math import ceil, exp, inf, log, sqrt
from statistics import fmean, median, variance
from typing import NamedTuple

import numpy as np

from ..evaluation.spread import Prior, prior_of, shrunk, t_below, t_quantile
from ..stats import geometric_mean, holm

# Error rates
ERROR_SHARE = 0.05  # of comparisons with a false alarm, and of cells that are falsely the same
MISSED_SHARE = 2 * ERROR_SHARE  # of intervals that miss their ratio, half of it on either side

# Limits
FEWEST_FOR_WELCH = 3  # units per side; below, a side's own variance is not used alone
MOST_UNITS = 1000  # most further units considered
DECIDED_SHARE = 0.75  # probability that the stated number of further units leads to a verdict

Side = Sequence[Sequence[float]]  # its runs, each the medians of its launches in seconds


class Difference(NamedTuple):
    """The difference of the new side from the baseline for one cell alone, in natural logarithms."""

    value: float  # new - baseline, of means of logarithms
    shown: float  # new - baseline, of the times that tables show
    variance: float  # of one unit: times 1/n + 1/m units the squared standard error
    degrees: float  # of freedom of that variance
    least_variance: float  # of one unit, by the step of the clock
    unit: str  # of replication: launch or run
    units: tuple[int, int]  # of baseline and new
    variances: tuple[float, float]  # of one unit of either side
    hedges_g: float | None  # the difference over its pooled standard deviation; None: that is 0

    def error(self, of_unit: float, more: int = 0) -> float:
        """Return the standard error of the difference if a unit has variance `of_unit`, with `more` units per side."""
        return sqrt(of_unit * sum(1 / (count + more) for count in self.units))


class Estimate(NamedTuple):
    """The estimated ratio of the new side's times to the baseline's; ratios are new / baseline."""

    ratio: float  # of the times that tables show
    low: float  # of the interval that misses the true ratio in MISSED_SHARE of all cells
    high: float
    own: Difference
    variance: float  # of one unit, moderated by the other cells
    degrees: float  # of freedom, including the prior's

    @property
    def cautious_error(self) -> float:
        """The standard error by the cell's own variance or by the moderated one, whichever is larger."""
        return self.own.error(max(self.variance, self.own.variance))


def difference(baseline: Side, new: Side, tick_s: float = 0.0) -> Difference:
    """Estimate the difference from one cell alone.

    Every time is above 0; with one run per side each has two launches or more. `tick_s` is the step of the clock: it
    bounds the variance from below, also if medians of launches are equal.
    """
    sides = [[[log(time_s) for time_s in run] for run in side] for side in (baseline, new)]
    unit = "launch" if len(baseline) == len(new) == 1 else "run"
    values = [side[0] if unit == "launch" else [fmean(run) for run in side] for side in sides]
    units = len(values[0]), len(values[1])
    squares = [variance(side) * (len(side) - 1) if len(side) > 1 else 0.0 for side in values]
    pooled = sum(squares) / (sum(units) - 2)
    if min(units) >= FEWEST_FOR_WELCH:
        variances = squares[0] / (units[0] - 1), squares[1] / (units[1] - 1)
    else:
        added = _added_variances(sides)
        variances = pooled + added[0], pooled + added[1]
    least = [(tick_s / exp(fmean(side))) ** 2 / 12 for side in values]  # of what is rounded to whole ticks
    variances = max(variances[0], least[0]), max(variances[1], least[1])
    value = fmean(values[1]) - fmean(values[0])
    unbiased = 1 - 3 / (4 * (sum(units) - 2) - 1)  # Hedges, J. Educ. Stat. 6, 1981: d of small samples is too large
    hedges_g = value / sqrt(pooled) * unbiased if pooled and sum(units) > 3 else None
    per_unit, degrees = _per_unit(variances, units), _degrees_of_freedom(variances, units)
    shown = log(shown_time_s(new) / shown_time_s(baseline))
    return Difference(value, shown, per_unit, degrees, _per_unit(least, units), unit, units, variances, hedges_g)


def shown_time_s(side: Side) -> float:
    """Return the time of a side: of a run the median over launches, as in its table; of runs their geometric mean."""
    return geometric_mean([median(run) for run in side])


def estimates(differences: Sequence[Difference]) -> list[Estimate]:
    """Estimate cells measured together; cells with the same unit, launch or run, share a prior."""
    priors = {}
    for unit in {of_cell.unit for of_cell in differences}:
        alike = [of_cell for of_cell in differences if of_cell.unit == unit]
        priors[unit] = prior_of([of_cell.variance for of_cell in alike], [of_cell.degrees for of_cell in alike])
    return [_estimate(of_cell, priors[of_cell.unit]) for of_cell in differences]


def _estimate(own: Difference, prior: Prior) -> Estimate:
    moderated, degrees = shrunk(own.variance, own.degrees, prior)
    moderated = max(moderated, own.least_variance)
    reach = float(t_quantile(1 - MISSED_SHARE / 2, degrees)) * own.error(moderated)
    low, high = min(own.value - reach, own.shown), max(own.value + reach, own.shown)
    return Estimate(exp(own.shown), exp(low), exp(high), own, moderated, degrees)


def _per_unit(variances: Sequence[float], units: tuple[int, int]) -> float:
    """Return the variance that, if all units of both sides had it, would give the same standard error."""
    weights = [1 / count for count in units]
    return sum(of_side * weight for of_side, weight in zip(variances, weights)) / sum(weights)


def _degrees_of_freedom(variances: tuple[float, float], units: tuple[int, int]) -> float:
    """Return the degrees of freedom of the variance per unit: Welch's, capped, or those of equal variances."""
    fewest = min(units)
    if fewest < FEWEST_FOR_WELCH:
        return sum(units) - 2
    if not sum(variances):
        return 2 * fewest - 2
    parts = [of_side / count for of_side, count in zip(variances, units)]
    welch = sum(parts) ** 2 / sum(part**2 / (count - 1) for part, count in zip(parts, units))
    return min(welch, 2 * fewest - 2)


def _added_variances(sides: Sequence[Side]) -> tuple[float, float]:
    """Return what to add to the variance of a run of each side whose runs have fewer launches than the other's."""
    launches = [len(side) / sum(1 / len(run) for run in side) for side in sides]  # of a run, harmonic mean
    within = [(variance(run), len(run) - 1) for side in sides for run in side if len(run) > 1]
    degrees = sum(count for _, count in within)
    of_launch = sum(of_run * count for of_run, count in within) / degrees if degrees else 0.0
    less_known = 0 if len(sides[0]) < len(sides[1]) else 1
    added = [0.0, 0.0]
    added[less_known] = of_launch * max(0.0, 1 / launches[less_known] - 1 / launches[1 - less_known])
    return added[0], added[1]


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
    """Decide about the cells of one comparison; `threshold` is a share."""
    p_values = [beyond_p(of_cell, threshold) for of_cell in estimated]
    adjusted = holm(p_values)
    rejected = sum(p <= ERROR_SHARE for p in adjusted)
    level = ERROR_SHARE / max(1, len(estimated) - rejected)
    return [
        Decision(_verdict(of_cell, p <= ERROR_SHARE, threshold), p, level) for of_cell, p in zip(estimated, adjusted)
    ]


def place(low: float, high: float, threshold: float) -> str:
    """Return slower, faster, same or undecided by where an interval of new / baseline lies; `threshold` is a share."""
    most = 1 + threshold
    if low > most:
        return "slower"
    if high < 1 / most:
        return "faster"
    return "same" if 1 / most < low and high < most else "undecided"


def beyond_p(estimated: Estimate, threshold: float) -> float:
    """Return the largest probability of such a difference, up or down, if the true ratio is within the threshold."""
    margin, distance, error = log(1 + threshold), abs(estimated.own.value), estimated.cautious_error
    if not error:
        return float(distance <= margin)
    tails = ((margin - distance) / error, (-margin - distance) / error)
    return min(1.0, sum(float(t_below(tail, estimated.degrees)) for tail in tails))


def more_units(so_far: Estimate, threshold: float, level: float) -> int | None:
    """Return how many more units per side lead to a verdict with probability DECIDED_SHARE; None: above MOST_UNITS.

    `level` is that of Decision. Takes the variance as found, and the ratio as uncertain within the units so far.
    """
    if not so_far.variance:  # further units change nothing
        return None
    more = np.arange(1, MOST_UNITS + 1)
    per_unit = sum(1 / (count + more) for count in so_far.own.units)
    error_so_far, error_then = so_far.own.error(so_far.variance), np.sqrt(so_far.variance * per_unit)
    moves = np.sqrt(error_so_far**2 - error_then**2)
    margin, centre = log(1 + threshold), so_far.own.value
    reach, alarm_reach = (t_quantile(1 - p, so_far.degrees + 2 * more) * error_then for p in (ERROR_SHARE, level))

    def below(value: np.ndarray) -> np.ndarray:
        return t_below((value - centre) / moves, so_far.degrees)

    decided = 1 - below(margin + alarm_reach) + below(-margin - alarm_reach)
    decided += np.maximum(below(margin - reach) - below(reach - margin), 0)
    enough = np.flatnonzero(decided >= DECIDED_SHARE)
    return int(more[enough[0]]) if enough.size else None


def need(estimated: Sequence[Estimate], threshold: float) -> Need:
    """Return the units per side with which an equal cell of median spread is the same with probability DECIDED_SHARE.

    By the normal distribution: the interval's half-width and the deviation of the ratio add up to the threshold.
    """
    spread = sqrt(median(of_cell.variance for of_cell in estimated))
    reaches = float(t_quantile(1 - ERROR_SHARE, inf)) + float(t_quantile((1 + DECIDED_SHARE) / 2, inf))
    units = ceil(2 * (spread * reaches / log(1 + threshold)) ** 2)
    return Need(spread, units, min(min(of_cell.own.units) for of_cell in estimated))


def _verdict(estimated: Estimate, is_beyond: bool, threshold: float) -> str:
    where = place(estimated.low, estimated.high, threshold)
    return where if is_beyond or where == "same" else "undecided"
