"""Choice of a form for each series by least BIC among fitted candidates, and the fit of many series.

Candidates: alpha-beta always; with the seconds of a call; with two levels if links of both kinds occur; with one or two
knots; with contention from four numbers of ranks on. A library that shows no schedule is priced as each algorithm it
may use, and as the fastest of two or three of them (`envelopes`).

BIC = cells * log(mean loss) + parameters * log(cells), with knots and exponents as parameters. On the published data of
LUMI and Fugaku it was no worse than leave-one-p-out for unseen numbers of ranks (the rule was chosen on those data); it
works with two or three numbers of ranks, and leaves held-out ones for the scores.

A library's own choice is the geometric mean of a form and of a trend, unless one of the two is shown to be closer at
the largest number of ranks, both fitted without it (`rivals`). On published series neither alone was as good. Tried,
and no better: forms in which leaders of nodes do all that crosses nodes, or in which the ranks of a node share its
port, and one algorithm up to a size, another above.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations, product
from math import inf, log
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..algorithms import builtin, builtin_of, is_builtin
from ..machine.forks import in_forks
from ..runs.competitor import Competitor
from ..runs.plan import DEFAULT_SEGMENT_NBYTES
from ..schedule.algorithm import Algorithm
from ..units import format_size, in_ranks
from .fitting import (
    IN_SAMPLE,
    LEAVE_LARGEST,
    NOTHING,
    SOFT,
    Branch,
    Fit,
    Fitter,
    Scores,
    diagnose,
    estimates,
    fit_form,
    plain,
    score,
    soft_l1,
    solve,
    unpriced,
)
from .forms import Form, Observations, TermColumns
from .kept_fits import KeptFit, kept_or_fitted
from .known_algorithms import is_library, readings
from .model import FAR, UNKNOWN, Model, ModelPart, SizeEnd, SizeTime, worst
from .points import (
    FEWEST_COUNTS,
    TYPES,
    TooFewPoints,
    float_column,
    in_two_states,
    itemsize_of,
    refuse_too_little,
    usable_points,
)
from .terms import listed_steps, terms

# BIC
STRONG = 6.0  # difference of BIC (Kass and Raftery, J. American Statistical Association 90(430), 1995)
LEAST_LOSS = 1e-6  # mean; of 0.1 %: no measurement is more precise


# Candidates
CONTENTION_COUNTS = 4  # least numbers of ranks for contention as a candidate
MOST_KNOTS = 2
EACH_SIDE = 3  # cells of each piece
MOST_PLACES = 16  # candidate places of a knot
APART = 2.0  # factor between two knots


# Trends
HALF = 0.5  # share of the trend in the logarithm of a time: the geometric mean of it and of a form
SHOWN = 2.0  # standard errors


# Envelopes
SWITCHES = (0.3, 0.5, 0.7)  # shares of the cells below the switch, as starts of the search
ROUNDS = 6  # of assigning cells to branches
FEWEST = 3  # cells of a branch
MOST_BRANCHES = 3


def choose(observed: Observations, counts: Sequence[int]) -> Fit:
    """Return the best candidate for the cells at these numbers of ranks."""
    return ranked(observed, counts)[0]


def ranked(observed: Observations, counts: Sequence[int]) -> list[Fit]:
    """Return every candidate for the cells at these numbers of ranks, the best first."""
    return sorted(candidates(observed, counts), key=bic)


def near_rivals(observed: Observations, fits: Sequence[Fit]) -> list[Fit]:
    """Return those of `ranked` whose parameters may be the true ones: nearly as good as the first, and no larger.

    By the BIC of as many cells as there are numbers of ranks and sizes: what a form misses is alike at cells of one
    size or number of ranks, which count as one. Contention changes the prices to those of one rank: without it, larger
    forms count, too, and the best of them always.
    """
    independent = len(observed.counts) + len(set(observed.size_bytes.tolist())) - 1
    best, *others = fits
    most = bic(best, independent) + STRONG
    steady = [fit for fit in others if not _has_contention(fit)]
    near = [fit for fit in others if fit.size < best.size or not _has_contention(fit)]
    near = [fit for fit in near if bic(fit, independent) < most]
    return near + steady[:1] if _has_contention(best) else near


def _has_contention(fit: Fit) -> bool:
    return fit.branches[0].form.contention


def bic(fit: Fit, cells: int | None = None) -> float:
    """Return the Bayesian information criterion, of `cells` [all]; infinite if cells hardly outnumber parameters."""
    if fit.size > 2 and fit.cells < fit.size + 2:
        return inf
    number = cells or fit.cells
    return number * log(max(fit.loss / fit.cells, LEAST_LOSS)) + fit.size * log(number)


class Rivals(NamedTuple):
    """Log errors of a form and of the trend at the largest number of ranks, both fitted without it."""

    form: np.ndarray
    trend: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Return the log errors of the geometric mean of both."""
        return (self.form + self.trend) / 2

    @property
    def trend_share(self) -> float:
        """Return the share of the trend in the logarithm of a time: half, unless one of the two is shown to be closer.

        Its losses have to be lower than those of the mean by twice the standard error: cells of neighbouring sizes are
        off alike.
        """
        for share, errors in ((0.0, self.form), (1.0, self.trend)):
            gained = soft_l1(self.mean) - soft_l1(errors)
            if gained.mean() > SHOWN * gained.std(ddof=1) / np.sqrt(len(gained)):
                return share
        return HALF


