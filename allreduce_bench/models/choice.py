"""Which form a series has: every candidate is fitted, and that with the least BIC is taken.

Candidates: alpha-beta always; with the seconds of a call; with two levels where links of both kinds occur; with one or
two knots; with contention where there are at least four numbers of ranks. A library that shows no schedule is priced as
each algorithm it may use, and as the fastest of two or three of them (`envelope`).

BIC = cells * log(mean loss) + parameters * log(cells), knots and exponents being parameters. On the published data of
LUMI and Fugaku it was no worse than leave-one-p-out for numbers of ranks that it had not seen (the rule was picked on
those data); it needs no held-out numbers of ranks where there are but two or three, and leaves those for the scores.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import log

import numpy as np

from .envelope import envelopes
from .fitting import Branch, Fit, fit_form, solve
from .forms import Form
from .observations import Observations, TermColumns

CONTENTION_COUNTS = 4  # numbers of ranks
MOST_KNOTS = 2
EACH_SIDE = 3  # cells of each piece
MOST_PLACES = 16  # where a knot may be
APART = 2.0  # factor between two knots
STRONG = 6.0  # difference of BIC (Kass and Raftery, J. American Statistical Association 90(430), 1995)
LEAST_LOSS = 1e-6  # mean, of 0.1 %: closer than that no measurement comes


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
        return float("inf")
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
