"""How often are the intervals wrong, and how often does `compare` err, or find nothing? Operating curves.

Part 1: the share of `median_interval`s that hold the true median, and their width over that of independent calls, for
series of several kinds and lengths. Part 2: of simulated comparisons of 12 cells at a threshold of 10 % the share of
equal cells that stay undecided, the share of comparisons with a false alarm, the share of cells found that are slower,
a quarter of the cells by 10, 20 and 30 %, and the share called the same of those that differ by just the threshold; by
how launches differ and how many there are. Exit status 1 where a promise is not kept: false alarms in at most 5 % of
comparisons; with 5 launches a side that differ by 5 % or less, alike in all cells or nearly so, at most 30 % of
equal cells undecided and 90 % found of those that are 30 % slower. Part 3: the share of intervals of factors, as
verdicts print them, that hold the true factor, for launches that differ in several ways: at most OFF below the promise.
"""

import argparse
import sys
from collections.abc import Callable
from itertools import product
from math import log, nan, sqrt
from statistics import fmean

import numpy as np
from made_sides import CELLS, LAUNCHES, THRESHOLD, Rates, Truth, at_most, false_same, rates
from test_stats import follower, heavy_tailed, taking_turns, ticking, usual_interval

from allreduce_bench.evaluation.spread import factor_of
from allreduce_bench.medians import median_interval
from allreduce_bench.stats import launch_confidence

SERIES = {
    "independent": follower(0),
    "half remembered": follower(0.5),
    "nine tenths remembered": follower(0.9),
    "heavy-tailed": heavy_tailed,
    "ticking": ticking,
    "taking turns": taking_turns,
}
LENGTHS = (10, 30, 100, 300, 1000)
SLOWDOWNS = (0.1, 0.2, 0.3)
SPREADS = (0.01, 0.03, 0.05, 0.1)  # of a launch's median
KINDS = {  # of launches, of which the spread is set
    "alike in all cells": Truth(0),
    "uneven by 1.4": Truth(0, uneven=0.35),
    "uneven by 2": Truth(0, uneven=0.7),
    "uneven, lag 0.3": Truth(0, uneven=0.35, lag=0.3),
    "uneven, load spikes": Truth(0, uneven=0.35, spikes=0.1),
}
PROMISED_KINDS, PROMISED_SPREAD = ("alike in all cells", "uneven by 1.4"), 0.05
FACTOR_LAUNCHES, FACTOR_SIZES, SHARED = (3, 4, 5, 6, 7, 10), (1, 4), (0.0, 0.5, 0.9)
TRUE_FACTOR, LAUNCHES_DIFFER, OFF = 1.2, 0.05, 0.03
Noise = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
NOISES: dict[str, Noise] = {  # of the logarithm of a launch's median
    "normal": lambda random, shape: random.normal(size=shape),
    "heavy-tailed": lambda random, shape: random.standard_t(3, shape),
    "load spikes": lambda random, shape: (
        0.5 * random.normal(size=shape) + (random.random(shape) < 0.1) * random.exponential(6, shape)
    ),
}
MOST_ALARMS, MOST_UNDECIDED, LEAST_FOUND = 0.05, 0.3, 0.9  # shares


def print_coverage(trials: int) -> None:
    print(f"share of {trials} intervals of 95 % that hold the median, and their width over that of independent calls")
    print(f"{'calls':<24}" + "".join(f"{length:>15}" for length in LENGTHS))
    for name, series in SERIES.items():
        cells = []
        for length in LENGTHS:
            random = np.random.default_rng(1)
            samples = [series(random, length) for _ in range(trials)]
            intervals = [median_interval(sample) for sample in samples]
            covered = fmean(low <= 0 <= high for low, high in intervals)
            usual_width = fmean(high - low for low, high in map(usual_interval, samples))
            width = fmean(high - low for low, high in intervals)
            cells.append(f"{covered:8.3f} ({width / usual_width if usual_width else nan:4.2f})")
        print(f"{name:<24}" + "".join(cells), flush=True)


