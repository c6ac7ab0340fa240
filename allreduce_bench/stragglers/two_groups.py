"""Two groups of ranks, of which one is slower: half of the nodes, a third of them, or all but a few.

Where many ranks are late alike nobody stands out from the others, and the median rank may be one of the slow ones. So
the ranks are ordered by their lateness and cut where the means of the two sides lie furthest apart, in standard
deviations within the sides (the largest likelihood of two normal distributions of one width). That the ranks of one
distribution are cut in two gives a distance, too: 3 to 4 deviations of many ranks, more of few. `critical_distance`
lies beyond what normal, uniform and heavy-tailed differences give; tests/studies/false_causes.py measures it.
"""

from typing import NamedTuple

import numpy as np

from .outliers import PRIOR_FREEDOM, SPREAD

LEAST_PART = 8  # the smaller group has one of so many ranks or more, and two or more
DISTANCE = 6.0  # deviations within groups, of many ranks
OF_FEW = 2  # with so many ranks it is twice that


class TwoGroups(NamedTuple):
    """A cut of units into those that are slower and the rest."""

    slow: np.ndarray  # bool [unit]
    late_s: float  # mean of the slow ones minus that of the others
    distance: float  # the same in standard deviations within the groups


def two_groups(late_s: np.ndarray, undisturbed_s: float, noise_s: float) -> TwoGroups | None:
    """`late_s`: float64 [unit], lateness over all steps against any reference; NaN: not known. None: there are none.

    `noise_s`: standard deviation of these by the noise of steps.
    """
    units = np.flatnonzero(~np.isnan(late_s))
    least = max(2, -(-len(units) // LEAST_PART))
    if len(units) < 2 * least:
        return None
    order = units[np.argsort(late_s[units], kind="stable")]
    ordered = late_s[order] - late_s[order[0]]
    sums, squares, number = np.cumsum(ordered), np.cumsum(ordered**2), len(units)
    low = np.arange(least, number - least + 1)  # ranks of the faster group
    high = number - low
    low_sum, high_sum = sums[low - 1], sums[-1] - sums[low - 1]
    within = np.maximum(squares[-1] - low_sum**2 / low - high_sum**2 / high, 0.0)
    prior = PRIOR_FREEDOM * ((SPREAD * undisturbed_s) ** 2 + noise_s**2)
    apart_s = high_sum / high - low_sum / low
    distance = apart_s / np.sqrt((prior + within) / (PRIOR_FREEDOM + number - 2))
    best = int(distance.argmax())
    if distance[best] < critical_distance(number):
        return None
    slow = np.zeros(len(late_s), dtype=bool)
    slow[order[low[best] :]] = True
    return TwoGroups(slow, float(apart_s[best]), float(distance[best]))


def critical_distance(units: int) -> float:
    """How far apart two groups of so many units are at least."""
    return DISTANCE * (1 + OF_FEW / units)