def rivals(observed: Observations, counts: Sequence[int], form_for: Fitter) -> Rivals | None:
    """Hold the form that `form_for` returns against the trend; None: too few ranks or sizes."""
    *rest, largest = counts
    if len(rest) < FEWEST_COUNTS:
        return None
    fit = form_for(observed, rest)
    trend = fit._replace(lines=observed.trend(rest))
    if not trend.lines:
        return None
    rows = observed.at([largest]) & trend.on_trend(observed)
    errors = [(one.log_time(observed) - observed.log_time)[rows] for one in (fit, trend)]
    return Rivals(*errors) if rows.sum() >= FEWEST else None


def candidates(observed: Observations, counts: Sequence[int]) -> list[Fit]:
    """Fit every candidate to the cells at these numbers of ranks."""
    rows = observed.at(counts)
    fits = [fit for name in observed.paths for fit in _candidates_of(observed, name, rows, len(set(counts)))]
    return fits + (envelopes(observed, list(observed.paths), rows) if observed.switches else [])


def _candidates_of(observed: Observations, name: str, rows: np.ndarray, counts: int) -> Iterator[Fit]:
    """Fit the candidates priced as one algorithm."""
    columns = observed.paths[name]
    places = knot_places(columns, rows)
    levels = (1, 2) if columns.mixed else (1,)
    for call, level, contention in product((False, True), levels, (False, True)[: 1 + (counts >= CONTENTION_COUNTS)]):
        best = fit_form(observed, name, Form(call=call, levels=level, contention=contention), rows)
        yield best
        for _ in range(1 if observed.switches else MOST_KNOTS):  # a library that switches also has envelopes
            form = _best_knot(observed, best, places, rows)
            if form is None:
                break
            best = fit_form(observed, name, form, rows)
            yield best


def knot_places(columns: TermColumns, rows: np.ndarray) -> list[float]:
    """Return candidate knots in bytes, between neighbouring sizes of messages; at most MOST_PLACES."""
    sent = columns.number[rows] > 0
    sizes = np.unique(np.round(2 * np.log2(np.maximum(columns.size_bytes[rows][sent], 1)))) / 2  # half octaves
    places = [float(place) for place in 2 ** ((sizes[1:] + sizes[:-1]) / 2) if _enough(columns, rows, (float(place),))]
    chosen = np.unique(np.linspace(0, len(places) - 1, min(MOST_PLACES, len(places))).round().astype(int))
    return [places[place] for place in chosen]


def _best_knot(observed: Observations, fit: Fit, places: Sequence[float], rows: np.ndarray) -> Form | None:
    """Return the form of `fit` with the best additional knot, at fixed contention; None if none fits."""
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
    """Return whether each piece has EACH_SIDE cells, and the last one, whose slope is a rate, two message lengths."""
    largest = columns.largest[rows]
    piece = np.digitize(largest, knots)
    longest = largest[piece == len(knots)]
    return np.bincount(piece, minlength=len(knots) + 1).min() >= EACH_SIDE and longest.min() < longest.max()


