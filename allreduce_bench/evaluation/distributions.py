"""F and the derivatives of the logarithm of the gamma function, for single numbers.

scipy has them, and loading it takes a third of the time in which a table is shown; whoever needs them of arrays, or
loads scipy anyway, takes those of `spread`.
"""

from math import exp, lgamma, log

LARGE = 12.0  # arguments from which on the asymptotic series of digamma and its derivatives are exact
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)  # B2, B4, ...
CLOSE, TINY, MOST_TERMS = 4e-16, 1e-300, 10_000  # of the continued fraction
MOST_DEGREES = 1e6  # of the F distribution: beyond, it is that of chi-square to six digits


def digamma(x: float) -> float:
    """Return the derivative of log gamma at `x` > 0."""
    below = 0.0
    while x < LARGE:
        below += 1 / x
        x += 1
    series = sum(b / (2 * k * x ** (2 * k)) for k, b in enumerate(BERNOULLI, start=1))
    return log(x) - 1 / (2 * x) - series - below


def trigamma(x: float) -> float:
    """Return the second derivative of log gamma at `x` > 0."""
    below = 0.0
    while x < LARGE:
        below += 1 / x**2
        x += 1
    return 1 / x + 1 / (2 * x**2) + sum(b / x ** (2 * k + 1) for k, b in enumerate(BERNOULLI, start=1)) + below


def tetragamma(x: float) -> float:
    """Return the third derivative of log gamma at `x` > 0."""
    below = 0.0
    while x < LARGE:
        below += 2 / x**3
        x += 1
    series = sum((2 * k + 1) * b / x ** (2 * k + 2) for k, b in enumerate(BERNOULLI, start=1))
    return -1 / x**2 - 1 / x**3 - series - below


def f_above(value: float, degrees: float, other_degrees: float) -> float:
    """Return the probability that F, the ratio of two variances, lies above `value`; `other_degrees` may be inf."""
    ratio = degrees * value / min(other_degrees, MOST_DEGREES)
    return _beta_below(1 / (1 + ratio), ratio / (1 + ratio), min(other_degrees, MOST_DEGREES) / 2, degrees / 2)


def _beta_below(x: float, rest: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function at `x` = 1 - `rest`."""
    if x <= 0 or rest <= 0:
        return float(rest <= 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_below(rest, x, b, a)
    lead = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest))
    return lead * _continued(x, a, b) / a


def _continued(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    value, above, below = 1.0, 1.0, 0.0
    for k in range(MOST_TERMS):
        half = k // 2
        if k % 2:
            term = -(a + half) * (a + b + half) * x / ((a + k - 1) * (a + k))
        else:
            term = half * (b - half) * x / ((a + k - 1) * (a + k)) if k else 1.0
        below = 1 / (1 + term * below or TINY)
        above = 1 + term / above or TINY
        value *= above * below
        if k and abs(above * below - 1) < CLOSE:
            break
    return value - 1
