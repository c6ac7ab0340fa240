"""Sizes cut into pieces, each explained at prices of its own: how well, and how probable each explanation is.

Exact Bayesian change points: all ways to cut the sizes are weighed, summed over forward and backward.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import log, sqrt

import numpy as np

FORMS = {2: (1, 2), 3: (0, 1, 2)}  # number of prices -> which: of a call, a message, a byte


def sums_of_pieces(values: np.ndarray) -> np.ndarray:
    """[first, last, ...]: the sum of `values` from the first to the last size of every piece; later ones only."""
    sums = np.zeros((len(values), *values.shape))
    for first in range(len(values)):
        sums[first, first:] = np.cumsum(values[first:], axis=0)  # not as differences: bytes span many decades
    return sums


def misfits_of(paths: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
    """Number of prices -> float64 [first, last]: the least sum of squared relative errors over a piece of the sizes.

    The prices are not negative: of the solutions for every choice of those that are not 0, the best one.
    """
    products = sums_of_pieces(np.array([path.T @ path for path in paths]))
    sums = sums_of_pieces(np.array([path.sum(axis=0) for path in paths]))
    points = sums_of_pieces(np.array([float(len(path)) for path in paths]))
    best = {number: points.copy() for number in FORMS}
    for number, columns in FORMS.items():
        choices = [list(nonzero) for few in range(1, number + 1) for nonzero in combinations(columns, few)]
        for nonzero in choices:
            prices = _solved(products[..., nonzero, :][..., nonzero], sums[..., nonzero])
            squares = points - (prices * sums[..., nonzero]).sum(axis=-1)
            allowed = (prices >= 0).all(axis=-1)
            best[number] = np.where(allowed, np.clip(np.minimum(best[number], squares), 0, None), best[number])
    return best


def _solved(products: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """The solution of the normal equations of every piece; columns scaled alike, and those in step kept apart."""
    scale = np.sqrt(np.diagonal(products, axis1=-2, axis2=-1))
    scale = np.where(scale > 0, scale, 1.0)
    scaled = products / scale[..., :, None] / scale[..., None, :] + 1e-10 * np.eye(products.shape[-1])
    return np.linalg.solve(scaled, (sums / scale)[..., None])[..., 0] / scale


def weigh(misfits: Mapping[str, dict[int, np.ndarray]], points: np.ndarray, stray: float):
    """Name -> float64 [size], its probability; and what the explanations leave, as a relative error.

    `misfits` as of `misfits_of`, `points` the number of cells of every piece.
    """
    sizes, count = len(points), np.maximum(points, 1)
    pieces = np.triu(np.ones((sizes, sizes), dtype=bool))
    cut = -log(sizes * len(misfits))
    evidence = {
        (name, number): np.where(pieces, -squares / (2 * stray**2) - number / 2 * np.log(count) + cut, -np.inf)
        for name, forms in misfits.items()
        for number, squares in forms.items()
    }
    total = np.logaddexp.reduce(list(evidence.values()))
    before, after = np.full(sizes + 1, -np.inf), np.full(sizes + 1, -np.inf)
    before[0] = after[sizes] = 0.0
    for last in range(sizes):
        before[last + 1] = np.logaddexp.reduce(before[: last + 1] + total[: last + 1, last])
    for first in reversed(range(sizes)):
        after[first] = np.logaddexp.reduce(total[first, first:] + after[first + 1 :])
    probability = {name: np.zeros(sizes) for name in misfits}
    squares, prices = 0.0, 0.0
    for (name, number), log_evidence in evidence.items():
        weight = np.exp(before[:-1, None] + log_evidence + after[None, 1:] - before[sizes])
        probability[name] += [weight[: size + 1, size:].sum() for size in range(sizes)]
        squares += float((weight * misfits[name][number]).sum())
        prices += number * float(weight.sum())
    freedom = points[0, -1] - prices
    return probability, sqrt(squares / freedom) if freedom >= 1 else 0.0
