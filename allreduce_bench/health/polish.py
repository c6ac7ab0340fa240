"""Slow nodes and slow links in a table of pairs of nodes. Pure numbers: numpy only.

The model of a pair: log time(i, j) = overall + node(i) + node(j) + residual(i, j). A slow node raises all its pairs,
which its effect takes up; a slow link raises one pair, which stays as its residual. Effects are medians, so that fewer
than half of a node's pairs may be slow without being taken for the node: median polish, Tukey, Exploratory Data
Analysis, 1977, here of a symmetric table.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MOST_SWEEPS, SETTLED = 50, 1e-6  # of the polish; the largest change of an effect, relative
FLOOR = 0.01  # no standard deviation is taken to be smaller: what differs by less is the same
NORMAL_MAD = 0.6745  # median absolute deviation of a normal distribution, in standard deviations
SMALL_SAMPLE = {2: 1.196, 3: 1.495, 4: 1.363, 5: 1.206, 6: 1.200, 7: 1.140, 8: 1.129, 9: 1.107}  # see `robust_sd`


class Polished(NamedTuple):
    """A table of pairs, taken apart: natural logarithms, NaN where nothing is known."""

    overall: float
    node_effect: np.ndarray  # float64 [node]
    residual: np.ndarray  # float64 [node, node], symmetric


def median_polish(log_matrix: np.ndarray) -> Polished:
    """Take a table of pairs apart into what is common, what is a node's, and what is left to each pair.

    `log_matrix`: float64 [node, node], symmetric; NaN where a pair is missing. The median of the effects is 0; the
    effect of a node without pairs is NaN.
    """
    residual = np.array(log_matrix, dtype=np.float64)
    np.fill_diagonal(residual, np.nan)
    others = [np.flatnonzero(row) for row in ~np.isnan(residual)]
    # begun from medians of rows: from one median of all, of which half may be slow at 4 nodes, sweeps may get stuck
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
    """The same, taken apart without the nodes `left_out`, whose effects are then what their pairs with the others say.

    So nodes that are slow do not hide one that is so by little: the spread of effects is that of the others.
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


def least_of_pairs(log_matrix: np.ndarray) -> Polished:
    """The same where nodes have too few pairs for a median: a node is as fast as in the fastest of its pairs.

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
    """The standard deviation of normal values by their median absolute deviation; at least FLOOR.

    Factors for small samples: Croux and Rousseeuw, Time-efficient algorithms for two highly robust estimators of scale,
    1992. NaN are left out; FLOOR below two values.
    """
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return FLOOR
    factor = SMALL_SAMPLE.get(len(known), len(known) / (len(known) - 0.8))
    return max(FLOOR, factor * float(np.median(np.abs(known - np.median(known)))) / NORMAL_MAD)


def residual_sd(polished: Polished) -> float:
    """The standard deviation of the residuals of pairs, at least FLOOR.

    A median polish makes as many residuals 0 as it has effects; these say nothing, and are left out (as in the scale of
    regression by least absolute deviations: Rousseeuw and Leroy, Robust Regression and Outlier Detection, 1987).
    """
    sizes = np.sort(np.abs(pairs_of(polished.residual)))
    left = sizes[min(len(sizes) // 2, np.count_nonzero(~np.isnan(polished.node_effect))) :]
    return max(FLOOR, float(left[(len(left) - 1) // 2]) / NORMAL_MAD) if len(left) else FLOOR


def node_z(polished: Polished, left_out: Sequence[int] = ()) -> np.ndarray:
    """float64 [node]: how many standard deviations a node's effect lies above the others'.

    That of effects is taken from their spread, without that of the nodes `left_out`, but never below what the residuals
    alone would make of medians of equal nodes: few nodes may agree by chance.
    """
    pairs = np.count_nonzero(~np.isnan(polished.residual), axis=1)
    by_chance = np.sqrt(np.pi / 2) * residual_sd(polished) / np.sqrt(np.maximum(pairs, 1))
    return polished.node_effect / np.maximum(robust_sd(np.delete(polished.node_effect, left_out)), by_chance)


def link_z(polished: Polished) -> np.ndarray:
    """float64 [node, node]: how many standard deviations a pair's residual lies above the others'."""
    return polished.residual / residual_sd(polished)


def pairs_of(matrix: np.ndarray) -> np.ndarray:
    """Each pair once, those that are missing left out."""
    upper = matrix[np.triu_indices(len(matrix), 1)]
    return upper[~np.isnan(upper)]
