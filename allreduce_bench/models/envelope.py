"""A library that switches: the fastest of several algorithms, each with its own alpha and beta.

T = min over k of (alpha_k messages_k + beta_k bytes_k), for libraries that take another algorithm for other sizes and
numbers of ranks without saying so.
"""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from scipy.optimize import least_squares

from .fitting import NOTHING, SOFT, Branch, Fit, soft_l1, solve
from .forms import Form
from .observations import Observations

SWITCHES = (0.3, 0.5, 0.7)  # shares of the cells below the switch, from where the search starts
ROUNDS = 6
FEWEST = 3  # cells of a branch
MOST_BRANCHES = 3


def envelopes(observed: Observations, names: Sequence[str], rows: np.ndarray) -> list[Fit]:
    """The best pair of algorithms, and the best third beside them, fitted to the cells of `rows` (bool [cell])."""
    if rows.sum() < 2 * FEWEST + 1:
        return []
    matrices = {name: observed.paths[name].matrix(Form())[rows] for name in names}
    log_time, order = observed.log_time[rows], np.argsort(np.argsort(observed.nbytes[rows], kind="stable"))
    fits: list[Fit] = []
    chosen: tuple[str, ...] = ()
    while len(chosen) < min(MOST_BRANCHES, len(names)):
        grown = permutations(names, 2) if not chosen else ((*chosen, name) for name in names if name not in chosen)
        searches = [(group, *_search([matrices[name] for name in group], log_time, order)) for group in grown]
        group, thetas, _ = min(searches, key=lambda search: search[2])
        thetas, loss = _polish([matrices[name] for name in group], log_time, thetas)
        branches = tuple(Branch(name, Form(), theta) for name, theta in zip(group, thetas))
        fits.append(Fit(branches, loss, len(log_time)))
        chosen = group
    return fits


def _search(matrices: list[np.ndarray], log_time: np.ndarray, order: np.ndarray) -> tuple[list[np.ndarray], float]:
    """Fit each branch to its cells, give each cell to its fastest branch, and so on; from several switches."""
    best: tuple[list[np.ndarray], float] = ([], np.inf)
    for share in SWITCHES:
        edges = len(order) * (share + (1 - share) * np.arange(len(matrices) - 1) / max(1, len(matrices) - 1))
        owner = np.digitize(order, edges)
        for _ in range(ROUNDS):
            if np.bincount(owner, minlength=len(matrices)).min() < FEWEST:
                break
            cells_of = [owner == k for k in range(len(matrices))]
            thetas = [solve(m[cells], log_time[cells], hasty=True).theta for m, cells in zip(matrices, cells_of)]
            logs = _logs(matrices, thetas)
            loss = float(soft_l1(logs.min(axis=0) - log_time).sum())
            if loss < best[1]:
                best = thetas, loss
            if (owner == logs.argmin(axis=0)).all():
                break
            owner = logs.argmin(axis=0)
    return best if best[0] else ([solve(matrix, log_time, hasty=True).theta for matrix in matrices], np.inf)


def _polish(
    matrices: list[np.ndarray], log_time: np.ndarray, thetas: list[np.ndarray]
) -> tuple[list[np.ndarray], float]:
    """Move all branches together, from where the search ended; factors of its numbers, so that they stay positive."""
    cuts = np.cumsum([len(theta) for theta in thetas])[:-1]
    scale = np.concatenate(thetas)

    def residual(factors: np.ndarray) -> np.ndarray:
        return _logs(matrices, np.split(scale * factors, cuts)).min(axis=0) - log_time

    start = np.ones(len(scale))
    solution = least_squares(residual, start, bounds=(0, np.inf), loss="soft_l1", f_scale=SOFT, max_nfev=30)
    factors = solution.x if soft_l1(solution.fun).sum() < soft_l1(residual(start)).sum() else 1.0
    thetas = np.split(scale * factors, cuts)
    return thetas, float(soft_l1(_logs(matrices, thetas).min(axis=0) - log_time).sum())


def _logs(matrices: list[np.ndarray], thetas: Sequence[np.ndarray]) -> np.ndarray:
    """float64 [branch, cell]: log seconds of each branch."""
    return np.log(np.maximum([matrix @ theta for matrix, theta in zip(matrices, thetas)], NOTHING))
