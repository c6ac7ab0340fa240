"""Comparison of two cells over their launches: significance of the ratio of their times, and the factor that is shown.

The unit is the launch: the logarithm of the ratio of two medians of one launch, in which whatever slows down the whole
launch cancels. The variance of five launches is itself known badly: its own 95 % interval spans a factor of 23. Cells
of one run were measured on the same nodes in the same minutes, and their variances, though not equal, are of one kind:
they are modelled as drawn from a scaled inverse chi-square distribution, the prior, which is fitted to them (Smyth,
"Linear models and empirical Bayes methods for assessing differential expression in microarray experiments", Stat. Appl.
Genet. Mol. Biol. 3, 2004). Each cell's own variance is then shrunk towards the prior's, and counts with more degrees of
freedom. Pooling never lowers a pair's own variance, since pairs differ in their noise.

If a launch was disturbed while one of the two ran, its logarithm is clipped: to LAUNCH_FENCE times the larger of the
pair's own median absolute deviation and the typical standard deviation of all pairs, from FEWEST_TO_CLIP launches on.
Clipped values carry less information: the variance is divided by the square of the share of the others (Huber, Robust
Statistics, 1981).

scipy is loaded in the functions, since this package may be loaded by a rank, and for arrays only (`distributions`).
"""

from collections.abc import Mapping, Sequence
from math import exp, inf, log, sqrt
from statistics import fmean, median, variance
from typing import NamedTuple

import numpy as np
from numpy import isinf, where

from ..robust import NORMAL_MAD
from ..stats import CONFIDENCE, geometric_mean, holm, hull
from .cell_times import MIN_LAUNCHES
from .distributions import digamma, f_above, t_beyond, t_reach, tetragamma, trigamma
from .rounds import NEGLIGIBLE, times_by_round
from .summary_row import SummaryRow

# the prior
FEWEST = 3  # cells: the variance of fewer logarithms says nothing
FENCE = 2.5  # standard deviations, by the median absolute deviation, beyond which a logarithm is clipped
OUTLYING = 0.01  # a variance with a smaller upper-tail probability under the prior does not belong to it
# comparisons
ERROR_SHARE = 0.025  # family-wise error of all answers to one question: of a table's sizes, of all sizes together
FEWEST_TO_CLIP, LAUNCH_FENCE = 5, 1.5  # launches; standard deviations
LEAST_VARIANCE = 1e-8  # of a logarithm: clocks and medians are no finer than 0.01 %


class Prior(NamedTuple):
    """The prior of variances, of logarithms of times or of whatever the caller takes, estimated from all cells."""

    variance: float
    degrees: float  # of freedom that it is worth; 0: nothing to borrow; inf: all cells share one variance


NOTHING = Prior(0.0, 0.0)


class ClippedLogarithms(NamedTuple):
    """Logarithms of ratios by launch, those of disturbed launches clipped."""

    values: np.ndarray
    kept: float  # share of the launches that are not clipped


class Difference(NamedTuple):
    """The comparison of the times of two cells."""

    ratio: float  # geometric mean over launches
    low: float  # its 95 % interval, not corrected for other comparisons
    high: float
    p_value: float  # two-sided, under a true ratio of 1
    is_equal: bool  # shown to be below NEGLIGIBLE either way (two one-sided tests of 5 %)

    @property
    def inverse(self) -> "Difference":
        """The comparison of the other cell with this one."""
        return self._replace(ratio=1 / self.ratio, low=1 / self.high, high=1 / self.low)


def prior_of(variances: Sequence[float], degrees: Sequence[float]) -> Prior:
    """Estimate the prior of these cells: a scaled F distribution by the moments of the log variances (Smyth, 2004).

    Variances and degrees of 0 are left out (a caller who knows the resolution of the clock puts it in their place);
    below FEWEST others there is no prior. One outlying cell would make all others look different: logarithms further
    than FENCE robust standard deviations from their median are clipped, as Phipson et al. do with fixed shares ("Robust
    hyperparameter estimation …", Ann. Appl. Stat. 10, 2016). The prior is worth at most the degrees of all cells
    together, from which it is estimated.
    """
    known = [(of_cell, count) for of_cell, count in zip(variances, degrees, strict=True) if of_cell > 0 and count > 0]
    if len(known) < FEWEST:
        return NOTHING
    logs = [log(of_cell) - digamma(count / 2) + log(count / 2) for of_cell, count in known]
    by_chance = fmean(trigamma(count / 2) for _, count in known)  # variance of a logarithm
    logs = _drawn_in(logs, sqrt(by_chance))
    beyond_chance = variance(logs) - by_chance
    all_degrees = sum(count for _, count in known)
    if beyond_chance <= 0:
        return Prior(exp(fmean(logs)), all_degrees)
    half = trigamma_inverse(beyond_chance)
    return Prior(exp(fmean(logs) + digamma(half) - log(half)), min(2 * half, all_degrees))