def envelopes(observed: Observations, names: Sequence[str], rows: np.ndarray) -> list[Fit]:
    """Fit the best pair of algorithms, and the best third beside them, to the cells of `rows` (bool [cell]).

    T = min over k of (alpha_k messages_k + beta_k bytes_k): libraries switch algorithms by size and number of ranks
    without telling.
    """
    if rows.sum() < 2 * FEWEST + 1:
        return []
    matrices = {name: observed.paths[name].matrix(Form())[rows] for name in names}
    log_time, order = observed.log_time[rows], np.argsort(np.argsort(observed.size_bytes[rows], kind="stable"))
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
    """Alternate between fitting branches and assigning cells to the fastest branch, from several switches."""
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
    """Refine all branches together from the search's end, by factors, so that parameters stay non-negative."""
    from scipy.optimize import least_squares  # late: as in `fitting.non_negative`

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
    """Return float64 [branch, cell]: log seconds of each branch."""
    return np.log(np.maximum([matrix @ theta for matrix, theta in zip(matrices, thetas)], NOTHING))


# Fit of many series: points -> a model of each, or a sentence that says what is lacking
#
# A series is what may be fitted together: the points of one run, competitor, dtype, operation and segment.
# Competitors, types and runs are never pooled. A pipelined competitor may cut the steps of
# every size differently; that does not divide a series, since prices refer to the steps before they are cut.


KEYS = ("run", "competitor", "dtype", "op", "segment")
LIBRARY = ("recursive_doubling", "rabenseifner", "ring", "two_tree", "tree")  # what a library switches between


class UnfittedSeries(NamedTuple):
    """Series without a model, and the reason."""

    run: str
    competitor: str  # such as ring@pipelined
    reason: str


class FittedSeries(NamedTuple):
    """Model of a series with its scores; `plain`: those of the alpha-beta fit."""

    model: Model
    scores: Scores
    plain: Scores
    observed: Observations


def fit_all(points: pd.DataFrame, priced_as: Mapping[str, str] | None = None) -> list[Model]:
    """Return the models of all series of `points` (columns as in POINTS) that can be fitted, see `fit_series`.

    `priced_as`: name in `points` -> our algorithm with the same critical path.
    """
    return [fitted.model for fitted in fit_series(points, priced_as) if isinstance(fitted, FittedSeries)]


def fit_series(
    points: pd.DataFrame,
    priced_as: Mapping[str, str] | None = None,
    own: Mapping[str, Algorithm] | None = None,
) -> list[FittedSeries | UnfittedSeries]:
    """Return each series of `points` in order, fitted or not. `own`: algorithms of a user's own files."""
    points = _without_cuts(points.reset_index(drop=True))
    undecided = in_two_states(points)
    known = {Competitor(name).algorithm for name in map(str, points["competitor"].unique())}
    named = {name: builtin_of(name) for name in known if is_builtin(name)}
    algorithms = builtin() | named | dict(own or {})

    def fitted(series: tuple[dict, pd.DataFrame]) -> FittedSeries | UnfittedSeries:
        values, rows = series
        rows, notes = _in_one_state(rows, undecided[rows.index])
        try:
            fit = _fit(values, rows, (priced_as or {}).get(Competitor(values["competitor"]).algorithm), algorithms)
            return fit._replace(model=replace(fit.model, notes=(*notes, *fit.model.notes)))
        except TooFewPoints as error:
            run, competitor = (str(values[name] or "") for name in KEYS[:2])
            return UnfittedSeries(run, competitor, "; ".join((str(error), *notes)))

    return in_forks(fitted, list(_series(points)))


def _series(points: pd.DataFrame) -> Iterator[tuple[dict, pd.DataFrame]]:
    """Yield the values of KEYS and the points of each series."""
    for key, rows in points.groupby(list(KEYS), sort=False, dropna=False):
        values = dict(zip(KEYS, (None if missing else value for value, missing in zip(key, pd.isna(list(key))))))
        if not Competitor(values["competitor"]).is_reference:
            yield values, rows


def _without_cuts(points: pd.DataFrame) -> pd.DataFrame:
    """Remove the segments at which pipelined competitors cut steps; algorithms keep their own."""
    names = map(Competitor, points["competitor"].dropna().unique())
    cut = [
        name
        for name in names
        if name.is_pipelined and not (is_builtin(name.algorithm) and builtin_of(name.algorithm).segmented)
    ]
    for name in ("cache", "placement", "grade", "imported"):
        if name not in points:  # of a frame not made by `points`
            points = points.assign(**{name: pd.Series(pd.NA, index=points.index, dtype=TYPES[name])})
    return points.assign(segment=points["segment"].mask(points["competitor"].isin(cut)))


