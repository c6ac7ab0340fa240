"""Errors of a way of fitting: at the cells it was fitted to, and at held-out numbers of ranks.

For a held-out number of ranks everything is redone without it: the choice of the form, its knots and its parameters;
for the largest, its prediction interval, too. With one p out, the interval comes from the residuals of the other folds,
whose fits have seen that p: their coverage is slightly optimistic.

`diagnose` gives sentences about a fit: what was not identified, where it is off, and how large the noise is.
"""

from collections.abc import Callable, Sequence
from math import log
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from ..message import say
from ..units import format_ranges
from .fitting import Fit
from .forms import Observations
from .intervals import Estimates, Reach, reach
from .model import Errors

# Scores
IN_SAMPLE, LEAVE_ONE, LEAVE_LARGEST = "in_sample", "leave_one_p_out", "leave_largest_p_out"
KINDS = (IN_SAMPLE, LEAVE_ONE, LEAVE_LARGEST)
MOST_FOLDS = 6  # most held-out numbers of ranks, evenly spread, with the smallest and the largest


# Sentences
OFF = 0.2  # relative error above which a cell is counted as off
ONE_SIDED = 0.05  # significance level of errors of one sign
HARD = 10  # condition number of columns that are hard to separate

Fitter = Callable[[Observations, Sequence[int]], Fit]


class Residuals(NamedTuple):
    """Log errors of cells, and whether each lies within its 90 % prediction interval."""

    log: np.ndarray  # float64 [cell]: log(model / measured)
    covered: np.ndarray  # bool [cell]

    def errors(self) -> Errors:
        """Return the errors as |model / measured - 1|."""
        off = np.abs(np.expm1(self.log))
        return Errors(float(np.median(off)), float(np.quantile(off, 0.9)), len(off), float(self.covered.mean()))


class Scores(NamedTuple):
    """Scores of a way of fitting for one series."""

    reach: Reach
    residuals: dict[str, Residuals]  # by KINDS; without those that need more numbers of ranks

    @property
    def errors(self) -> dict[str, Errors]:
        """Return the errors by KINDS."""
        return {kind: residuals.errors() for kind, residuals in self.residuals.items()}


def score(observed: Observations, fitter: Fitter) -> Scores:
    """Evaluate `fitter` on all cells, and on each number of ranks when held out."""
    fit_of: dict[tuple[int, ...], Fit] = {}

    def off(fitted: Sequence[int], at: Sequence[int]) -> np.ndarray:
        """Return log errors at the ranks `at` of a fit to the ranks `fitted`."""
        if tuple(fitted) not in fit_of:
            fit_of[tuple(fitted)] = fitter(observed, fitted)
        return (fit_of[tuple(fitted)].log_time(observed) - observed.log_time)[observed.at(at)]

    def folds(counts: Sequence[int]) -> dict[int, np.ndarray]:
        """Return log errors by held-out number of ranks of `counts`."""
        if len(counts) < 2:
            return {}
        return {p: off([q for q in counts if q != p], [p]) for p in _held_out(counts)}

    counts = observed.counts
    outside, inside = folds(counts), off(counts, counts)
    overall = reach(inside, _joined(outside.values()))
    residuals = {IN_SAMPLE: Residuals(inside, np.abs(inside) <= overall.log)}
    if outside:
        within = []
        for p, log in outside.items():  # interval from the fit without it, and from the other folds
            rest = [q for q in counts if q != p]
            own_reach = reach(off(rest, rest), _joined(fold for q, fold in outside.items() if q != p))
            within.append(np.abs(log) <= own_reach.at(doublings_beyond(p, rest)))
        residuals[LEAVE_ONE] = Residuals(_joined(outside.values()), np.concatenate(within))
        *rest, largest = counts
        own_reach = reach(off(rest, rest), _joined(folds(rest).values()))
        log = off(rest, [largest])
        residuals[LEAVE_LARGEST] = Residuals(log, np.abs(log) <= own_reach.at(doublings_beyond(largest, rest)))
    return Scores(overall, residuals)


def _held_out(counts: Sequence[int]) -> list[int]:
    places = np.unique(np.linspace(0, len(counts) - 1, min(MOST_FOLDS, len(counts))).round().astype(int))
    return [counts[place] for place in places]


def _joined(arrays) -> np.ndarray:
    return np.concatenate([np.empty(0), *arrays])


