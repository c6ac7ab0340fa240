"""Launch medians of both sides of a comparison, drawn from a known truth: for tests and studies of verdicts."""

from collections.abc import Sequence
from math import log, sqrt
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from allreduce_bench.comparison.decision import Estimate, Side, decide, difference, estimates

CELLS, LAUNCHES, THRESHOLD = 12, 5, 0.1  # for which `compare` makes its promises
SPIKE = 3.0  # mean height of a load spike in spreads


def drawn(random: np.random.Generator, spread: float, launches: int, factor: float = 1.0, day: float = 0.0) -> list:
    """The launch medians of one run."""
    return list(np.exp(random.normal(log(factor) + random.normal(0, day), spread, launches)))


def at_most(share: float, trials: int) -> float:
    """As many as a rate of `share` gives in 999 of 1000 experiments."""
    return binom.ppf(0.999, trials, share)


def alone(baseline: Side, new: Side, tick_s: float = 0.0) -> Estimate:
    """The estimate of the only cell of a comparison, which borrows nothing."""
    return estimates([difference(baseline, new, tick_s)])[0]


class Truth(NamedTuple):
    """How launches differ: the logarithms of their medians."""

    spread: float  # standard deviation of a launch; the median over cells
    uneven: float = 0.0  # standard deviation of the logarithm of a cell's spread
    lag: float = 0.0  # correlation of a launch with the one before
    spikes: float = 0.0  # share of launches in which load makes all cells slower, by SPIKE spreads in the mean


def drawn_sides(
    random: np.random.Generator, truth: Truth, factors: Sequence[float], launches: int = LAUNCHES
) -> list[tuple[list[list[float]], list[list[float]]]]:
    """Launch medians of both sides in seconds, one run a side, of a cell for each factor, which is its true ratio."""
    spreads = truth.spread * np.exp(random.normal(0, truth.uneven, len(factors)))
    sides = []
    for _ in range(2):
        values = random.normal(size=(launches, len(factors)))
        for launch in range(1, launches):
            values[launch] = truth.lag * values[launch - 1] + sqrt(1 - truth.lag**2) * values[launch]
        slow = random.random(launches) < truth.spikes
        heights = random.exponential(SPIKE * truth.spread, values.shape)
        sides.append(values * spreads + slow[:, None] * heights)
    sides[1] += np.log(factors)
    return [([list(before)], [list(after)]) for before, after in zip(*(np.exp(side).T for side in sides))]


def verdicts_of(sides: Sequence[tuple], threshold: float = THRESHOLD) -> list[str]:
    """What `compare` calls these cells."""
    return [found.verdict for found in decide(estimates([difference(*of_cell) for of_cell in sides]), threshold)]


class Rates(NamedTuple):
    """Of many comparisons; shares."""

    undecided: float  # of equal cells
    alarms: float  # of comparisons of equal cells, with a cell slower or faster
    found: tuple[float, ...]  # of cells that are slower by each slow-down, the others of their comparison equal


def rates(
    truth: Truth, slowdowns: Sequence[float], comparisons: int, cells: int = CELLS, launches: int = LAUNCHES
) -> Rates:
    """Rates of simulated comparisons; of those with a slow-down the first quarter of the cells has it."""
    random = np.random.default_rng(1)
    equal = [verdicts_of(drawn_sides(random, truth, [1.0] * cells, launches)) for _ in range(comparisons)]
    slower = max(1, cells // 4)
    found = []
    for slowdown in slowdowns:
        factors = [1 + slowdown] * slower + [1.0] * (cells - slower)
        kinds = [verdicts_of(drawn_sides(random, truth, factors, launches))[:slower] for _ in range(comparisons)]
        found.append(float(np.mean([kind == "slower" for of_one in kinds for kind in of_one])))
    undecided = float(np.mean([kind == "undecided" for of_one in equal for kind in of_one]))
    alarms = float(np.mean([any(kind in ("slower", "faster") for kind in of_one) for of_one in equal]))
    return Rates(undecided, alarms, tuple(found))


def false_same(truth: Truth, comparisons: int, launches: int = LAUNCHES) -> float:
    """The share of cells that are called the same although they differ by the whole threshold."""
    random = np.random.default_rng(2)
    factors = [1 + THRESHOLD] * CELLS
    kinds = [kind for _ in range(comparisons) for kind in verdicts_of(drawn_sides(random, truth, factors, launches))]
    return kinds.count("same") / len(kinds)