def _drawn_in(logs: Sequence[float], by_chance: float) -> list[float]:
    """Clip the logarithms to FENCE standard deviations around their median; these are at least `by_chance`."""
    middle = median(logs)
    deviation = median([abs(of_cell - middle) for of_cell in logs]) / NORMAL_MAD
    reach = FENCE * max(deviation, by_chance)
    return [min(max(of_cell, middle - reach), middle + reach) for of_cell in logs]


def trigamma_inverse(value: float) -> float:
    """Return the x whose trigamma is `value` > 0, by Newton's method on 1 / trigamma, nearly linear (Smyth, 2004)."""
    if value > 1e7:
        return 1 / sqrt(value)
    if value < 1e-6:
        return 1 / value
    x, step = 0.5 + 1 / value, -inf
    while -step > 1e-8 * x:
        found = trigamma(x)
        step = found * (1 - found / value) / tetragamma(x)
        x += step
    return x


def shrunk(variance: float, degrees: float, prior: Prior) -> tuple[float, float]:
    """Return a cell's variance, shrunk towards the prior, and its degrees of freedom: `degrees` + those of the prior.

    A variance that is too large for the prior (OUTLYING) is of another kind: it stays as it is and borrows nothing,
    since the prior would make it falsely certain. One that is too small is shrunk like any other.
    """
    if not prior.degrees or _is_outlying(variance, degrees, prior):
        return variance, degrees
    if prior.degrees == inf:
        return prior.variance, inf
    total = degrees + prior.degrees
    return (degrees * variance + prior.degrees * prior.variance) / total, total


def _is_outlying(variance: float, degrees: float, prior: Prior) -> bool:
    """Return whether the prior gives so large a variance with a probability below OUTLYING."""
    return f_above(variance / prior.variance, degrees, prior.degrees) < OUTLYING


def launch_ratios(row: SummaryRow, other: SummaryRow) -> dict[str, float]:
    """Return row / other for the medians of every launch that measured both: launch -> ratio.

    A launch of forced algorithms is compared with the untouched one of its number.
    """
    medians_s, other_medians_s = (times_by_round(of["launch_medians"]) for of in (row, other))
    return {launch: medians_s[launch] / other_medians_s[launch] for launch in medians_s if launch in other_medians_s}


def differences(ratios_of_pairs: Sequence[Sequence[float]]) -> list[Difference | None]:
    """Compare each pair by its ratios, launch by launch; None: fewer than MIN_LAUNCHES launches."""
    known = [i for i, ratios in enumerate(ratios_of_pairs) if len(ratios) >= MIN_LAUNCHES]
    drawn = _clip_outliers([np.log(ratios_of_pairs[i]) for i in known])
    variances = [max(float(logs.values.var(ddof=1)) / logs.kept**2, LEAST_VARIANCE) for logs in drawn]
    degrees = [len(logs.values) - 1.0 for logs in drawn]
    prior = prior_of(variances, degrees) if drawn else NOTHING
    moderated = [shrunk(*own, prior) for own in zip(variances, degrees)]
    told: list[Difference | None] = [None] * len(ratios_of_pairs)
    for i, logs, own, (pooled, all_degrees) in zip(known, drawn, variances, moderated):
        told[i] = _difference(logs.values, max(own, pooled), all_degrees)
    return told


def _difference(logs: np.ndarray, variance: float, degrees: float) -> Difference:
    """Compare two cells by the logarithms of their ratios, of a variance known with so many degrees of freedom."""
    centre, error = float(logs.mean()), float(np.sqrt(variance / len(logs)))
    reach, one_sided = (t_reach(beyond, degrees) * error for beyond in (0.05, 0.1))
    low, ratio, high = (float(np.exp(value)) for value in (centre - reach, centre, centre + reach))
    is_equal = abs(centre) + one_sided < log(NEGLIGIBLE)
    return Difference(ratio, low, high, t_beyond(centre / error, degrees), is_equal)


