"""What a reader must know of a fit, in sentences: what was not identified, where it is off, and what noise there is."""

from math import log

import numpy as np
from scipy.stats import binomtest

from ..units import format_ranges
from .fitting import Fit
from .intervals import Estimates
from .observations import Observations

OFF = 0.2  # relative error of a cell that is named
ONE_SIDED = 0.05  # chance of so many errors of one sign, by luck
HARD = 10  # condition number of columns that are hard to tell apart


def diagnose(observed: Observations, fit: Fit, estimated: Estimates) -> list[str]:
    """Sentences about a fit to all cells of `observations`."""
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
    names: dict[bool, set[str]] = {True: set(), False: set()}  # by whether a parameter of that name is identified
    for part in estimated.parts:
        for parameter in part.parameters:
            names[parameter.identified].add(parameter.name.split("_")[0])
    if len(set(observed.nbytes.tolist())) == 1:
        only = " and ".join(sorted(names[True])) or "the sum of all"
        return [f"one size ({observed.nbytes[0]} bytes): only {only} can be estimated, and no time at another size"]
    hard = f" (condition number {estimated.condition:.2g})" if estimated.condition > HARD else ""
    return [f"not identified, only bounded: {', '.join(sorted(names[False]))}{hard}"] if names[False] else []


def _contention(fit: Fit, estimated: Estimates) -> list[str]:
    if estimated.contention is None:
        return []
    low, high = estimated.contention
    factor = f"p^{fit.branches[0].contention:.2f} ({low:.2f} to {high:.2f})"
    return [f"contention: messages take {factor} times as long as without contention"]


def _reason(observed: Observations) -> str:
    few = int(observed.launches.min())
    return ", since some ranks have one launch only" if few == 1 else f" ({few} or more of each number of ranks)"


def _bias(residual: np.ndarray) -> list[str]:
    bias = float(np.expm1(np.median(residual)))
    if abs(bias) <= OFF / 4:
        return []
    return [f"half of the cells are predicted {abs(bias):.0%} too {'high' if bias > 0 else 'low'}, or more"]


def _one_sided(observed: Observations, residual: np.ndarray) -> list[str]:
    """The sign test, for each number of ranks; the chance is shared among them."""
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
            sentences.append(f"predicted too {word} at nearly all sizes of {format_ranges(ranks)} ranks")
    return sentences


def _far_off(residual: np.ndarray) -> list[str]:
    off = int((np.abs(np.expm1(residual)) > OFF).sum())
    return [f"{off} of {len(residual)} cells are off by more than {OFF:.0%}"] if off else []


def _noise(observed: Observations, residual: np.ndarray) -> list[str]:
    """The median over cells of how far a launch is from its cell's median: no model has to be closer."""
    repeated = (~np.isnan(observed.logs)).sum(axis=0) > 1
    if not repeated.any():
        return []
    apart = np.nanmedian(np.abs(observed.logs[:, repeated] - observed.log_time[repeated]), axis=0)
    floor, error = float(np.expm1(np.median(apart))), float(np.median(np.abs(np.expm1(residual))))
    sentences = [f"launches of one cell differ by {floor:.1%} from their median"] if floor > 0 else []
    if floor > log(1 + error) * 2:
        sentences.append("the model error is smaller than the spread between launches: it may fit noise")
    return sentences
