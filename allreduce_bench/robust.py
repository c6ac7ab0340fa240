"""Robust statistics with missing values: medians that ignore NaN, and the spread of noise. Pure numbers.

Noise is measured from blocks of consecutive steps: the median of a block leaves out single spikes, and medians of
blocks hardly depend on each other where steps do. Their spread comes from the differences of neighbouring blocks
(von Neumann, Ann. Math. Stat. 12, 1941), so that a rank which is slow for a while is not taken for a noisy one.
"""

from statistics import NormalDist

import numpy as np

OF_NORMAL = 1.4826  # times the median absolute deviation: standard deviation of normal values
NORMAL_MAD = 0.6745  # the inverse: median absolute deviation of normal values, in standard deviations
LEAST_Z = 3.5  # Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993
FEWEST_FOR_MAD = 4  # below, the median absolute deviation adds nothing to the noise of the steps
EFFICIENCY = 0.4  # degrees of freedom per difference: neighbours share a block, and the median over ranks is taken


def median(values: np.ndarray, axis: int) -> np.ndarray:
    """Return the median along an axis, ignoring NaN; NaN if all are. Faster than numpy.nanmedian."""
    if values.shape[axis] and not np.isnan(values).any():
        return np.median(values, axis=axis)
    ordered = np.moveaxis(np.sort(values, axis=axis), axis, -1)  # NaN last
    known = ordered.shape[-1] - np.isnan(ordered).sum(axis=-1, keepdims=True)
    low, high = np.maximum(known - 1, 0) // 2, np.minimum(known // 2, max(ordered.shape[-1] - 1, 0))
    middle = np.take_along_axis(ordered, low, -1) + np.take_along_axis(ordered, high, -1)
    return np.where(known > 0, 0.5 * middle, np.nan)[..., 0]


def median_of_others(values: np.ndarray) -> np.ndarray:
    """Return for each value the median of all other values of its row: float64 [row, column] as `values`, NaN ignored.

    NaN if a row has no other value. So a slow rank of few does not move its own reference.
    """
    columns = values.shape[1]
    ordered = np.sort(values, axis=1)
    known = columns - np.isnan(ordered).sum(axis=1, keepdims=True)
    half = known // 2

    def at(place: np.ndarray) -> np.ndarray:
        return np.take_along_axis(ordered, np.clip(place, 0, columns - 1), axis=1)

    below, middle, above = at(half - 1), at(half), at(half + 1)
    even = np.where(values <= below, middle, below)
    odd = np.where(values < middle, middle + above, np.where(values > middle, below + middle, below + above)) * 0.5
    return np.where(known < 2, np.nan, np.where(known % 2 == 0, even, odd))


def deviation(values: np.ndarray) -> float:
    """Return the standard deviation of the known values, from their median absolute deviation; 0 if they are few."""
    values = values[~np.isnan(values)]
    if len(values) < FEWEST_FOR_MAD:
        return 0.0
    return OF_NORMAL * float(np.median(np.abs(values - np.median(values))))


def block_medians(values: np.ndarray, blocks: int) -> np.ndarray:
    """Return medians of `blocks` blocks of equal length, float64 [block, column]; the last rows may be left out."""
    length = len(values) // blocks
    return median(values[: blocks * length].reshape(blocks, length, -1), axis=1)


def spread_of_blocks(medians: np.ndarray) -> np.ndarray:
    """Return the standard deviation of the noise of one block, float64 [column]; at least that of the median column."""
    squares = 0.5 * np.square(np.diff(medians, axis=0))
    known = np.maximum((~np.isnan(squares)).sum(axis=0), 1)
    return deviations(np.nansum(squares, axis=0) / known, len(squares))


def deviations(variances: np.ndarray, number: int) -> np.ndarray:
    """Return the roots of variances from `number` squares each, float64 [column]; at least the median column's.

    The median of such variances is corrected for its bias (Wilson and Hilferty, Proc. Nat. Acad. Sci. 17, 1931).
    """
    typical = float(np.median(variances)) / (1 - 2 / (9 * max(number, 1))) ** 3
    return np.sqrt(np.maximum(variances, typical))


def critical_z(comparisons: float, blocks: int, columns: int) -> float:
    """Return the standard deviations that noise exceeds once in so many independent comparisons; LEAST_Z or more.

    By Student's t, since the deviation is itself estimated from so many blocks and columns (Bonferroni; Cornish and
    Fisher's series of t, Abramowitz and Stegun 26.7.5).
    """
    z = max(LEAST_Z, -NormalDist().inv_cdf(1 / comparisons))
    freedom = max(1.0, EFFICIENCY * (blocks - 1) * max(1, columns - 1))
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