def doublings_beyond(ranks: int, counts: Sequence[int]) -> float:
    """Return how many doublings `ranks` is above the largest or below the smallest of `counts`."""
    return float(max(0.0, np.log2(ranks / max(counts)), np.log2(min(counts) / ranks)))


def pooled(scores: Sequence[Scores]) -> dict[str, Errors]:
    """Return the errors over the cells of several series together, by KINDS."""
    errors = {}
    for kind in KINDS:
        if parts := [of_series.residuals[kind] for of_series in scores if kind in of_series.residuals]:
            logs, covered = [part.log for part in parts], [part.covered for part in parts]
            errors[kind] = Residuals(np.concatenate(logs), np.concatenate(covered)).errors()
    return errors


def diagnose(observed: Observations, fit: Fit, estimated: Estimates) -> list[str]:
    """Return sentences about a fit to all cells of `observed`."""
    residual = fit.log_time(observed) - observed.log_time
    return [
        *_unidentified(observed, estimated),
        *_contention(fit, estimated),
        f"parameters: 95 % intervals by {estimated.method}{_reason(observed)}",
        *_bias(residual),
        *_one_sided(observed, residual),
        *_far_off(residual),
        *_noise(observed, residual),
    ]


def _unidentified(observed: Observations, estimated: Estimates) -> list[str]:
    names: dict[bool, set[str]] = {True: set(), False: set()}  # identified -> names of parameters
    for part in estimated.parts:
        for parameter in part.parameters:
            names[parameter.identified].add(parameter.name.split("_")[0])
    if len(set(observed.nbytes.tolist())) == 1:
        only = " and ".join(sorted(names[True])) or say("models.sum")
        return [say("models.size_bytes_estimated_no", nbytes=observed.nbytes[0], only=only)]
    hard = f" (condition number {estimated.condition:.2g})" if estimated.condition > HARD else ""
    return (
        [say("models.not_identified_bounded", names=", ".join(sorted(names[False])), hard=hard)] if names[False] else []
    )


def _contention(fit: Fit, estimated: Estimates) -> list[str]:
    if estimated.contention is None:
        return []
    low, high = estimated.contention
    factor = f"p^{fit.branches[0].contention:.2f} ({low:.2f} to {high:.2f})"
    return [say("models.contention_messages_take_times", factor=factor)]


def _reason(observed: Observations) -> str:
    few = int(observed.launches.min())
    return say("models.since_some_ranks_launch") if few == 1 else say("models.more_number_ranks", few=few)


def _bias(residual: np.ndarray) -> list[str]:
    bias = float(np.expm1(np.median(residual)))
    if abs(bias) <= OFF / 4:
        return []
    return [say("models.half_cells_predicted_too", bias=abs(bias), either="high" if bias > 0 else "low")]


def _one_sided(observed: Observations, residual: np.ndarray) -> list[str]:
    """Apply the sign test to each number of ranks, with Bonferroni correction."""
    counts = observed.counts
    sides = []
    for p in counts:
        own_residual = residual[observed.ranks == p]
        above = int((own_residual > 0).sum())
        if binomtest(above, len(own_residual)).pvalue < ONE_SIDED / len(counts):
            sides.append((p, above > len(own_residual) / 2))
    sentences = []
    for high, word in ((True, "high"), (False, "low")):
        ranks = [p for p, side in sides if side == high]
        if ranks:
            sentences.append(say("models.predicted_too_nearly_sizes", word=word, ranks=format_ranges(ranks)))
    return sentences


def _far_off(residual: np.ndarray) -> list[str]:
    off = int((np.abs(np.expm1(residual)) > OFF).sum())
    return [say("models.cells_off_more", off=off, residual_count=len(residual), off_2=OFF)] if off else []


def _noise(observed: Observations, residual: np.ndarray) -> list[str]:
    """Return sentences on the median deviation of a launch from its cell's median: no model has to be closer."""
    repeated = (~np.isnan(observed.logs)).sum(axis=0) > 1
    if not repeated.any():
        return []
    apart = np.nanmedian(np.abs(observed.logs[:, repeated] - observed.log_time[repeated]), axis=0)
    floor, error = float(np.expm1(np.median(apart))), float(np.median(np.abs(np.expm1(residual))))
    sentences = [say("models.launches_cell_differ_median", floor=floor)] if floor > 0 else []
    if floor > log(1 + error) * 2:
        sentences.append(say("models.model_error_smaller_spread"))
    return sentences
