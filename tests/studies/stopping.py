"""Does stopping on precision bias the time of a cell, and how far? By simulation, of `measuring.budget` itself.

A cell stops when the interval of its median is narrow, and a sample whose values happen to lie close together is narrow
sooner: the estimate could be too low, and its interval too hopeful. For series of calls of several kinds and spreads:
the calls until a cell stops (median), the mean and the extremes (5 and 95 %) of median / true median - 1 of the cells
that stop, the same of cells with exactly as many calls as were needed in the median, and the share of intervals that
hold the true median when the rule stopped. The bias is the difference of the two means. Exit status 1 where it is above
MOST_BIAS. The share of intervals is no promise: launches decide, whose intervals are not those of calls.
"""

import argparse
import sys
from math import log
from typing import NamedTuple

import numpy as np
from test_stats import follower

from allreduce_bench.measuring.budget import MAX_REPETITIONS, Budget, Sample, ahead
from allreduce_bench.medians import median, median_interval

CALL_S, CELL_S, PRECISION = 100e-6, 1.0, 0.03  # of the plan, where nothing else is said
SERIES = {  # their median is 0; a time is exp(spread * value)
    "independent": follower(0),
    "half remembered": follower(0.5),
    "nine tenths remembered": follower(0.9),
    "skewed (exponential)": lambda random, n: random.exponential(1, n) - log(2),
}
SPREADS = (0.02, 0.05, 0.1, 0.2)
MOST_BIAS = 0.005  # of the median


class Stops(NamedTuple):
    """What became of so many cells."""

    calls: int  # median
    error: float  # mean of median / true median - 1
    low: float  # 5 % of them are below
    high: float
    held: float  # share of intervals that hold the true median
    fixed: float  # mean error of as many calls, without the rule

    @property
    def bias(self) -> float:
        """What stopping adds to the error."""
        return self.error - self.fixed


def calls_until_stop(times_s: list[float]) -> int:
    """How many calls the rule makes of a cell whose calls would take `times_s`."""
    budget, done = Budget(0, None, CELL_S, precision=PRECISION), 0
    while more := ahead(budget, Sample(done, CALL_S * done, times_s[:done]), 0.0).calls:
        done += more
    return done


def stops_of(series, spread: float, trials: int) -> Stops:
    """The cells of one kind of series."""
    random = np.random.default_rng(1)
    cells = [np.exp(spread * series(random, MAX_REPETITIONS)).tolist() for _ in range(trials)]
    calls = [calls_until_stop(cell) for cell in cells]
    usual = int(median(calls))
    stopped = [cell[:number] for cell, number in zip(cells, calls)]
    errors = np.array([median(cell) for cell in stopped]) - 1
    held = np.mean([low <= 1 <= high for low, high in map(median_interval, stopped)])
    fixed = np.mean([median(cell[:usual]) for cell in cells]) - 1
    low, high = np.quantile(errors, (0.05, 0.95))
    return Stops(usual, float(errors.mean()), float(low), float(high), float(held), float(fixed))


def main() -> None:
    """Print a line for each kind of series and spread."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000, help="cells of each kind [1000]")
    trials, kept = parser.parse_args().trials, True
    print(f"{'series':<24}{'spread':>7}{'calls':>7}{'error':>9}{'5 %':>9}{'95 %':>9}{'fixed':>9}{'bias':>9}{'held':>7}")
    for name, series in SERIES.items():
        for spread in SPREADS:
            found = stops_of(series, spread, trials)
            kept &= abs(found.bias) <= MOST_BIAS
            shares = (found.error, found.low, found.high, found.fixed, found.bias)
            words = "".join(f"{share:>+9.2%}" for share in shares)
            print(f"{name:<24}{spread:>7.0%}{found.calls:>7}{words}{found.held:>7.1%}", flush=True)
    sys.exit(0 if kept else "stopping changes the times by more than promised, see above")


if __name__ == "__main__":
    main()
