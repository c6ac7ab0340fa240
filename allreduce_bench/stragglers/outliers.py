"""Which of several unlike units stand out from the others.

Ranks that nothing is wrong with differ, too, lastingly: by some per cent. Whether one stands out from the others is
asked of the units below it, so that slow ones do not hide each other (the generalised test of Rosner, Technometrics
25, 1983, on one side). Few units say little about how much units differ. So their variance is put together with one
that is likely beforehand, SPREAD, which weighs as much as PRIOR_FREEDOM units (moderated t, Smyth, Stat. Appl. Genet.
Mol. Biol. 3, 2004), and the less the more they differ. Values of Student's t are turned into those of a normal
distribution by Wallace's formula (Ann. Math. Stat. 30, 1959), which is good to a few per cent far out, where it
matters.
"""

from math import erfc, sqrt

import numpy as np

from ..robust import OF_NORMAL, median

SPREAD = 0.015  # of a step: standard deviation between ranks that is likely before anything was measured
PRIOR_FREEDOM = 4
FEWEST_UNLIKE = 4  # units; of fewer nobody can say how much units differ: noise alone is the measure
FASTEST = 3.0  # robust deviations below the median: a unit that is faster still is taken for so fast only


def standing_out(values: np.ndarray, prior: np.ndarray | float) -> np.ndarray:
    """How far each unit stands out from those below it, as a normal z. float64 [row, unit] as `values`; -inf: unknown.

    `values`: NaN where a unit is not known; `prior`: standard deviation that is likely beforehand, one or [row, 1]. The
    units that are asked are the upper half; one that is higher stands out at least as far as those below it.
    """
    rows, units = values.shape
    order = np.argsort(-np.where(np.isnan(values), -np.inf, values), axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    centre = median(ordered, axis=1)[:, None]
    floor = centre - FASTEST * np.maximum(OF_NORMAL * median(np.abs(ordered - centre), axis=1)[:, None], prior)
    kept = np.nan_to_num(np.maximum(ordered, floor) - centre)
    known = (~np.isnan(ordered)).astype(float)
    most = max(1, (units - 1) // 2)
    number, total, squares = (_below(each, most) for each in (known, kept, kept * kept))
    number = np.maximum(number, 1.0)
    mean = total / number
    seen = np.maximum(squares - number * mean * mean, 0.0) / np.maximum(number - 1, 1.0)
    weight = PRIOR_FREEDOM * np.minimum(1.0, np.square(prior) / np.maximum(seen, 1e-30))
    freedom = weight + number - 1
    variance = (weight * np.square(prior) + (number - 1) * seen) / freedom
    t = (ordered[:, :most] - centre - mean) / np.sqrt(variance * (1 + 1 / number))
    of_place = np.where(np.isnan(t), -np.inf, normal_of_t(t, freedom))
    of_place = np.maximum.accumulate(of_place[:, ::-1], axis=1)[:, ::-1]
    z = np.full(values.shape, -np.inf)
    np.put_along_axis(z, order[:, :most], of_place, axis=1)
    return z


def _below(ordered: np.ndarray, most: int) -> np.ndarray:
    """float64 [row, place]: the sum of all that stands behind each of the first places."""
    sums = np.cumsum(ordered[:, ::-1], axis=1)[:, ::-1]
    return np.concatenate([sums[:, 1:], np.zeros((len(sums), 1))], axis=1)[:, :most]


def normal_of_t(t: np.ndarray, freedom: np.ndarray | float) -> np.ndarray:
    """The normal value that is exceeded as often as `t` of Student's distribution with so many degrees of freedom."""
    size = np.sqrt(freedom * np.log1p(np.square(t) / freedom))
    return np.sign(t) * size * (8 * freedom + 1) / (8 * freedom + 3)


def expected_beyond(z: float, units: int) -> float:
    """How many of so many units that differ by chance stand out as far."""
    return units * 0.5 * erfc(z / sqrt(2))
