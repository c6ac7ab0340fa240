"""Fits of one form to the cells of one series, robust and in relative errors; their intervals, errors and scores.

Minimises the sum of soft_l1(log(T / measured)), T = crowded matrix @ theta (see `forms`), over theta >= 0: an error of
10 % weighs the same at 8 bytes and at 512 MiB, and beyond about 10 % it counts linearly, not squared. theta is linear
and starts at the non-negative least squares of the relative errors (rows / measured); each step is again a non-negative
least squares, of the problem linearised at the last theta and reweighted (Gauss-Newton; the weights are those of
soft_l1 in scipy.optimize.least_squares). Parameters written as exp() would stick at a start of 0.
"""

from collections.abc import Callable, Sequence
from math import exp, inf, log
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from ..stats import sign_test
from ..units import format_ranges
from .forms import Form, Observations, SizeLine, crowded, meanings, trend_s
from .model import COVERAGE, Errors, ModelPart, Parameter

SOFT = 0.1  # log errors beyond it count linearly
MOST_CONTENTION = 1.0  # exponent; beyond, the machine would have almost no bisection bandwidth
STEPS, HASTY_STEPS, CLOSE = 25, 2, 1e-6
MOST_PIVOTS = 30  # per parameter
SEPARATE = 1e-3  # share of a column not explained by the others, below which it is inseparable from them
NOTHING = 1e-300


class Solution(NamedTuple):
    """Parameters fitted to one matrix."""

    theta: np.ndarray
    contention: float
    loss: float


class Branch(NamedTuple):
    """Form with its parameters, for one algorithm's critical path."""

    priced_as: str
    form: Form
    theta: np.ndarray  # float64 [parameter], in the order of `forms.meanings`
    contention: float = 0.0

    def log_time(self, observed: Observations) -> np.ndarray:
        """Return float64 [cell]: log seconds of every cell of `observed`, fitted or not."""
        return np.log(np.maximum(self.columns(observed) @ self.theta, NOTHING))

    def columns(self, observed: Observations) -> np.ndarray:
        """Return float64 [cell, parameter]: the coefficient of each parameter, contention included."""
        columns = observed.paths[self.priced_as].matrix(self.form)
        return crowded(self.form, columns, observed.log_ranks, self.contention)


class Fit(NamedTuple):
    """Fit of some cells: the least time of its branches, or at the sizes of a trend's lines a mean of both."""

    branches: tuple[Branch, ...]
    loss: float
    cells: int
    lines: tuple[SizeLine, ...] = ()
    trend_share: float = 1.0  # of the logarithm of a time

    @property
    def size(self) -> int:
        """Return the number of parameters, knots included."""
        forms = [branch.form for branch in self.branches]
        return sum(len(meanings(form)) + len(form.knots) + form.contention for form in forms)

    def log_time(self, observed: Observations) -> np.ndarray:
        """Return float64 [cell]: log seconds by the model."""
        log_time = self.log_form(observed)
        if not self.lines:
            return log_time
        share = self.trend_share * self.on_trend(observed)
        return (1 - share) * log_time + share * self.log_trend(observed)

    def log_form(self, observed: Observations) -> np.ndarray:
        """Return float64 [cell]: log seconds by the branches alone."""
        return np.min([branch.log_time(observed) for branch in self.branches], axis=0)

    def apart_log(self, observed: Observations) -> np.ndarray:
        """Return float64 [cell]: how far the trend and the branches are apart, where the mean of both counts."""
        if not self.lines or self.trend_share == 1:
            return np.zeros(len(observed.ranks))
        return np.abs(self.log_trend(observed) - self.log_form(observed)) * self.on_trend(observed)

    def on_trend(self, observed: Observations) -> np.ndarray:
        """Return bool [cell]: whether the trend knows its size."""
        known = [line.size_bytes for line in self.lines]
        return (observed.size_bytes >= min(known)) & (observed.size_bytes <= max(known))

    def log_trend(self, observed: Observations) -> np.ndarray:
        """Return float64 [cell]: log seconds by the trend."""
        return np.log(trend_s(self.lines, observed.log_ranks, observed.size_bytes))


def soft_l1(residual: np.ndarray) -> np.ndarray:
    """Return the loss of log errors: their square if they are small."""
    return 2 * SOFT**2 * (np.sqrt(1 + (residual / SOFT) ** 2) - 1)


