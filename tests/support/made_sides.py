"""Launch medians of both sides of a comparison, drawn from a known truth: for tests and studies of verdicts."""

from math import log
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from allreduce_bench.comparison.pairs import FEWEST, judge_pairs

THRESHOLD = 0.05


def at_most(share: float, trials: int) -> float:
    """As many as a rate of `share` gives in 999 of 1000 experiments."""
    return binom.ppf(0.999, trials, share)


class Rates(NamedTuple):
    """The shares of simulated cells with each verdict."""

    slower: float
    faster: float
    same: float


def rates(noise: float, launches: int, factor: float, cells: int, seed: int = 1) -> Rates:
    """Return how simulated cells are judged: `noise` is that of the logarithm of a launch, `factor` the true ratio."""
    random = np.random.default_rng(seed)
    drawn = np.exp(random.normal(0, noise, (cells, 2, launches)) + [[[0], [log(factor)]]])
    found = [judge_pairs(*sides, THRESHOLD).verdict if launches >= FEWEST else "" for sides in drawn.tolist()]
    return Rates(*(found.count(kind) / cells for kind in Rates._fields))
