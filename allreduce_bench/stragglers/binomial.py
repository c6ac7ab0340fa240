"""How often chance alone makes a rank the last one to arrive."""

import numpy as np


def chance_of_at_least(counts: np.ndarray, trials: int, chance: float) -> np.ndarray:
    """The probability that of `trials` independent trials as many or more succeed. float64, of the shape of `counts`.

    `counts`: integers of 0 to `trials`; `chance`: of each trial, 0 to 1. Exact: the upper tail of the binomial
    distribution. Steps that depend on each other say less than their number.
    """
    if not 0 < chance < 1:
        return np.where(np.asarray(counts) > 0, float(chance >= 1), 1.0)
    successes = np.arange(trials + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, trials + 1)))])  # logarithms
    ways = factorials[-1] - factorials - factorials[::-1]
    shares = np.exp(ways + successes * np.log(chance) + (trials - successes) * np.log1p(-chance))
    return np.minimum(np.cumsum(shares[::-1])[::-1], 1.0)[counts]