def fit_form(observed: Observations, priced_as: str, form: Form, rows: np.ndarray) -> Fit:
    """Fit `form` to the cells selected by `rows` (bool [cell])."""
    columns = observed.paths[priced_as].matrix(form)[rows]
    solution = solve(columns, observed.log_time[rows], observed.log_ranks[rows] if form.contention else None, form.call)
    return Fit((Branch(priced_as, form, solution.theta, solution.contention),), solution.loss, int(rows.sum()))


def solve(
    matrix: np.ndarray,
    log_time: np.ndarray,
    log_ranks: np.ndarray | None = None,
    call: bool = False,
    hasty: bool = False,
) -> Solution:
    """Return the best non-negative theta for `matrix` [cell, parameter], with contention if `log_ranks` is given.

    `call`: the first column is that of the call, which contention does not scale. A column that is inseparable from
    those before it (alpha before beta, see `separable`) gets 0. Starts from the relative least squares and from equal
    shares of all columns, and takes the better end; `hasty`: a few steps from the first, good enough to compare forms.
    """
    relative = matrix / np.exp(log_time)[:, None]
    kept = separable(relative)
    scale = np.sqrt((relative[:, kept] ** 2).mean(axis=0))
    powers = np.zeros(matrix.shape) if log_ranks is None else np.repeat(log_ranks[:, None], matrix.shape[1], axis=1)
    powers[:, : int(call)] = 0
    first = non_negative(relative[:, kept] / scale, np.ones(len(relative)))
    starts = [first + 1e-3] if hasty else [first + 1e-3, np.full(len(scale), 1 / len(scale))]
    steps = HASTY_STEPS if hasty else STEPS
    ends = [_descend(matrix[:, kept] / scale, powers[:, kept], log_time, start, steps) for start in starts]
    scaled, contention, loss = min(ends, key=itemgetter(2))
    theta = np.zeros(matrix.shape[1])
    theta[kept] = scaled / scale
    return Solution(theta, contention, loss)


def _descend(
    matrix: np.ndarray, powers: np.ndarray, log_time: np.ndarray, theta: np.ndarray, steps: int
) -> tuple[np.ndarray, float, float]:
    """Run Gauss-Newton steps, each halved until the loss falls; theta stays non-negative, as both ends of a step are.

    T = (matrix * exp(contention * powers)) @ theta; all but theta are [cell, parameter].
    """

    def residual_at(theta: np.ndarray, contention: float) -> np.ndarray:
        grown = matrix * np.exp(contention * powers) if contention else matrix
        return np.log(np.maximum(grown @ theta, NOTHING)) - log_time

    contention, crowding = 0.0, bool(powers.any())
    residual = residual_at(theta, contention)
    loss = soft_l1(residual).sum()
    for _ in range(steps):
        slopes = slopes_at(matrix, powers, theta, contention)[:, : len(theta) + crowding]
        weights = (1 + (residual / SOFT) ** 2) ** -0.25
        current = np.append(theta, contention)[: slopes.shape[1]]
        target = non_negative(slopes * weights[:, None], (slopes @ current - residual) * weights)
        aim = min(target[-1], MOST_CONTENTION) if crowding else 0.0
        for share in 0.5 ** np.arange(7):
            trial = theta + share * (target[: len(theta)] - theta), contention + share * (aim - contention)
            trial_residual = residual_at(*trial)
            trial_loss = soft_l1(trial_residual).sum()
            if trial_loss < loss:
                break
        else:
            break
        gained, loss = loss - trial_loss, trial_loss
        (theta, contention), residual = trial, trial_residual
        if gained < CLOSE * loss:
            break
    return theta, float(contention), float(loss)