def _in_one_state(points: pd.DataFrame, undecided: pd.Series) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the points whose launches are in one state, and a note about the others, if any."""
    if not undecided.any():
        return points, ()
    left_out = points[undecided]
    sizes = dict.fromkeys(map(format_size, (left_out["size_bytes"].min(), left_out["size_bytes"].max())))
    where = f"{' to '.join(sizes)} at {in_ranks(int(ranks) for ranks in left_out['ranks'])}"
    reason = f"their launches are bimodal: two levels ({where}), and their median represents neither level"
    return points[~undecided], (f"{len(left_out)} of {len(points)} points left out: {reason}",)


def _fit(values: dict, points: pd.DataFrame, given: str | None, algorithms: Mapping[str, Algorithm]) -> FittedSeries:
    """Fit one series. `values`: those of KEYS; `given`: the algorithm to price it as, else by its name."""
    is_imported = bool(points["imported"].fillna(False).any())
    candidates = (given,) if given else _candidates(Competitor(values["competitor"]), is_imported, algorithms)
    usable, notes = usable_points(points)
    itemsize, segment = itemsize_of(usable), values["segment"]
    usable = usable[float_column(usable["size_bytes"]) >= itemsize]
    if usable.empty:
        raise TooFewPoints(f"all its sizes are below one element ({itemsize} bytes): nothing is sent")
    if segment is None and any(algorithms[name].segmented for name in candidates):
        segment = max(1, DEFAULT_SEGMENT_NBYTES // itemsize)
    observed = observe(usable, candidates, itemsize, segment, algorithms)
    refuse_too_little(observed)
    fit = kept_or_fitted(observed, _fit_observed)
    model = Model(
        parts=fit.parts,
        trend=fit.lines,
        trend_share=fit.trend_share,
        uniform=fit.uniform,
        **{name: values[name] or "" for name in ("run", "competitor", "dtype", "op")},
        imported=is_imported,
        cache=str(usable["cache"].fillna("warm").iloc[0]),
        itemsize=itemsize,
        segment=None if segment is None else int(segment),
        ranks=tuple(observed.counts),
        ranks_per_node=_ranks_per_node(usable),
        size_bytes=(int(observed.size_bytes.min()), int(observed.size_bytes.max())),
        launches=int(observed.launches.max()),
        reach_log=fit.scores.reach.log,
        reach_log_per_doubling=fit.scores.reach.log_per_doubling,
        errors=fit.scores.errors,
        plain_errors=fit.plain.errors,
        notes=(*notes, *fit.notes, *([] if fit.lines else _upper_bounds(fit.parts, algorithms))),
        grade=worst(usable["grade"].fillna(UNKNOWN)),
        placement=str(usable["placement"].fillna(UNKNOWN).iloc[0]),
        smallest=_size_ends(observed, fit.scores.residuals[IN_SAMPLE].log, upper=False),
        largest=_size_ends(observed, fit.scores.residuals[IN_SAMPLE].log, upper=True),
        at_most_ranks=_times_at(observed, observed.counts[-1]),
        winner_kept_to=0,  # unless others of its run say so, see `with_kept_winners`
    )
    return FittedSeries(model, fit.scores, fit.plain, observed)


def _fit_observed(observed: Observations) -> KeptFit:
    """Choose a form for the observations of one series, fit it and judge it."""
    fits = ranked(observed, observed.counts)
    known = {tuple(observed.counts): fits[0]}

    def form_for(observed: Observations, counts: Sequence[int]) -> Fit:
        if tuple(counts) not in known:
            known[tuple(counts)] = choose(observed, counts)
        return known[tuple(counts)]

    def chosen_for(observed: Observations, counts: Sequence[int]) -> Fit:
        fit = form_for(observed, counts)
        if not observed.switches:  # the counts of a known schedule tell more of other ranks than a line does
            return fit
        errors = rivals(observed, counts, form_for)
        share, lines = errors.trend_share if errors else HALF, observed.trend(counts)
        return fit._replace(lines=lines, trend_share=share) if share and lines else fit

    chosen = chosen_for(observed, observed.counts)
    scores = score(observed, chosen_for)
    uniform_for = partial(_plain, chosen.branches[0].priced_as)
    plain_scores = score(observed, uniform_for)
    if chosen.lines:
        notes = [_trend_note(observed, chosen, form_for), *diagnose(observed, chosen)]
        trend = chosen.lines, chosen.trend_share
        return KeptFit(scores, plain_scores, unpriced(chosen), *trend, None, tuple(notes))
    uniform = None if observed.switches else unpriced(uniform_for(observed, observed.counts))[0]
    estimated = estimates(observed, chosen, near_rivals(observed, fits))
    notes = diagnose(observed, chosen, estimated)
    return KeptFit(scores, plain_scores, estimated.parts, (), 1.0, uniform, tuple(notes))


def _trend_note(observed: Observations, chosen: Fit, form_for: Fitter) -> str:
    """Return the sentence that a trend was chosen, or a mean with it, and why."""
    words = (
        "trend: of each size a line over log2 p; no alpha and beta"
        if chosen.trend_share == 1
        else "geometric mean of a trend (of each size a line over log2 p) and of alpha-beta models; no alpha and beta"
    )
    errors = rivals(observed, observed.counts, form_for)
    if errors is None:
        return (
            f"{words}: the times do not tell which of both is closer at other ranks; beyond the measured sizes it "
            "grows as the alpha-beta models do"
        )
    trend, form, mean = (float(np.median(np.abs(np.expm1(one)))) for one in (errors.trend, errors.form, errors.mean))
    return (
        f"{words}: fitted without {observed.counts[-1]} ranks, the median error there is {trend:.0%} of the trend, "
        f"{form:.0%} of the alpha-beta models, {mean:.0%} of their geometric mean; beyond the measured sizes it grows "
        "as the alpha-beta models do"
    )


def _upper_bounds(parts: Sequence[ModelPart], algorithms: Mapping[str, Algorithm]) -> list[str]:
    """Return a note about parts that are priced by an upper bound of their messages."""
    priced_as = [algorithms[part.priced_as] for part in parts]
    bounded = [algorithm.name for algorithm in priced_as if not algorithm.exact and not listed_steps(algorithm)]
    return (
        [
            (
                f"upper bounds of the messages of {' and '.join(bounded)} are priced; alpha and beta may be lower "
                "than those of a link"
            )
        ]
        if bounded
        else []
    )


def _size_ends(observed: Observations, off: np.ndarray, upper: bool) -> tuple[SizeEnd, ...]:
    """Return the end of all sizes on each number of ranks measured there; `off` float64 [cell]: log(model / measured).

    What the model is off at another size may be the opposite.
    """
    sign = 1 if upper else -1
    of_all, ends = (sign * observed.size_bytes).max(), []
    for p in observed.counts:
        rows = np.flatnonzero(observed.ranks == p)
        rows = rows[np.argsort(sign * observed.size_bytes[rows], kind="stable")]
        end, inner = rows[-1], rows[observed.size_bytes[rows] != observed.size_bytes[rows[-1]]]
        if sign * observed.size_bytes[end] != of_all:
            continue
        growth = None
        if observed.switches and len(inner):
            rise = observed.log_time[end] - observed.log_time[inner[-1]]
            growth = float(np.clip(rise / log(observed.size_bytes[end] / observed.size_bytes[inner[-1]]), 0, 1))
        ends.append(SizeEnd(p, float(-off[end]), growth))
    return tuple(ends)


def _times_at(observed: Observations, ranks: int) -> tuple[SizeTime, ...]:
    """Return the measured times at this number of ranks, by ascending size."""
    rows = np.flatnonzero(observed.ranks == ranks)
    rows = rows[np.argsort(observed.size_bytes[rows], kind="stable")]
    return tuple(SizeTime(int(observed.size_bytes[row]), float(np.exp(observed.log_time[row]))) for row in rows)


def _ranks_per_node(points: pd.DataFrame) -> float | None:
    """Return the ranks per node if known and constant, else None."""
    if points["nodes"].isna().any():
        return None
    per_node = set(points["ranks"] / points["nodes"])
    return float(per_node.pop()) if len(per_node) == 1 else None


def _plain(priced_as: str, observed: Observations, counts: Sequence[int]) -> Fit:
    return plain(observed, priced_as, observed.at(counts))


def _candidates(competitor: Competitor, is_imported: bool, algorithms: Mapping[str, Algorithm]) -> tuple[str, ...]:
    """Return the algorithms as which a series may be priced."""
    algorithm, ran_here = competitor.algorithm, not is_imported and competitor.is_ours
    names_found = (algorithm,) if ran_here and algorithm in algorithms else readings(algorithm, builtin(), ran_here)
    if names_found or is_library(algorithm):
        return names_found or LIBRARY
    raise TooFewPoints(
        f"the messages of '{algorithm}' are unknown; name its algorithm from 'allreduce-bench list' with --as, or its "
        "file with --own"
    )


def observe(
    points: pd.DataFrame,
    names: tuple[str, ...],
    itemsize: int,
    segment: int | None,
    algorithms: Mapping[str, Algorithm] | None = None,
) -> Observations:
    """Return the cells of one series' usable points, priced as each of `names` of the `algorithms` [built-in]."""
    frame = pd.DataFrame({name: float_column(points[name]) for name in ("ranks", "nodes", "size_bytes", "time_s")})
    frame["log"] = np.log(frame["time_s"])
    frame["launch"] = points["launch"].astype(object).where(points["launch"].notna(), "") if "launch" in points else ""
    frame["nodes"] = frame["nodes"].fillna(0)
    frame["cell"] = frame.groupby(["ranks", "nodes", "size_bytes"], sort=True).ngroup()
    cells = frame.groupby("cell")[["ranks", "nodes", "size_bytes"]].first().astype(int)
    frame["slot"] = frame.groupby("ranks")["launch"].transform(lambda launch: pd.factorize(launch)[0])
    medians = frame.groupby(["slot", "cell"])["log"].median()
    logs = np.full((int(frame["slot"].max()) + 1, len(cells)), np.nan)
    logs[medians.index.get_level_values(0), medians.index.get_level_values(1)] = medians.to_numpy()
    paths = {}
    for name in names:
        algorithm = (algorithms or {}).get(name) or builtin_of(name)
        paths[name] = TermColumns([
            terms(
                algorithm, p, nodes or None, size_bytes, itemsize, segment if algorithm.segmented else None,
                listed_steps(algorithm),
            )
            for p, nodes, size_bytes in cells.itertuples(index=False)
        ])  # fmt: skip
    switches = names == LIBRARY
    return Observations(cells["ranks"].to_numpy(), cells["size_bytes"].to_numpy(), logs, paths, switches)