def print_power(comparisons: int) -> bool:
    """Whether the promises are kept."""
    print(f"\nshares in {comparisons} comparisons of {CELLS} cells, threshold {THRESHOLD:.0%}")
    titles = ["undecided", "alarms", *(f"found {slowdown:.0%}" for slowdown in SLOWDOWNS), "false same"]
    print(f"{'launches that differ by':<32}" + "".join(f"{title:>12}" for title in titles))
    kept = True
    for name, kind in KINDS.items():
        for spread in SPREADS:
            truth = kind._replace(spread=spread)
            found = rates(truth, SLOWDOWNS, comparisons)
            is_kept = keeps(found, comparisons, name in PROMISED_KINDS and spread <= PROMISED_SPREAD)
            print_line(f"{spread:.0%}, {name}", found, truth, comparisons, is_kept)
            kept &= is_kept
    for launches in (3, 10, 20):
        truth = Truth(0.05, uneven=0.35)
        found = rates(truth, SLOWDOWNS, comparisons, launches=launches)
        is_kept = keeps(found, comparisons, launches > LAUNCHES)
        print_line(f"5%, uneven by 1.4, {launches} launches", found, truth, comparisons, is_kept)
        kept &= is_kept
    return kept


def print_factors(trials: int) -> bool:
    """Whether the intervals of factors hold the true one as often as is said."""
    titles = [f"{sizes} size{'s' * (sizes > 1)}, {shared:.0%} shared" for sizes in FACTOR_SIZES for shared in SHARED]
    print(f"\nshare of {trials} intervals of a factor that hold the true one\n{'launches, their noise':<32}", end="")
    print("".join(f"{title:>20}" for title in titles))
    kept = True
    for launches, (name, noise) in product(FACTOR_LAUNCHES, NOISES.items()):
        random = np.random.default_rng(1)
        shares = [_held(random, trials, launches, noise, *case) for case in product(FACTOR_SIZES, SHARED)]
        print(f"{f'{launches}, {name}':<32}" + "".join(f"{share:20.3f}" for share in shares), flush=True)
        missed = at_most(1 - launch_confidence(launches) + OFF, trials) / trials
        kept &= 1 - min(shares) <= missed
    return kept


def _held(random: np.random.Generator, trials: int, launches: int, noise: Noise, sizes: int, shared: float) -> float:
    """The share of intervals that hold the factor TRUE_FACTOR; `shared`: of a launch's variance, by all its cells."""
    held = 0
    for _ in range(trials):
        own = sqrt(1 - shared) * noise(random, (2, sizes, launches))
        logs = LAUNCHES_DIFFER * (sqrt(shared) * noise(random, (launches,)) + own)
        logs[0] += log(TRUE_FACTOR)
        cells = [[dict(zip(map(str, range(launches)), cell)) for cell in np.exp(side).tolist()] for side in logs]
        found = factor_of(list(zip(*cells)))
        held += (found.low or 0.0) <= TRUE_FACTOR <= (found.high or 0.0)
    return held / trials


def keeps(found: Rates, comparisons: int, has_power: bool) -> bool:
    """Whether these are rates as promised, as far as so many comparisons can tell."""
    missed = at_most(1 - LEAST_FOUND, comparisons * CELLS // 4) / (comparisons * CELLS // 4)
    decides = found.undecided <= MOST_UNDECIDED and 1 - found.found[-1] <= missed
    return found.alarms <= at_most(MOST_ALARMS, comparisons) / comparisons and (decides or not has_power)


def print_line(title: str, found: Rates, truth: Truth, comparisons: int, is_kept: bool) -> None:
    shares = [found.undecided, found.alarms, *found.found, false_same(truth, comparisons)]
    end = "" if is_kept else "  not as promised"
    print(f"{title:<32}" + "".join(f"{share:12.3f}" for share in shares) + end, flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000, help="of each figure of calls [2000]")
    parser.add_argument("--comparisons", type=int, default=500, help="of each figure of `compare` [500]")
    parser.add_argument("--factors", type=int, default=400, help="of each figure of factors [400]")
    options = parser.parse_args()
    if options.trials:
        print_coverage(options.trials)
    kept = [print_power(options.comparisons), print_factors(options.factors)]
    sys.exit(0 if all(kept) else "the promises were not kept, see above")


if __name__ == "__main__":
    main()