def non_negative(matrix: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the non-negative least squares; if the search does not end, the plain ones, clipped at 0."""
    from scipy.optimize import nnls  # late: half a second, which kept fits do not need

    try:
        return nnls(matrix, wanted, maxiter=MOST_PIVOTS * matrix.shape[1])[0]
    except RuntimeError:
        return np.maximum(np.linalg.lstsq(matrix, wanted, rcond=None)[0], 0)


def slopes_at(matrix: np.ndarray, powers: np.ndarray, theta: np.ndarray, contention: float) -> np.ndarray:
    """Return float64 [cell, parameter and contention]: the derivatives of log T."""
    grown = matrix * np.exp(contention * powers)
    time_s = grown @ theta
    return np.column_stack([grown, (grown * powers) @ theta]) / time_s[:, None]


def separable(relative: np.ndarray) -> np.ndarray:
    """Return bool [parameter]: the columns of `relative` [cell, parameter] separable from those kept before them.

    A column with the only coefficient of some cells is kept, too: their time would be 0 without it.
    """
    kept, covered = np.zeros(relative.shape[1], dtype=bool), np.zeros(len(relative), dtype=bool)
    basis: list[np.ndarray] = []
    for index, column in enumerate(relative.T):
        rest = column.copy()
        for direction in basis:
            rest -= (direction @ rest) * direction
        length = np.linalg.norm(rest)
        if length > SEPARATE * np.linalg.norm(column):
            basis.append(rest / length)
            kept[index] = True
        kept[index] |= (column[~covered] > 0).any()
        covered |= kept[index] & (column > 0)
    return kept


def plain(observed: Observations, priced_as: str, rows: np.ndarray) -> Fit:
    """Fit the uniform alpha-beta form, the reference for all others."""
    return fit_form(observed, priced_as, Form(), rows)


# Intervals of parameters and predictions.
#
# Parameters: 95 % intervals, simultaneous for all parameters of a series, by a delete-group jackknife: each number of
# ranks is left out with its launches, and each size (or several neighbouring ones). So they know the noise of launches,
# which are no independent calls, and the misfit of the form, which is alike at cells of one size or number of ranks; a
# bootstrap of launches alone gave `229 (229 to 229)`. The variances of both are added, with the degrees of freedom of
# Welch and Satterthwaite. What remains is refitted by one Gauss-Newton step from the fit. Where another form is nearly
# as good, the interval covers that form's, too.
#
# Predictions: 90 % intervals from residuals of held-out numbers of ranks, not from the parameters' intervals, which
# ignore errors of the form; on published data those cover less than half of their nominal level.


MOST_GROUPS = 12  # of sizes that are left out
TAIL = 0.025
MOST_OF_INSIDE = 2.0  # limit of held-out residuals, in multiples of those of the fit
WITHOUT_FOLDS = 1.5  # held-out residuals if there are none, in multiples of those of the fit
LEAST_OWN = 0.01  # half width of a series itself: times of another day differ by more than that
TYPICAL = 0.35  # half width of series of other systems; those of one are as uncertain as that
WIDER_PER_DOUBLING = 0.3  # share of the half width, for each doubling of the ranks or of the size
# TYPICAL and WIDER_PER_DOUBLING: for a low interval score and 85 to 95 % covered, on LUMI, Fugaku and clouds


class Reach(NamedTuple):
    """Half widths of prediction intervals of log time."""

    log: float
    log_per_doubling: float

    def at(self, doublings: np.ndarray | float) -> np.ndarray | float:
        """Return the half width at this many doublings of the ranks."""
        return self.log + self.log_per_doubling * doublings


class Estimates(NamedTuple):
    """Parts of a fit with intervals."""

    parts: tuple[ModelPart, ...]
    contention: tuple[float, float] | None  # its interval
    condition: float  # condition number of the normalised columns: 1 is best, above 100 or so they are hardly separable


def reach(inside: np.ndarray, outside: np.ndarray) -> Reach:
    """Compute half widths from the log residuals of the fit and of held-out numbers of ranks (both float64 [cell]).

    The series' own is the held-out residuals' 90 % quantile, but at least that of the fit and at most MOST_OF_INSIDE
    times it: a single fold is unreliable. The half width is the geometric mean of this and of TYPICAL: few cells say
    little of a quantile, and none of what other ranks bring.
    """
    least = _quantile(inside)
    own = WITHOUT_FOLDS * least if not len(outside) else np.clip(_quantile(outside), least, MOST_OF_INSIDE * least)
    half = float(np.sqrt(max(own, LEAST_OWN) * TYPICAL))
    return Reach(half, WIDER_PER_DOUBLING * half)


def _quantile(residuals: np.ndarray) -> float:
    """Return the size that COVERAGE of such residuals do not exceed, with one more of them included."""
    sizes = np.sort(np.abs(residuals))
    return float(sizes[min(len(sizes), int(np.ceil((len(sizes) + 1) * COVERAGE))) - 1])


def estimates(observed: Observations, fit: Fit, rivals: Sequence[Fit] = ()) -> Estimates:
    """Estimate intervals of the parameters of `fit`, which was fitted to all cells.

    `rivals`: other fits that are nearly as good (`series.near_rivals`); the interval of a common parameter covers
    theirs, too.
    """
    estimated = _estimates_of(observed, fit)
    priced_as = {branch.priced_as for branch in fit.branches}
    alike = [rival for rival in rivals if priced_as & {branch.priced_as for branch in rival.branches}]
    rival_parts = [part for rival in alike for part in _estimates_of(observed, rival).parts]
    return estimated._replace(parts=tuple(_widened(part, rival_parts) for part in estimated.parts))


def unpriced(fit: Fit) -> tuple[ModelPart, ...]:
    """Return the parts of a fit without claims on their parameters, for growth beyond the measured sizes alone."""
    return tuple(
        ModelPart(
            branch.priced_as,
            branch.form,
            tuple(
                Parameter(*meaning, float(value), None, None, False)
                for meaning, value in zip(meanings(branch.form), branch.theta)
            ),
            branch.contention,
        )
        for branch in fit.branches
    )


def _widened(part: ModelPart, others: Sequence[ModelPart]) -> ModelPart:
    """Widen each parameter's interval in `part` to cover those of the same parameter in `others`.

    The last slope, that of the longest messages, is the same wherever it begins.
    """
    last = _last_slopes(part)
    parameters = []
    for parameter in part.parameters:
        alike = [parameter]
        for other in others:
            same = _last_slopes(other) if parameter in last else other.parameters
            alike += [
                one
                for one in same
                if other.priced_as == part.priced_as and one.identified
                if one[:2] == parameter[:2] and (parameter in last or one.above == parameter.above)
            ]
        high = max((same.high for same in alike if same.high is not None), default=None)
        low = min(same.low for same in alike if same.low is not None) if parameter.identified else None
        parameters.append(parameter._replace(low=low, high=high))
    return part._replace(parameters=tuple(parameters))


def _last_slopes(part: ModelPart) -> list[Parameter]:
    """Return beta above the last knot, over each kind of link."""
    last = max(part.form.knots, default=0.0)
    return [one for one in part.parameters if one.name == "beta_s_per_byte" and one.above == last]


def _estimates_of(observed: Observations, fit: Fit) -> Estimates:
    log_time = fit.log_time(observed)
    tails = np.array([TAIL, TAIL / sum(len(branch.theta) for branch in fit.branches)])
    logs = np.array([branch.log_time(observed) for branch in fit.branches])
    fastest = logs.argmin(axis=0)
    parts, contention, condition = [], None, 1.0
    for index, branch in enumerate(fit.branches):
        own_cells = fastest == index
        alone, together = _half_widths(observed, branch, own_cells, tails)
        relative = branch.columns(observed)[own_cells] / np.exp(log_time[own_cells])[:, None]
        condition = max(condition, _condition(relative))
        parts.append(_part_with_intervals(observed, branch, own_cells, alone, together))
        if branch.form.contention:
            half = float(together[-1])
            contention = max(0.0, branch.contention - half), min(MOST_CONTENTION, branch.contention + half)
    return Estimates(tuple(parts), contention, condition)


def _half_widths(observed: Observations, branch: Branch, own: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Return float64 [tail, parameter and contention]: half the widths of intervals, by `own` cells; infinite: unknown.

    By the jackknife: of each way of grouping, the variance of the parameters without a group, with few degrees of
    freedom if few groups have nearly all of it.
    """
    matrix = observed.paths[branch.priced_as].matrix(branch.form)[own]
    unknown = np.full((len(tails), matrix.shape[1] + 1), inf)
    groupings = [_groups(observed.ranks[own], len(own)), _groups(observed.size_bytes[own], MOST_GROUPS)]
    groupings = [groups for groups in groupings if len(groups) > 1]
    if not groupings:
        return unknown
    fitted = branch.log_time(observed)[own]
    powers = np.repeat(observed.log_ranks[own][:, None], matrix.shape[1], axis=1) * branch.form.contention
    powers[:, : int(branch.form.call)] = 0
    slopes = slopes_at(matrix, powers, branch.theta, branch.contention)
    kept = np.flatnonzero(np.append(separable(slopes[:, :-1]), branch.form.contention))
    scale = np.linalg.norm(slopes[:, kept], axis=0)
    residual = fitted - observed.log_time[own]
    weights = (1 + (residual / SOFT) ** 2) ** -0.25
    weighted_slopes = slopes[:, kept] / scale * weights[:, None]
    target = (slopes @ np.append(branch.theta, branch.contention) - residual) * weights

    def without(group: np.ndarray) -> np.ndarray:
        return non_negative(weighted_slopes[~group], target[~group]) / scale

    of_all, variances, freedoms = without(np.zeros(len(target), dtype=bool)), [], []
    for groups in groupings:
        apart = np.array([without(group) for group in groups]) - of_all
        variances.append((len(groups) - 1) / len(groups) * (apart**2).sum(axis=0))
        freedoms.append(len(groups) - 1)
    variance = np.sum(variances, axis=0)
    spread = sum(part**2 / freedom for part, freedom in zip(variances, freedoms))
    freedom = np.maximum(1.0, variance**2 / np.maximum(spread, NOTHING))
    unknown[:, kept] = -t_quantile(tails[:, None], freedom) * np.sqrt(variance)
    return unknown


def _groups(values: np.ndarray, most: int) -> list[np.ndarray]:
    """Return bool [cell] for each group of equal `values`; neighbouring ones together if there are more than `most`."""
    unique = np.unique(values)
    return [np.isin(values, some) for some in np.array_split(unique, min(most, len(unique)))] if len(unique) else []


def _part_with_intervals(
    observed: Observations, branch: Branch, own: np.ndarray, alone: np.ndarray, together: np.ndarray
) -> ModelPart:
    """Return the part with its intervals: of factors, since prices are above 0.

    A price that `alone` could be 0 is not identified.
    """
    matrix, time_s = branch.columns(observed)[own], np.exp(observed.log_time[own])
    kept = separable(matrix / time_s[:, None]) if own.any() else np.zeros(matrix.shape[1], dtype=bool)
    parameters = []
    for index, meaning in enumerate(meanings(branch.form)):
        value, half = float(branch.theta[index]), float(together[index])
        if kept[index] and alone[index] < value:
            factor = exp(half / value)
            parameters.append(Parameter(*meaning, value, value / factor, value * factor, True))
        else:
            bounds = [_room(matrix[:, index], time_s), *([value + half] if kept[index] else [])]
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


# Errors of a way of fitting: at the cells it was fitted to, and at held-out numbers of ranks.
#
# For a held-out number of ranks everything is redone without it: the choice of the form, its knots and its parameters;
# for the largest, its prediction interval, too. With one rank count left out, the interval comes from the residuals of
# the other folds, whose fits have seen that p: their coverage is slightly optimistic.
#
# `diagnose` gives sentences about a fit: what was not identified, where it is off, and how large the noise is.


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

    def fit_to(fitted: Sequence[int]) -> Fit:
        if tuple(fitted) not in fit_of:
            fit_of[tuple(fitted)] = fitter(observed, fitted)
        return fit_of[tuple(fitted)]

    def off(fitted: Sequence[int], at: Sequence[int]) -> np.ndarray:
        """Return log errors at the ranks `at` of a fit to the ranks `fitted`."""
        return (fit_to(fitted).log_time(observed) - observed.log_time)[observed.at(at)]

    def apart(fitted: Sequence[int], at: Sequence[int]) -> np.ndarray:
        """Return how far the two models of its mean are apart there, by which the interval widens."""
        return fit_to(fitted).apart_log(observed)[observed.at(at)]

    def folds(counts: Sequence[int]) -> dict[int, np.ndarray]:
        """Return log errors by held-out number of ranks of `counts`."""
        if len(counts) < 2:
            return {}
        return {p: off([q for q in counts if q != p], [p]) for p in _held_out(counts)}

    counts = observed.counts
    outside, inside = folds(counts), off(counts, counts)
    overall = reach(inside, _joined(outside.values()))
    residuals = {IN_SAMPLE: Residuals(inside, np.abs(inside) <= overall.log + apart(counts, counts))}
    if outside:
        within = []
        for p, log in outside.items():  # interval from the fit without it, and from the other folds
            rest = [q for q in counts if q != p]
            own_reach = reach(off(rest, rest), _joined(fold for q, fold in outside.items() if q != p))
            within.append(np.abs(log) <= own_reach.at(doublings_beyond(p, rest)) + apart(rest, [p]))
        residuals[LEAVE_ONE] = Residuals(_joined(outside.values()), np.concatenate(within))
        *rest, largest = counts
        own_reach = reach(off(rest, rest), _joined(folds(rest).values()))
        log = off(rest, [largest])
        half = own_reach.at(doublings_beyond(largest, rest)) + apart(rest, [largest])
        residuals[LEAVE_LARGEST] = Residuals(log, np.abs(log) <= half)
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


def diagnose(observed: Observations, fit: Fit, estimated: Estimates | None = None) -> list[str]:
    """Return sentences about a fit to all cells of `observed`; a trend has no estimates."""
    residual = fit.log_time(observed) - observed.log_time
    return [
        *(_of_parameters(observed, fit, estimated) if estimated else []),
        *_bias(residual),
        *_one_sided(observed, residual),
        *_far_off(residual),
        *_noise(observed, residual),
    ]


def _of_parameters(observed: Observations, fit: Fit, estimated: Estimates) -> list[str]:
    return [
        *_unidentified(observed, estimated),
        *_contention(fit, estimated),
        (
            f"parameters: 95 % intervals by leaving out each number of ranks ({len(observed.counts)}) and each size "
            f"({len(set(observed.size_bytes.tolist()))}), and by other forms that are nearly as good"
        ),
    ]


def _unidentified(observed: Observations, estimated: Estimates) -> list[str]:
    names: dict[bool, set[str]] = {True: set(), False: set()}  # identified -> names of parameters
    for part in estimated.parts:
        for parameter in part.parameters:
            names[parameter.identified].add(parameter.name.split("_")[0])
    if len(set(observed.size_bytes.tolist())) == 1:
        only = " and ".join(sorted(names[True])) or "the sum of all"
        return [f"one size ({observed.size_bytes[0]} bytes): only {only} can be estimated, and no time at another size"]
    hard = f" (condition number {estimated.condition:.2g})" if estimated.condition > HARD else ""
    return [f"not identified, only bounded: {', '.join(sorted(names[False]))}{hard}"] if names[False] else []


def _contention(fit: Fit, estimated: Estimates) -> list[str]:
    if estimated.contention is None:
        return []
    low, high = estimated.contention
    factor = f"p^{fit.branches[0].contention:.2f} ({low:.2f} to {high:.2f})"
    return [f"contention: messages take {factor} times as long as without contention"]


def _bias(residual: np.ndarray) -> list[str]:
    bias = float(np.expm1(np.median(residual)))
    if abs(bias) <= OFF / 4:
        return []
    either = "high" if bias > 0 else "low"
    return [f"half of the cells are predicted {abs(bias):.0%} too {either}, or more"]


def _one_sided(observed: Observations, residual: np.ndarray) -> list[str]:
    """Apply the sign test to each number of ranks, with Bonferroni correction."""
    counts = observed.counts
    sides = []
    for p in counts:
        own_residual = residual[observed.ranks == p]
        above = int((own_residual > 0).sum())
        if sign_test(above, len(own_residual)) < ONE_SIDED / len(counts):
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
    """Return sentences on the median deviation of a launch from its cell's median: no model has to be closer."""
    repeated = (~np.isnan(observed.logs)).sum(axis=0) > 1
    if not repeated.any():
        return []
    apart = np.nanmedian(np.abs(observed.logs[:, repeated] - observed.log_time[repeated]), axis=0)
    floor, error = float(np.expm1(np.median(apart))), float(np.median(np.abs(np.expm1(residual))))
    sentences = [f"launches of one cell differ by {floor:.1%} from their median"] if floor > 0 else []
    if floor > log(1 + error) * 2:
        sentences.append("the model error is smaller than the spread between launches: it may fit noise")
    return sentences


def t_quantile(share, degrees):
    """Return the quantile of Student's t at `share`; both may be arrays, degrees may be inf."""
    from scipy.special import ndtri, stdtrit

    return np.where(np.isinf(degrees), ndtri(share), stdtrit(np.where(np.isinf(degrees), 1.0, degrees), share))[()]
