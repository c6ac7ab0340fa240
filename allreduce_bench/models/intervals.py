"""Intervals of parameters and predictions.

Parameters: 95 % intervals, simultaneous for all parameters of a series, by a bootstrap over launches, which are the
source of variation (not calls, which are dependent); with one launch per number of ranks, over the residuals of the
fit. Both are expanded to correct for few launches or cells (Hesterberg, The American Statistician 69(4), 2015). A draw
is fitted by one Gauss-Newton step from the fit, with its form fixed; if a simpler form is nearly as good, the interval
covers that form's, too.

Predictions: 90 % intervals from residuals of held-out numbers of ranks, not from the parameters' intervals, which
ignore errors of the form; on published data those cover less than half of their nominal level.
"""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from ..evaluation.spread import t_quantile
from .fitting import SOFT, Branch, Fit, non_negative, separable, slopes_at
from .forms import Observations, meanings
from .model import COVERAGE, ModelPart, Parameter

DRAWS = 199
TAILS = (0.025, 0.975)
MOST_OF_INSIDE = 2.0  # limit of held-out residuals, in multiples of those of the fit
WIDER_PER_DOUBLING = 0.25  # share of the half width: covers nine tenths at 2 and at 8 times the fitted ranks (LUMI,
# Fugaku), where without widening six tenths are covered at 8 times


class Reach(NamedTuple):
    """Half widths of prediction intervals of log time."""

    log: float
    log_per_doubling: float

    def at(self, doublings: np.ndarray | float) -> np.ndarray | float:
        """Return the half width at this many doublings of the ranks."""
        return self.log + self.log_per_doubling * doublings


class Estimates(NamedTuple):
    """Parts of a fit with intervals, and their method."""

    parts: tuple[ModelPart, ...]
    contention: tuple[float, float] | None  # its interval
    method: str
    condition: float  # condition number of the normalised columns: 1 is best, above 100 or so they are hardly separable


def reach(inside: np.ndarray, outside: np.ndarray) -> Reach:
    """Compute half widths from the log residuals of the fit and of held-out numbers of ranks (both float64 [cell]).

    The half width is the held-out residuals' 90 % quantile, but at least that of the fit and at most MOST_OF_INSIDE
    times it: a single fold is unreliable. Without a fold it is MOST_OF_INSIDE times the fit's.
    """
    least = _quantile(inside)
    half = MOST_OF_INSIDE * least if not len(outside) else np.clip(_quantile(outside), least, MOST_OF_INSIDE * least)
    return Reach(float(half), float(WIDER_PER_DOUBLING * half))


def _quantile(residuals: np.ndarray) -> float:
    """Return the size that COVERAGE of such residuals do not exceed, with one more of them included."""
    sizes = np.sort(np.abs(residuals))
    return float(sizes[min(len(sizes), int(np.ceil((len(sizes) + 1) * COVERAGE))) - 1])


def estimates(observed: Observations, fit: Fit, rivals: Sequence[Fit] = (), seed: int = 1) -> Estimates:
    """Estimate intervals of the parameters of `fit`, which was fitted to all cells.

    `rivals`: simpler fits that are nearly as good (`series.simpler_rivals`); the interval of a common parameter covers
    theirs, too.
    """
    estimated = _estimates_of(observed, fit, seed)
    rival_parts = [part for rival in rivals for part in _estimates_of(observed, rival, seed).parts]
    return estimated._replace(parts=tuple(_widened(part, rival_parts) for part in estimated.parts))


def _widened(part: ModelPart, others: Sequence[ModelPart]) -> ModelPart:
    """Widen each parameter's interval in `part` to cover those of the same parameter in `others`."""
    of_rivals: dict[tuple, list[Parameter]] = {}
    for other in others:
        for parameter in other.parameters:
            if other.priced_as == part.priced_as and parameter.identified:
                of_rivals.setdefault(parameter[:3], []).append(parameter)
    parameters = []
    for parameter in part.parameters:
        alike = [parameter, *of_rivals.get(parameter[:3], [])]
        high = max((same.high for same in alike if same.high is not None), default=None)
        low = min(same.low for same in alike if same.low is not None) if parameter.identified else None
        parameters.append(parameter._replace(low=low, high=high))
    return part._replace(parameters=tuple(parameters))


def _estimates_of(observed: Observations, fit: Fit, seed: int) -> Estimates:
    log_time = fit.log_time(observed)
    drawn, freedom, few_launches, method = _drawn_times(observed, log_time, fit.size, np.random.default_rng(seed))
    tail = TAILS[0] / sum(len(branch.theta) for branch in fit.branches)
    expand = few_launches * float(t_quantile(tail, freedom) / t_quantile(TAILS[0], inf))
    logs = np.array([branch.log_time(observed) for branch in fit.branches])
    fastest = logs.argmin(axis=0)
    parts, contention, condition = [], None, 1.0
    for index, branch in enumerate(fit.branches):
        own_cells = fastest == index
        draws = np.zeros((1, len(branch.theta) + 1))
        if own_cells.any():
            draws = _drawn_parameters(observed, branch, own_cells, drawn)
        relative = branch.columns(observed)[own_cells] / np.exp(log_time[own_cells])[:, None]
        condition = max(condition, _condition(relative))
        parts.append(_part_with_intervals(observed, branch, own_cells, draws[:, :-1], expand))
        if branch.form.contention:
            contention = _interval(branch.contention, draws[:, -1], expand)
    return Estimates(tuple(parts), contention, method, condition)