def _clip_outliers(logs_of_pairs: Sequence[np.ndarray]) -> list[ClippedLogarithms]:
    """Clip the logarithms of each pair (float64 [launch]) that has enough launches."""
    spreads = [float(logs.std(ddof=1)) for logs in logs_of_pairs if len(logs) > 1]
    typical = float(np.median(spreads)) if spreads else 0.0
    return [
        _clipped(logs, typical) if len(logs) >= FEWEST_TO_CLIP else ClippedLogarithms(logs, 1.0)
        for logs in logs_of_pairs
    ]


def _clipped(logs: np.ndarray, typical: float) -> ClippedLogarithms:
    """Clip logarithms to LAUNCH_FENCE deviations around their median; `typical` is the least deviation."""
    middle = np.median(logs)
    reach = LAUNCH_FENCE * max(float(np.median(np.abs(logs - middle))) / NORMAL_MAD, typical)
    inside = np.abs(logs - middle) <= reach
    return ClippedLogarithms(np.clip(logs, middle - reach, middle + reach), max(float(inside.mean()), 1 / len(logs)))


def significant(p_values: Sequence[float]) -> list[bool]:
    """Return which tests are significant, with a family-wise error of at most ERROR_SHARE (Holm's procedure)."""
    return [p_value <= ERROR_SHARE for p_value in holm(p_values)]


def t_quantile(share, degrees):
    """Return the quantile of Student's t at `share`; both may be arrays, degrees may be inf."""
    from scipy.special import ndtri, stdtrit

    return where(isinf(degrees), ndtri(share), stdtrit(where(isinf(degrees), 1.0, degrees), share))[()]


def t_below(value, degrees):
    """Return the probability that Student's t lies below `value`; both may be arrays, degrees may be inf."""
    from scipy.special import ndtr, stdtr

    return where(isinf(degrees), ndtr(value), stdtr(where(isinf(degrees), 1.0, degrees), value))[()]


# The factor between two series of launch medians: the ratio of the times that a table shows, and its interval.
#
# The time of a cell is the median over launches, so the factor at one size is the ratio of two such medians, and over
# several sizes the geometric mean of these ratios: dividing the numbers of a table gives it. Its interval is one of
# that same number: launches are resampled with replacement, all their cells together, since what slows a launch down
# slows all of them (percentile bootstrap; Efron, Ann. Stat. 7, 1979). The seed is fixed, so the same launches always
# give the same interval.
#
# Coverage: at one size and with 3 to 5 launches it is the range of the ratios of single launches, which holds the true
# ratio as often as `stats.launch_confidence` says: 75, 87.5 and 93.75 %. In simulations
# (`tests/studies/error_rates.py`: normal, heavy-tailed and spiked launches, whose noise is shared by the two or not, 1
# and 4 sizes) it holds it in 71 to 80, 84 to 92 and 92 to 97 %, with 6 to 10 launches in 92 to 99 %.
#
# Decisions (`verdict`) do not use it: they test the ratios of single launches, which are more powerful with few
# launches.


DRAWS = 2000  # resamples of the launches
SEED = 1979

Medians = Mapping[str, float]  # launch -> the median of its calls, seconds


class Factor(NamedTuple):
    """The ratio of the times of two series."""

    value: float
    low: float | None  # ends of its interval; None: fewer than MIN_LAUNCHES launches have all of the times
    high: float | None
    launches: int  # that have all of the times


def factor_of(pairs: Sequence[tuple[Medians, Medians]]) -> Factor:
    """Return the factor of one pair or more, one for each size: launch medians of the slower and of the faster one."""
    pairs = [(times_by_round(slower), times_by_round(faster)) for slower, faster in pairs]
    value = geometric_mean([median(slower.values()) / median(faster.values()) for slower, faster in pairs])
    launches = [launch for launch in pairs[0][0] if all(launch in medians for pair in pairs for medians in pair)]
    if len(launches) < MIN_LAUNCHES:
        return Factor(value, None, None, len(launches))
    drawn = np.random.default_rng(SEED).integers(len(launches), size=(DRAWS, len(launches)))
    logs = np.zeros(DRAWS)
    for pair in pairs:
        slower, faster = (np.log([medians[launch] for launch in launches]) for medians in pair)
        logs += np.median(slower[drawn], axis=1) - np.median(faster[drawn], axis=1)
    ordered, beyond = np.sort(logs / len(pairs)), round(DRAWS * (1 - CONFIDENCE) / 2)
    ends = float(np.exp(ordered[beyond])), float(np.exp(ordered[-1 - beyond]))
    low, high = hull([ends, (value, value)])  # some launches may lack a time of which `value` is made
    return Factor(value, low, high, len(launches))
