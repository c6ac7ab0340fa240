"""How often are the intervals wrong, and how often does `compare` call what is equal slower? Operating curves.

Part 1: the share of `median_interval`s that hold the true median, and their width over that of independent calls, for
series of several kinds and lengths. Part 2: the share of simulated cells that `compare` calls slower or faster where
nothing changed, and the share that it finds slower where they are, by slow-down, launches and spread.
"""

import argparse
from math import nan
from statistics import fmean

import numpy as np
from test_ratio import THRESHOLD, drawn
from test_stats import follower, heavy_tailed, taking_turns, ticking, usual_interval

from allreduce_bench.evaluation.comparison.ratio import estimate, verdict
from allreduce_bench.stats import median_interval

SERIES = {
    "independent": follower(0),
    "half remembered": follower(0.5),
    "nine tenths remembered": follower(0.9),
    "heavy-tailed": heavy_tailed,
    "ticking": ticking,
    "taking turns": taking_turns,
}
LENGTHS = (10, 30, 100, 300, 1000)
SLOWDOWNS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
LAUNCHES = (3, 5, 10, 20)
SPREADS = (0.01, 0.05, 0.15)  # of a launch's median
CELLS = 10  # whose intervals hold together


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


def print_power(trials: int) -> None:
    print(f"\nshare of {trials} cells, of {CELLS} judged together, found slower; without a slow-down: slower or faster")
    print(f"{'spread, launches a side':<24}" + "".join(f"{slowdown:>8.0%}" for slowdown in SLOWDOWNS))
    for spread in SPREADS:
        for launches in LAUNCHES:
            shares = [found_share(spread, launches, slowdown, trials) for slowdown in SLOWDOWNS]
            print(f"{f'{spread:.0%}, {launches}':<24}" + "".join(f"{share:8.3f}" for share in shares), flush=True)


def found_share(spread: float, launches: int, slowdown: float, trials: int) -> float:
    """The share of cells that are called slower; of equal ones, slower or faster."""
    random, alarms = np.random.default_rng(2), ("slower",) if slowdown else ("slower", "faster")
    verdicts = []
    for _ in range(trials):
        sides = [drawn(random, spread, launches)], [drawn(random, spread, launches, 1 + slowdown)]
        ratio = estimate(*sides, 0.05 / CELLS)
        verdicts.append(verdict(ratio.low, ratio.high, THRESHOLD))
    return fmean(name in alarms for name in verdicts)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000, help="of each figure [2000]")
    options = parser.parse_args()
    print_coverage(options.trials)
    print_power(options.trials)


if __name__ == "__main__":
    main()
