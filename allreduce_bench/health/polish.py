"""The polish of a table of pairs: times divided into a common level, effects of nodes, and residuals of pairs.

The model of a pair: log time(i, j) = overall + node(i) + node(j) + residual(i, j). A slow node raises all its pairs,
which its effect absorbs; a slow link raises one pair, which remains as its residual. Effects are medians, so that fewer
than half of a node's pairs may be slow without raising its effect: median polish, Tukey, Exploratory Data Analysis,
1977, here of a symmetric table.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..robust import NORMAL_MAD

MOST_SWEEPS, SETTLED = 50, 1e-6  # of the polish; the largest change of an effect, relative
LEAST_SD = 0.01  # lower bound of standard deviations: smaller differences do not count
SMALL_SAMPLE = {2: 1.196, 3: 1.495, 4: 1.363, 5: 1.206, 6: 1.200, 7: 1.140, 8: 1.129, 9: 1.107}  # see `robust_sd`


class Polished(NamedTuple):
    """A table of pairs after the polish: natural logarithms, NaN where unknown."""

    overall: float
    node_effect: np.ndarray  # float64 [node]
    residual: np.ndarray  # float64 [node, node], symmetric


def median_polish(log_matrix: np.ndarray) -> Polished:
    """Divide a table of pairs into a common level, an effect of each node, and a residual of each pair.

    `log_matrix`: float64 [node, node], symmetric; NaN if a pair is missing. The median of the effects is 0; the
    effect of a node without pairs is NaN.
    """
    residual = np.array(log_matrix, dtype=np.float64)
    np.fill_diagonal(residual, np.nan)
    others = [np.flatnonzero(row) for row in ~np.isnan(residual)]
    # start from medians of rows: from one median of all, of which half may be slow at 4 nodes, sweeps may get stuck
    middles = np.array([np.median(row[known]) if len(known) else np.nan for row, known in zip(residual, others)])
    overall = float(np.nanmedian(middles)) if not np.isnan(middles).all() else np.nan
    effect = middles - overall
    residual -= overall + effect + effect[:, None]
    for _ in range(MOST_SWEEPS):
        largest = 0.0
        for node, known in enumerate(others):
            if len(known):
                change = np.median(residual[node, known])
                effect[node] += change
                residual[node] -= change
                residual[:, node] -= change
                largest = max(largest, abs(change))
        if largest < SETTLED:
            break
    middle = float(np.nanmedian(effect)) if len(effect) and not np.isnan(effect).all() else 0.0
    return Polished(overall + 2 * middle, effect - middle, residual)


def polish_beside(log_matrix: np.ndarray, left_out: Sequence[int]) -> Polished:
    """Polish a table without the nodes `left_out`, whose effects then follow from their pairs with the others.

    So slow nodes do not mask one that is slightly slow: the spread is of the effects of the others.
    """
    table = np.array(log_matrix, dtype=np.float64)
    np.fill_diagonal(table, np.nan)
    without = table.copy()
    without[list(left_out)] = without[:, list(left_out)] = np.nan
    overall, effect, _ = median_polish(without)
    for node in left_out:
        over = table[node] - overall - effect
        effect[node] = np.median(over[~np.isnan(over)]) if not np.isnan(over).all() else np.nan
    return Polished(overall, effect, table - overall - effect - effect[:, None])


def split_by_least(log_matrix: np.ndarray) -> Polished:
    """Divide a table whose nodes have too few pairs for a median: a node is as fast as the fastest of its pairs.

    So a slow partner does not make a node slow (DLRover, node check: two rounds, the second pairs slow with fast).
    """
    table = np.array(log_matrix, dtype=np.float64)
    np.fill_diagonal(table, np.nan)
    filled = np.where(np.isnan(table), np.inf, table).min(axis=1, initial=np.inf)
    least = np.where(np.isinf(filled), np.nan, filled)
    overall = float(np.nanmedian(least)) if not np.isnan(least).all() else np.nan
    effect = least - overall
    return Polished(overall, effect, table - overall - effect - effect[:, None])


def robust_sd(values: np.ndarray) -> float:
    """Return the standard deviation of normal values by their median absolute deviation; at least LEAST_SD.

    Factors for small samples: Croux and Rousseeuw, Time-efficient algorithms for two highly robust estimators of scale,
    1992. NaN are left out; LEAST_SD below two values.
    """
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return LEAST_SD
    factor = SMALL_SAMPLE.get(len(known), len(known) / (len(known) - 0.8))
    return max(LEAST_SD, factor * float(np.median(np.abs(known - np.median(known)))) / NORMAL_MAD)


def residual_sd(polished: Polished) -> float:
    """Return the standard deviation of the residuals of pairs, at least LEAST_SD.

    A median polish makes as many residuals 0 as it has effects; these are uninformative, and left out (as in the scale
    of regression by least absolute deviations: Rousseeuw and Leroy, Robust Regression and Outlier Detection, 1987).
    """
    sizes = np.sort(np.abs(pairs_of(polished.residual)))
    left = sizes[min(len(sizes) // 2, np.count_nonzero(~np.isnan(polished.node_effect))) :]
    return max(LEAST_SD, float(left[(len(left) - 1) // 2]) / NORMAL_MAD) if len(left) else LEAST_SD


def node_z(polished: Polished, left_out: Sequence[int] = ()) -> np.ndarray:
    """Return a node's effect over the effects of the others, float64 [node], in standard deviations.

    The standard deviation is of the effects without the nodes `left_out`, but at least of the medians of residuals of
    equal nodes: few nodes may agree by chance.
    """
    pairs = np.count_nonzero(~np.isnan(polished.residual), axis=1)
    by_chance = np.sqrt(np.pi / 2) * residual_sd(polished) / np.sqrt(np.maximum(pairs, 1))
    return polished.node_effect / np.maximum(robust_sd(np.delete(polished.node_effect, left_out)), by_chance)


def link_z(polished: Polished) -> np.ndarray:
    """Return a pair's residual over the other residuals, float64 [node, node], in standard deviations."""
    return polished.residual / residual_sd(polished)


def pairs_of(matrix: np.ndarray) -> np.ndarray:
    """Return each pair once, without missing ones."""
    upper = matrix[np.triu_indices(len(matrix), 1)]
    return upper[~np.isnan(upper)]
