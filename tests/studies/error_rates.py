"""How often are the intervals wrong, and how often does `compare` err, or find nothing? Operating curves.

Part 1: the share of `median_interval`s that hold the true median, and their width over that of independent calls, for
series of several kinds and lengths. Part 2: of simulated comparisons of 12 cells at a threshold of 10 % the share of
equal cells that stay undecided, the share of comparisons with a false alarm, the share of cells found that are slower,
a quarter of the cells by 10, 20 and 30 %, and the share called the same of those that differ by just the threshold; by
how launches differ and how many there are. Exit status 1 where a promise is not kept: false alarms in at most 5 % of
comparisons; with 5 launches a side that differ by 5 % or less, alike in all cells or nearly so, at most 30 % of
equal cells undecided and 90 % found of those that are 30 % slower.
"""

import argparse
import sys
from math import nan
from statistics import fmean

import numpy as np
from made_sides import CELLS, LAUNCHES, THRESHOLD, Rates, Truth, at_most, false_same, rates
from test_stats import follower, heavy_tailed, taking_turns, ticking, usual_interval

from allreduce_bench.medians import median_interval

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
    options = parser.parse_args()
    if options.trials:
        print_coverage(options.trials)
    sys.exit(0 if print_power(options.comparisons) else "the promises were not kept, see above")


if __name__ == "__main__":
    main()
