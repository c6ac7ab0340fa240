"""Which form a series has: every candidate is fitted, and that with the least BIC is taken.

Candidates: alpha-beta always; with the seconds of a call; with two levels where links of both kinds occur; with one or
two knots; with contention where there are at least four numbers of ranks. A library that shows no schedule is priced as
each algorithm it may use, and as the fastest of two or three of them (`envelopes`).

BIC = cells * log(mean loss) + parameters * log(cells), knots and exponents being parameters. On the published data of
LUMI and Fugaku it was no worse than leave-one-p-out for numbers of ranks that it had not seen (the rule was picked on
those data); it needs no held-out numbers of ranks where there are but two or three, and leaves those for the scores.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from math import inf, log

import numpy as np
from scipy.optimize import least_squares

from .fitting import NOTHING, SOFT, Branch, Fit, fit_form, soft_l1, solve
from .forms import Form, Observations, TermColumns

# BIC
STRONG = 6.0  # difference of BIC (Kass and Raftery, J. American Statistical Association 90(430), 1995)
LEAST_LOSS = 1e-6  # mean, of 0.1 %: closer than that no measurement comes


# candidates
CONTENTION_COUNTS = 4  # numbers of ranks, from which on contention is a candidate
MOST_KNOTS = 2
EACH_SIDE = 3  # cells of each piece
MOST_PLACES = 16  # where a knot may be
APART = 2.0  # factor between two knots


# envelopes
SWITCHES = (0.3, 0.5, 0.7)  # shares of the cells below the switch, from where the search starts
ROUNDS = 6  # of giving cells to branches
FEWEST = 3  # cells of a branch
MOST_BRANCHES = 3


def choose(observed: Observations, counts: Sequence[int]) -> Fit:
    """The best candidate for the cells at these numbers of ranks."""
    return ranked(observed, counts)[0]


def ranked(observed: Observations, counts: Sequence[int]) -> list[Fit]:
    """Every candidate for the cells at these numbers of ranks, the best first."""
    return sorted(candidates(observed, counts), key=bic)


def simpler_rivals(fits: Sequence[Fit]) -> list[Fit]:
    """Those of `ranked` with fewer parameters than the first that the data do not speak against strongly."""
    best = fits[0]
    return [fit for fit in fits[1:] if fit.size < best.size and bic(fit) < bic(best) + STRONG]


def bic(fit: Fit) -> float:
    """Bayesian information criterion; infinite where there are hardly more cells than parameters."""
    if fit.size > 2 and fit.cells < fit.size + 2:
        return inf
    return fit.cells * log(max(fit.loss / fit.cells, LEAST_LOSS)) + fit.size * log(fit.cells)


def candidates(observed: Observations, counts: Sequence[int]) -> list[Fit]:
    """Every candidate, fitted to the cells at these numbers of ranks."""
    rows = observed.at(counts)
    fits = [fit for name in observed.paths for fit in _candidates_of(observed, name, rows, len(set(counts)))]
    return fits + (envelopes(observed, list(observed.paths), rows) if observed.switches else [])


def _candidates_of(observed: Observations, name: str, rows: np.ndarray, counts: int) -> Iterator[Fit]:
    """The candidates priced as one algorithm."""
    columns = observed.paths[name]
    places = knot_places(columns, rows)
    levels = (1, 2) if columns.mixed else (1,)
    for call, level, contention in product((False, True), levels, (False, True)[: 1 + (counts >= CONTENTION_COUNTS)]):
        best = fit_form(observed, name, Form(call=call, levels=level, contention=contention), rows)
        yield best
        for _ in range(1 if observed.switches else MOST_KNOTS):  # a library that switches has envelopes, too
            form = _best_knot(observed, best, places, rows)
            if form is None:
                break
            best = fit_form(observed, name, form, rows)
            yield best


def knot_places(columns: TermColumns, rows: np.ndarray) -> list[float]:
    """Bytes of a message between neighbouring sizes of messages on the wire, at most MOST_PLACES of them."""
    sent = columns.number[rows] > 0
    sizes = np.unique(np.round(2 * np.log2(np.maximum(columns.nbytes[rows][sent], 1)))) / 2  # half octaves
    places = [float(place) for place in 2 ** ((sizes[1:] + sizes[:-1]) / 2) if _enough(columns, rows, (float(place),))]
    chosen = np.unique(np.linspace(0, len(places) - 1, min(MOST_PLACES, len(places))).round().astype(int))
    return [places[place] for place in chosen]


def _best_knot(observed: Observations, fit: Fit, places: Sequence[float], rows: np.ndarray) -> Form | None:
    """The form of `fit` with one knot more where it helps most, its contention held; None: there is no room."""
    (branch,) = fit.branches
    columns, form = observed.paths[branch.priced_as], branch.form
    log_time = observed.log_time[rows]
    trials = []
    for place in places:
        knots = tuple(sorted((*form.knots, place)))
        if all(high / low >= APART for low, high in zip(knots, knots[1:])) and _enough(columns, rows, knots):
            trial = form._replace(knots=knots)
            held = Branch(branch.priced_as, trial, np.empty(0), branch.contention)
            trials.append((solve(held.columns(observed)[rows], log_time, hasty=True).loss, trial))
    return min(trials)[1] if trials else None


def _enough(columns: TermColumns, rows: np.ndarray, knots: tuple[float, ...]) -> bool:
    """Whether each piece has EACH_SIDE cells, and the last one, whose slope is a rate, messages of two lengths."""
    largest = columns.largest[rows]
    piece = np.digitize(largest, knots)
    longest = largest[piece == len(knots)]
    return np.bincount(piece, minlength=len(knots) + 1).min() >= EACH_SIDE and longest.min() < longest.max()


def envelopes(observed: Observations, names: Sequence[str], rows: np.ndarray) -> list[Fit]:
    """Fit the best pair of algorithms, and the best third beside them, to the cells of `rows` (bool [cell]).

    T = min over k of (alpha_k messages_k + beta_k bytes_k): libraries take another algorithm for other sizes and
    numbers of ranks without saying so.
    """
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