def _drawn_times(
    observed: Observations, fitted: np.ndarray, size: int, random: np.random.Generator
) -> tuple[np.ndarray, int, float, str]:
    """Return draws of log times, float64 [draw, cell], degrees of freedom, factor of expansion, and the method."""
    launches, cells = observed.launches, len(fitted)
    if launches.min() > 1:
        chosen = np.empty((DRAWS, observed.logs.shape[0], cells), dtype=int)
        freedom = 0
        for p in observed.counts:
            at = observed.ranks == p
            number = int(launches[at][0])
            chosen[:, :, at] = random.integers(number, size=(DRAWS, observed.logs.shape[0]))[:, :, None]
            freedom += number - 1
        logs = np.take_along_axis(observed.logs[None], chosen, axis=1)
        logs[:, np.arange(observed.logs.shape[0])[:, None] >= launches] = np.nan
        drawn = _median(logs, observed.log_time)
        few = float(np.sqrt(launches.min() / (launches.min() - 1)))
        return drawn, freedom, few, "bootstrap over launches"
    freedom = max(1, cells - size)
    residual = (observed.log_time - fitted) * np.sqrt(cells / freedom)
    drawn = fitted + random.choice(residual - residual.mean(), size=(DRAWS, cells))
    return drawn, freedom, 1.0, "bootstrap over residuals"


def _median(logs: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Return the median over launches of [draw, launch, cell]; `otherwise` where a draw has no launch of a cell."""
    none = np.isnan(logs).all(axis=1)
    filled = np.where(none[:, None], otherwise, logs)
    return np.nanmedian(filled, axis=1)


def _drawn_parameters(observed: Observations, branch: Branch, own: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return float64 [draw, parameter and contention]: one step from the branch towards each draw, on `own` cells."""
    matrix = observed.paths[branch.priced_as].matrix(branch.form)[own]
    fitted = branch.log_time(observed)[own]
    powers = np.repeat(observed.log_ranks[own][:, None], matrix.shape[1], axis=1) * branch.form.contention
    powers[:, : int(branch.form.call)] = 0
    slopes = slopes_at(matrix, powers, branch.theta, branch.contention)
    kept = np.flatnonzero(np.append(separable(slopes[:, :-1]), branch.form.contention))
    scale = np.linalg.norm(slopes[:, kept], axis=0)
    weights = (1 + ((fitted - observed.log_time[own]) / SOFT) ** 2) ** -0.25
    weighted_slopes = slopes[:, kept] / scale * weights[:, None]
    current = slopes @ np.append(branch.theta, branch.contention)
    drawn_parameters = np.zeros((len(drawn), slopes.shape[1]))
    for row, target in zip(drawn_parameters, (current + drawn[:, own] - fitted) * weights):
        row[kept] = non_negative(weighted_slopes, target) / scale
    return drawn_parameters


def _part_with_intervals(
    observed: Observations, branch: Branch, own: np.ndarray, drawn: np.ndarray, expand: float
) -> ModelPart:
    matrix, time_s = branch.columns(observed)[own], np.exp(observed.log_time[own])
    kept = separable(matrix / time_s[:, None]) if own.any() else np.zeros(matrix.shape[1], dtype=bool)
    parameters = []
    for index, meaning in enumerate(meanings(branch.form)):
        value = float(branch.theta[index])
        low, high = _interval(value, drawn[:, index], expand)
        if kept[index] and low > 0:
            parameters.append(Parameter(*meaning, value, low, high, True))
        else:
            bounds = [_room(matrix[:, index], time_s), *([high] if kept[index] else [])]
            # Noise may push a bound below the fitted value: then it is no bound
            bound = min((room for room in bounds if room > value), default=value)
            parameters.append(Parameter(*meaning, value, None, bound if np.isfinite(bound) else None, False))
    return ModelPart(branch.priced_as, branch.form, tuple(parameters), branch.contention)


def _condition(relative: np.ndarray) -> float:
    lengths = np.linalg.norm(relative, axis=0)
    used = relative[:, lengths > 0] / lengths[lengths > 0]
    return float(np.linalg.cond(used)) if used.size else 1.0


def _room(column: np.ndarray, time_s: np.ndarray) -> float:
    """Return the largest value that a parameter can have, as no term exceeds the time; infinite if in no term."""
    counts = column > 0
    return float(np.min(time_s[counts] / column[counts])) if counts.any() else inf


def _interval(value: float, drawn: np.ndarray, expand: float) -> tuple[float, float]:
    """Return the quantiles of the draws around `value`, expanded; never below 0."""
    low, high = np.quantile(drawn - value, TAILS)
    return max(0.0, float(value + expand * min(low, 0.0))), float(value + expand * max(high, 0.0))