# Which series wins beyond the measured ranks: that of the least modelled time, or the winner at the most ranks is kept


def with_kept_winners(fitted: Sequence[FittedSeries]) -> list[FittedSeries]:
    """Return `fitted`, whose models say how far the winner at their most ranks is kept (`kept_to`)."""
    rivals_of: dict[tuple, list[FittedSeries]] = {}
    for one in fitted:
        rivals_of.setdefault(one.model.alike, []).append(one)
    kept = {key: kept_to(rivals) for key, rivals in rivals_of.items()}
    return [one._replace(model=replace(one.model, winner_kept_to=kept[one.model.alike])) for one in fitted]


def kept_to(rivals: Sequence[FittedSeries]) -> int:
    """Return up to which number of ranks the winner at the largest measured one is kept; 0: not at all.

    It is if at that number the winner at the one before is as good a choice as the models' without that number. Good is
    a low mean log regret: of the time chosen over the least, at each size. Of farther ranks than these two are apart
    this tells nothing; and on published series the models chose better from FAR times on.
    """
    counts = [one.observed.counts for one in rivals]
    if len(rivals) < 2 or len({tuple(own[-2:]) for own in counts}) > 1:
        return 0
    before, largest = counts[0][-2:]
    regrets = []
    for size_bytes in sorted(set.intersection(*(set(one.observed.size_bytes.tolist()) for one in rivals))):
        cells = [_held_out_cell(one, before, largest, size_bytes) for one in rivals]
        timed = [cell for cell in cells if cell is not None]
        if len(timed) > 1:
            least = min(timed, key=itemgetter(1))[1]
            regrets.append([min(timed, key=itemgetter(way))[1] - least for way in (0, 2)])
    by_keeping, by_models = np.mean(regrets, axis=0) if regrets else (inf, 0.0)
    return int(largest * min(FAR, largest / before)) if by_keeping <= by_models else 0


def _held_out_cell(one: FittedSeries, before: int, largest: int, size_bytes: int) -> tuple[float, float, float] | None:
    """Return log times: measured at `before` and `largest`, and predicted without the latter; None: not measured."""
    seen = one.observed
    if LEAVE_LARGEST not in one.scores.residuals:
        return None
    at_largest = seen.ranks == largest
    log_before = seen.log_time[(seen.ranks == before) & (seen.size_bytes == size_bytes)]
    log_largest, off = seen.log_time[at_largest], one.scores.residuals[LEAVE_LARGEST].log
    (place,) = np.nonzero(seen.size_bytes[at_largest] == size_bytes)
    if not len(log_before) or not len(place):
        return None
    measured = float(log_largest[place[0]])
    return float(log_before[0]), measured, measured + float(off[place[0]])
