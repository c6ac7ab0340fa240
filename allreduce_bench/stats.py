"""Statistics of launches: intervals, quantiles, dependence between the calls of a launch, and tests."""

from collections.abc import Sequence
from math import ceil, comb, exp, log
from statistics import NormalDist, fmean, median, quantiles

import numpy as np

# Student's t, two-sided 95 %, for 1 to 30 degrees of freedom
T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
CONFIDENCE = 0.95  # of an interval over launches, if there are enough of them
LEAST_FOR_INTERVAL = 6  # the range of n values misses their median in 2^(1-n) of samples: below, in more than 5 %
MIN_LAUNCHES = 3  # for an interval over launches; with fewer, only the spread within launches is known
LEAST_FOR_LAG = 10  # below, the standard error of the correlation exceeds 0.3
LEAST_FOR_DRIFT = 9  # three calls in each third
LEAST_FOR_FENCES = 4


def t95(degrees: int) -> float:
    """Return the factor of a two-sided 95 % interval for `degrees` >= 1 degrees of freedom."""
    return T95[degrees - 1] if degrees <= len(T95) else NormalDist().inv_cdf(0.975)


def launch_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the interval of the median of one or more independent values, such as launch medians: two of them.

    As many are left out at either end as keep a coverage of CONFIDENCE: none of up to 8 values. It holds the median of
    the distribution of the values with probability `launch_confidence`, whatever the distribution (order statistics:
    Hoefler and Belli, SC'15), and the median of the values.
    """
    ordered, n = sorted(values), len(values)
    left_out, beyond, further = 0, 1, n  # the probability, times 2^n, that the true median lies beyond one end
    while (beyond + further) / 2**n <= (1 - CONFIDENCE) / 2:
        left_out += 1
        beyond += further
        further = further * (n - left_out) // (left_out + 1)  # the next binomial coefficient
    return ordered[left_out], ordered[n - 1 - left_out]


def launch_confidence(count: int) -> float:
    """Return the coverage of `launch_interval` for a count: 0.75 of 3, 0.875 of 4, 0.9375 of 5, CONFIDENCE from 6 on.

    The range of n values misses their median in 2^(1-n) of samples, whatever their distribution.
    """
    return min(CONFIDENCE, 1 - 2.0 ** (1 - count))


def hull(intervals: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the smallest interval that holds all of one or more intervals."""
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive values."""
    return exp(fmean(map(log, values)))


def quantile(values: Sequence[float], share: float) -> float | None:
    """Return the smallest value that at least `share` per cent of `values` do not exceed; None: too few values.

    There are enough if at least one lies beyond the quantile, on its thin side, in 97.5 % of samples, so that the
    quantile has a nominal 95 % interval at all (Wilks, Ann. Math. Stat. 12, 1941): 13 for 25 and 75 %, 72 for 5 and 95
    %, 368 for 99 %, 3688 for 99.9 %: about four beyond it. Dependent calls carry less information than their number.
    """
    n = len(values)
    if max(share, 100 - share) > 100 * 0.025 ** (1 / max(n, 1)):
        return None
    return sorted(values)[max(1, ceil(n * share / 100 - 1e-9)) - 1]


def outliers(values: Sequence[float]) -> int | None:
    """Count the values beyond Tukey's fences, 1.5 interquartile ranges outside the quartiles; None below 4 values.

    Quartiles by linear interpolation. Source: Tukey, Exploratory Data Analysis, 1977.
    """
    if len(values) < LEAST_FOR_FENCES:
        return None
    lower, _, upper = quantiles(values, n=4, method="inclusive")
    fence = 1.5 * (upper - lower)
    return sum(not lower - fence <= value <= upper + fence for value in values)


def lag1(values: Sequence[float]) -> float | None:
    """Return the rank correlation of consecutive values, -1 to 1; None below 10 values, or if they are all equal.

    Ranks, so that a single slow call does not dominate. Independent values: within 2 / sqrt(n) of 0 in most samples.
    """
    if len(values) < LEAST_FOR_LAG or len(set(values[:-1])) == 1 or len(set(values[1:])) == 1:
        return None
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[place]  # equal values share the mean of their ranks
    return float(np.corrcoef(rank[:-1], rank[1:])[0, 1])


def drift(values: Sequence[float]) -> float | None:
    """Return median of the last third over median of the first; None below 9 values, or if the latter is 0."""
    third = len(values) // 3
    if len(values) < LEAST_FOR_DRIFT or not (start := median(values[:third])):
        return None
    return median(values[-third:]) / start


def sign_test(above: int, of: int) -> float:
    """Return the two-sided p-value of so many positive ones `of` values that are above or below 0 alike by chance."""
    fewer = min(above, of - above)
    return min(1.0, 2 * sum(comb(of, count) for count in range(fewer + 1)) / 2**of)


__all__ = [
    "LEAST_FOR_INTERVAL",
    "MIN_LAUNCHES",
    "drift",
    "geometric_mean",
    "hull",
    "lag1",
    "launch_confidence",
    "launch_interval",
    "median",
    "outliers",
    "quantile",
    "sign_test",
    "t95",
]
