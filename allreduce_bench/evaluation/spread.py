"""The variance of a few launches, shrunk towards that of all cells, and quantiles of Student's t.

The variance of five launches is itself known badly: its own 95 % interval spans a factor of 23. Cells of one run were
measured on the same nodes in the same minutes, and their variances, though not equal, are of one kind: they are
modelled as drawn from a scaled inverse chi-square distribution, the prior, which is fitted to them (Smyth, "Linear
models and empirical Bayes methods for assessing differential expression in microarray experiments", Stat. Appl. Genet.
Mol. Biol. 3, 2004). Each cell's own variance is then shrunk towards the prior's, and counts with more degrees of
freedom.

scipy is loaded in the functions, since this package may be loaded by a rank, and for arrays only (`distributions`).
"""

from collections.abc import Sequence
from math import exp, inf, log, sqrt
from statistics import fmean, median, variance
from typing import NamedTuple

from numpy import isinf, where

from ..robust import NORMAL_MAD
from .distributions import digamma, f_above, tetragamma, trigamma

# the prior
FEWEST = 3  # cells: the variance of fewer logarithms says nothing
FENCE = 2.5  # standard deviations, by the median absolute deviation, beyond which a logarithm is clipped
OUTLYING = 0.01  # a variance with a smaller upper-tail probability under the prior does not belong to it


class Prior(NamedTuple):
    """The prior of variances, of logarithms of times or of whatever the caller takes, estimated from all cells."""

    variance: float
    degrees: float  # of freedom that it is worth; 0: nothing to borrow; inf: all cells share one variance


NOTHING = Prior(0.0, 0.0)


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


def t_quantile(share, degrees):
    """Return the quantile of Student's t at `share`; both may be arrays, degrees may be inf."""
    from scipy.special import ndtri, stdtrit

    return where(isinf(degrees), ndtri(share), stdtrit(where(isinf(degrees), 1.0, degrees), share))[()]


def t_below(value, degrees):
    """Return the probability that Student's t lies below `value`; both may be arrays, degrees may be inf."""
    from scipy.special import ndtr, stdtr

    return where(isinf(degrees), ndtr(value), stdtr(where(isinf(degrees), 1.0, degrees), value))[()]
