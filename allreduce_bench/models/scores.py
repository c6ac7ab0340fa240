"""How far a way of fitting is off: at the cells it was fitted to, and at numbers of ranks that it has not seen.

For a held-out number of ranks everything is done anew without it: the choice of the form, its knots and its parameters;
for the largest, its prediction interval, too. With one p out, the interval comes from the residuals of the other folds,
whose fits have seen that p: their share of covered cells is a little too good.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .fitting import Fit
from .intervals import Reach, reach
from .model import Errors
from .observations import Observations

IN_SAMPLE, LEAVE_ONE, LEAVE_LARGEST = "in_sample", "leave_one_p_out", "leave_largest_p_out"
KINDS = (IN_SAMPLE, LEAVE_ONE, LEAVE_LARGEST)
MOST_FOLDS = 6  # of more numbers of ranks so many are held out, evenly spread, the smallest and the largest included

Fitter = Callable[[Observations, Sequence[int]], Fit]


class Residuals(NamedTuple):
    """Log errors of cells, and whether each lies within its 90 % prediction interval."""

    log: np.ndarray  # float64 [cell]: log(model / measured)
    covered: np.ndarray  # bool [cell]

    def errors(self) -> Errors:
        """In the terms of |model / measured - 1|."""
        off = np.abs(np.expm1(self.log))
        return Errors(float(np.median(off)), float(np.quantile(off, 0.9)), len(off), float(self.covered.mean()))


class Scores(NamedTuple):
    """What a way of fitting is worth for one series."""

    reach: Reach
    residuals: dict[str, Residuals]  # by KINDS; without those that need more numbers of ranks than there are

    @property
    def errors(self) -> dict[str, Errors]:
        """By KINDS."""
        return {kind: residuals.errors() for kind, residuals in self.residuals.items()}


def score(observed: Observations, fitter: Fitter) -> Scores:
    """Hold `fitter` against all cells, and against each number of ranks without those."""
    fit_of: dict[tuple[int, ...], Fit] = {}

    def off(fitted: Sequence[int], at: Sequence[int]) -> np.ndarray:
        """Log errors at some numbers of ranks of what was fitted to others."""
        if tuple(fitted) not in fit_of:
            fit_of[tuple(fitted)] = fitter(observed, fitted)
        return (fit_of[tuple(fitted)].log_time(observed) - observed.log_time)[observed.at(at)]

    def folds(counts: Sequence[int]) -> dict[int, np.ndarray]:
        """By held-out number of ranks of `counts`."""
        if len(counts) < 2:
            return {}
        return {p: off([q for q in counts if q != p], [p]) for p in _held_out(counts)}

    counts = observed.counts
    outside, inside = folds(counts), off(counts, counts)
    overall = reach(inside, _joined(outside.values()))
    residuals = {IN_SAMPLE: Residuals(inside, np.abs(inside) <= overall.log)}
    if outside:
        within = []
        for p, log in outside.items():  # its interval: from the fit without it, and from the other folds
            rest = [q for q in counts if q != p]
            own_reach = reach(off(rest, rest), _joined(fold for q, fold in outside.items() if q != p))
            within.append(np.abs(log) <= own_reach.at(doublings_beyond(p, rest)))
        residuals[LEAVE_ONE] = Residuals(_joined(outside.values()), np.concatenate(within))
        *rest, largest = counts
        own_reach = reach(off(rest, rest), _joined(folds(rest).values()))
        log = off(rest, [largest])
        residuals[LEAVE_LARGEST] = Residuals(log, np.abs(log) <= own_reach.at(doublings_beyond(largest, rest)))
    return Scores(overall, residuals)


def pooled(scores: Sequence[Scores]) -> dict[str, Errors]:
    """The errors of the cells of several series together, by KINDS."""
    errors = {}
    for kind in KINDS:
        if parts := [of_series.residuals[kind] for of_series in scores if kind in of_series.residuals]:
            logs, covered = [part.log for part in parts], [part.covered for part in parts]
            errors[kind] = Residuals(np.concatenate(logs), np.concatenate(covered)).errors()
    return errors


def doublings_beyond(ranks: int, counts: Sequence[int]) -> float:
    """How many doublings `ranks` lies above the largest or below the smallest of `counts`."""
    return float(max(0.0, np.log2(ranks / max(counts)), np.log2(min(counts) / ranks)))


def _held_out(counts: Sequence[int]) -> list[int]:
    places = np.unique(np.linspace(0, len(counts) - 1, min(MOST_FOLDS, len(counts))).round().astype(int))
    return [counts[place] for place in places]


def _joined(arrays) -> np.ndarray:
    return np.concatenate([np.empty(0), *arrays])
