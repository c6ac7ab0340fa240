"""The spread of similar cells, estimated together: variances moderated by empirical Bayes.

A variance of five launches is itself known badly: its own 95 % interval spans a factor of 23. Cells of one run were
measured on the same nodes in the same minutes, and their variances, though not equal, are of one kind: they are held
to be drawn from a scaled inverse chi-square distribution, the prior, which is fitted to them (Smyth, "Linear models
and empirical Bayes methods for assessing differential expression in microarray experiments", Stat. Appl. Genet. Mol.
Biol. 3, 2004). Each cell's own variance is then drawn towards the prior's, and counts with more degrees of freedom.

Variances are those of logarithms of times, or of whatever the caller takes; degrees those of freedom. scipy is loaded
in the functions, since this package may be loaded by a rank.
"""

from collections.abc import Sequence
from math import exp, inf, log, sqrt
from statistics import fmean, median, variance
from typing import NamedTuple

FEWEST = 3  # cells: the variance of fewer logarithms says nothing
FENCE = 2.5  # standard deviations, by the median absolute deviation, beyond which a logarithm is drawn in
NORMAL_MAD = 0.6745  # the median absolute deviation of a standard normal distribution
OUTLYING = 0.01  # a variance that the prior gives in fewer cases than this is no part of it


class Prior(NamedTuple):
    """The prior of the variances, estimated from all cells."""

    variance: float
    degrees: float  # of freedom that it is worth; 0: nothing to borrow; inf: all cells share one variance


NOTHING = Prior(0.0, 0.0)


def prior_of(variances: Sequence[float], degrees: Sequence[float]) -> Prior:
    """The prior of these cells: a scaled F distribution by the moments of the logarithms of variances (Smyth, 2004).

    Variances and degrees that are 0 tell nothing and are left out (a caller who knows the step of the clock puts it in
    their place); of fewer than FEWEST others nothing is borrowed. One outlying cell would make all others look
    different: logarithms further than FENCE robust standard deviations from their median are drawn in to there, as
    Phipson et al. do with fixed shares ("Robust hyperparameter estimation …", Ann. Appl. Stat. 10, 2016). The prior is
    worth no more than the degrees of all cells together, from which it is known.
    """
    from scipy.special import digamma, polygamma

    known = [(of_cell, count) for of_cell, count in zip(variances, degrees, strict=True) if of_cell > 0 and count > 0]
    if len(known) < FEWEST:
        return NOTHING
    logs = [log(of_cell) - float(digamma(count / 2)) + log(count / 2) for of_cell, count in known]
    by_chance = fmean(float(polygamma(1, count / 2)) for _, count in known)  # variance of a logarithm
    logs = _drawn_in(logs, sqrt(by_chance))
    beyond_chance = variance(logs) - by_chance
    all_degrees = sum(count for _, count in known)
    if beyond_chance <= 0:
        return Prior(exp(fmean(logs)), all_degrees)
    half = trigamma_inverse(beyond_chance)
    return Prior(exp(fmean(logs) + float(digamma(half)) - log(half)), min(2 * half, all_degrees))


def shrunk(variance: float, degrees: float, prior: Prior) -> tuple[float, float]:
    """A cell's variance, drawn towards the prior, and its degrees of freedom: `degrees` + those of the prior.

    A variance that is too large for the prior (OUTLYING) is that of a cell of another kind: it stays as it is and
    borrows nothing, since the prior would call certain what is not. One that is too small borrows like any other.
    """
    if not prior.degrees or _is_outlying(variance, degrees, prior):
        return variance, degrees
    if prior.degrees == inf:
        return prior.variance, inf
    total = degrees + prior.degrees
    return (degrees * variance + prior.degrees * prior.variance) / total, total


def t_quantile(share, degrees):
    """The value below which Student's t lies with the probability `share`; both may be arrays, degrees may be inf."""
    from numpy import isinf, where
    from scipy.special import ndtri, stdtrit

    return where(isinf(degrees), ndtri(share), stdtrit(where(isinf(degrees), 1.0, degrees), share))[()]


def t_below(value, degrees):
    """The probability that Student's t lies below `value`; both may be arrays, degrees may be inf."""
    from numpy import isinf, where
    from scipy.special import ndtr, stdtr

    return where(isinf(degrees), ndtr(value), stdtr(where(isinf(degrees), 1.0, degrees), value))[()]


def two_sided_p(t, degrees):
    """The probability that Student's t lies further from 0 than `t`."""
    return 2 * t_below(-abs(t), degrees)


def trigamma_inverse(value: float) -> float:
    """The x whose trigamma is `value` > 0, by Newton's method on 1 / trigamma, nearly a straight line (Smyth, 2004)."""
    from scipy.special import polygamma

    if value > 1e7:
        return 1 / sqrt(value)
    if value < 1e-6:
        return 1 / value
    x, step = 0.5 + 1 / value, -inf
    while -step > 1e-8 * x:
        trigamma = float(polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, x))
        x += step
    return x


def _drawn_in(logs: Sequence[float], by_chance: float) -> list[float]:
    """The logarithms, none further from their median than FENCE standard deviations; these at least `by_chance`."""
    middle = median(logs)
    deviation = median([abs(of_cell - middle) for of_cell in logs]) / NORMAL_MAD
    reach = FENCE * max(deviation, by_chance)
    return [min(max(of_cell, middle - reach), middle + reach) for of_cell in logs]


def _is_outlying(variance: float, degrees: float, prior: Prior) -> bool:
    """Whether the prior gives so large a variance in fewer than OUTLYING of all cases (F, or chi-square)."""
    from scipy.special import chdtrc, fdtrc

    ratio = variance / prior.variance
    if prior.degrees == inf:
        return bool(chdtrc(degrees, degrees * ratio) < OUTLYING)
    return bool(fdtrc(degrees, prior.degrees, ratio) < OUTLYING)
