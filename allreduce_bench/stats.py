"""Pure numbers: medians, intervals of medians, ratios."""

from collections.abc import Sequence
from math import exp, log, sqrt
from statistics import NormalDist, fmean, median, stdev

# Student's t, two-sided 95 %, for 1 to 30 degrees of freedom
T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


def t95(degrees: int) -> float:
    """The factor of a two-sided 95 % interval for `degrees` >= 1 degrees of freedom."""
    return T95[degrees - 1] if degrees <= len(T95) else NormalDist().inv_cdf(0.975)


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the median by order statistics; the range where there are fewer than six values.

    Source: Hoefler and Belli, SC'15, section 3.1.3. It supposes independent values.
    """
    ordered, n = sorted(values), len(values)
    if n < 6:
        return ordered[0], ordered[-1]
    reach = NormalDist().inv_cdf(0.975) * sqrt(n)
    return ordered[max(0, int((n - reach) / 2) - 1)], ordered[min(n - 1, int(1 + (n + reach) / 2))]


def log_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the geometric mean of two or more positive values, by Student's t on their logarithms."""
    logs = [log(value) for value in values]
    centre, reach = fmean(logs), t95(len(logs) - 1) * stdev(logs) / sqrt(len(logs))
    return exp(centre - reach), exp(centre + reach)


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of positive values."""
    return exp(fmean(map(log, values)))


__all__ = ["geometric_mean", "log_interval", "median", "median_interval", "t95"]
