"""Fit of one form to the cells of one series: non-negative, robust, in relative errors.

Minimises the sum of soft_l1(log(T / measured)), T = crowded matrix @ theta (see `forms`), over theta >= 0: an error of
10 % weighs the same at 8 bytes and at 512 MiB, and beyond about 10 % it counts linearly, not squared. theta is linear
and starts at the non-negative least squares of the relative errors (rows / measured); each step is again a non-negative
least squares, of the problem linearised at the last theta and reweighted (Gauss-Newton; the weights are those of
soft_l1 in scipy.optimize.least_squares). Parameters written as exp() would stick at a start of 0.
"""

from operator import itemgetter
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from .forms import Form, Observations, crowded, meanings

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
    """Fit of some cells: the least time of its branches."""

    branches: tuple[Branch, ...]
    loss: float
    cells: int

    @property
    def size(self) -> int:
        """Return the number of parameters, knots included."""
        forms = [branch.form for branch in self.branches]
        return sum(len(meanings(form)) + len(form.knots) + form.contention for form in forms)

    def log_time(self, observed: Observations) -> np.ndarray:
        """Return float64 [cell]: log seconds by the model."""
        return np.min([branch.log_time(observed) for branch in self.branches], axis=0)


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
    """Fit the plain alpha-beta form, the reference for all others."""
    return fit_form(observed, priced_as, Form(), rows)
