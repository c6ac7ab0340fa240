"""Points of many series -> a model of each, or a sentence that says what is lacking.

A series is what may be fitted together: the points of one run, algorithm, executor, cache, dtype, operation, segment,
window and placement. Executors, caches and types are never pooled, nor are runs. A pipelined executor may cut the steps
of every size in another way; that does not divide a series, since the prices are those of the steps before they are
cut.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd

from ..algorithms import builtin
from ..runs.cell import IMPORTED, NATIVE, PIPELINED, competitor_name
from ..runs.plan import DEFAULT_SEGMENT_NBYTES
from ..runs.schema import FLOORS
from ..schedule.algorithm import Algorithm
from ..units import format_size, in_ranks
from .choice import choose, ranked, simpler_rivals
from .fitting import Fit, plain
from .forms import Observations, TermColumns
from .intervals import estimates
from .model import UNKNOWN, Model, worst
from .native.known import is_library, readings
from .points import TYPES, TooFewPoints, float_column, in_two_states, itemsize_of, refuse_too_little, usable_points
from .scores import Scores, diagnose, score
from .terms import terms

KEYS = ("run", "algorithm", "executor", "cache", "dtype", "op", "segment", "window", "placement")
LIBRARY = ("recursive_doubling", "rabenseifner", "ring", "two_tree", "tree")  # what a library switches between


class UnfittedSeries(NamedTuple):
    """A series without a model, and why."""

    run: Annotated[str, "name of the run"]
    algorithm: Annotated[str, "name of the algorithm"]
    executor: Annotated[str, "how the steps were run"]
    reason: Annotated[str, "why it was not fitted, in a sentence"]

    @property
    def competitor(self) -> str:
        """What readers call it, as of a model."""
        return competitor_name(self.algorithm, self.executor)


class FittedSeries(NamedTuple):
    """A model, and what it is worth in its cells; `plain`: the alpha-beta fit beside it."""

    model: Model
    scores: Scores
    plain: Scores
    observed: Observations


def fit_all(points: pd.DataFrame, priced_as: Mapping[str, str] | None = None) -> list[Model]:
    """The models of all series of `points` (columns as in POINTS) that can be fitted; see `fit_series` for the others.

    `priced_as`: by a name of `points` the algorithm of ours whose critical path it has.
    """
    return [fitted.model for fitted in fit_series(points, priced_as) if isinstance(fitted, FittedSeries)]


def fit_series(
    points: pd.DataFrame,
    priced_as: Mapping[str, str] | None = None,
    own: Mapping[str, Algorithm] | None = None,
) -> Iterator[FittedSeries | UnfittedSeries]:
    """Each series of `points` in their order, fitted or not. `own`: algorithms of a user's own files."""
    points = _without_cuts(points.reset_index(drop=True))
    undecided = in_two_states(points)
    for key, rows in points.groupby(list(KEYS), sort=False, dropna=False):
        values = dict(zip(KEYS, (None if missing else value for value, missing in zip(key, pd.isna(list(key))))))
        if values["algorithm"] in FLOORS and values["executor"] == "floor":
            continue
        rows, notes = _in_one_state(rows, undecided[rows.index])
        try:
            given = (priced_as or {}).get(str(values["algorithm"]))
            fitted = _fit(values, rows, given, {**builtin(), **(own or {})})
            model = replace(fitted.model, notes=(*notes, *fitted.model.notes))
            yield fitted._replace(model=model)
        except TooFewPoints as error:
            run, algorithm, executor = (str(values[name] or "") for name in KEYS[:3])
            yield UnfittedSeries(run, algorithm, executor, "; ".join((str(error), *notes)))


def _without_cuts(points: pd.DataFrame) -> pd.DataFrame:
    """The points without the segments at which executors cut steps; algorithms keep their own."""
    own = points["algorithm"].isin([name for name, algorithm in builtin().items() if algorithm.segmented])
    for name in ("window", "placement", "grade"):
        if name not in points:  # of a frame that somebody made
            points = points.assign(**{name: pd.Series(pd.NA, index=points.index, dtype=TYPES[name])})
    return points.assign(segment=points["segment"].mask(points["executor"].isin(PIPELINED) & ~own))


def _in_one_state(points: pd.DataFrame, undecided: pd.Series) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The points whose launches are in one state, and a sentence about the others, where there are such."""
    if not undecided.any():
        return points, ()
    left_out = points[undecided]
    sizes = dict.fromkeys(map(format_size, (left_out["nbytes"].min(), left_out["nbytes"].max())))
    where = f"{' to '.join(sizes)} at {in_ranks(int(ranks) for ranks in left_out['ranks'])}"
    reason = f"their launches are in two states ({where}), and their median represents neither state"
    return points[~undecided], (f"{len(left_out)} of {len(points)} points left out: {reason}",)


def _fit(values: dict, points: pd.DataFrame, given: str | None, algorithms: Mapping[str, Algorithm]) -> FittedSeries:
    """`values`: those of KEYS; `given`: the algorithm as which the series is priced, else its name tells."""
    candidates = (given,) if given else _candidates(values, algorithms)
    usable, notes = usable_points(points)
    itemsize, segment = itemsize_of(usable), values["segment"]
    usable = usable[float_column(usable["nbytes"]) >= itemsize]
    if usable.empty:
        raise TooFewPoints(f"all its sizes are below one element ({itemsize} bytes): nothing is sent")
    if segment is None and any(algorithms[name].segmented for name in candidates):
        segment = max(1, DEFAULT_SEGMENT_NBYTES // itemsize)
    observed = observe(usable, candidates, itemsize, segment, algorithms)
    refuse_too_little(observed)
    fits = ranked(observed, observed.counts)
    chosen = fits[0]

    def chosen_for(observed: Observations, counts: Sequence[int]) -> Fit:
        return chosen if list(counts) == observed.counts else choose(observed, counts)

    scores = score(observed, chosen_for)
    plain_scores = score(observed, partial(_plain, chosen.branches[0].priced_as))
    estimated = estimates(observed, chosen, simpler_rivals(fits))
    model = Model(
        algorithm=str(values["algorithm"]),
        parts=estimated.parts,
        **{name: values[name] or "" for name in ("run", "executor", "dtype", "op")},
        cache=values["cache"] or "warm",
        itemsize=itemsize,
        segment=None if segment is None else int(segment),
        window=None if values["window"] is None else int(values["window"]),
        ranks=tuple(observed.counts),
        ranks_per_node=_ranks_per_node(usable),
        nbytes=(int(observed.nbytes.min()), int(observed.nbytes.max())),
        launches=int(observed.launches.max()),
        reach_log=scores.reach.log,
        reach_log_per_doubling=scores.reach.log_per_doubling,
        errors=scores.errors,
        plain_errors=plain_scores.errors,
        notes=(*notes, *diagnose(observed, chosen, estimated)),
        grade=worst(usable["grade"].fillna(UNKNOWN)),
        placement=str(values["placement"] or UNKNOWN),
    )
    return FittedSeries(model, scores, plain_scores, observed)


def _ranks_per_node(points: pd.DataFrame) -> float | None:
    """Where it is the same throughout, and known throughout."""
    if points["nodes"].isna().any():
        return None
    per_node = set(points["ranks"] / points["nodes"])
    return float(per_node.pop()) if len(per_node) == 1 else None


def _plain(priced_as: str, observed: Observations, counts: Sequence[int]) -> Fit:
    return plain(observed, priced_as, observed.at(counts))


def _candidates(values: dict, algorithms: Mapping[str, Algorithm]) -> tuple[str, ...]:
    """The algorithms as which a series may be priced."""
    algorithm, executor = str(values["algorithm"]), values["executor"]
    ran_here = executor not in (None, IMPORTED, NATIVE)
    names_found = (algorithm,) if ran_here and algorithm in algorithms else readings(algorithm, builtin(), ran_here)
    if names_found or is_library(algorithm):
        return names_found or LIBRARY
    raise TooFewPoints(
        f"the messages of '{algorithm}' are unknown; "
        "name its algorithm from 'allreduce-bench list' with --as, or its file with --own"
    )


def observe(
    points: pd.DataFrame,
    names: tuple[str, ...],
    itemsize: int,
    segment: int | None,
    algorithms: Mapping[str, Algorithm] | None = None,
) -> Observations:
    """The cells of usable points of one series, priced as each of `names` of the `known` algorithms [built-in]."""
    frame = pd.DataFrame({name: float_column(points[name]) for name in ("ranks", "nodes", "nbytes", "time_s")})
    frame["log"] = np.log(frame["time_s"])
    frame["launch"] = points["launch"].astype(object).where(points["launch"].notna(), "") if "launch" in points else ""
    frame["nodes"] = frame["nodes"].fillna(0)
    frame["cell"] = frame.groupby(["ranks", "nodes", "nbytes"], sort=True).ngroup()
    cells = frame.groupby("cell")[["ranks", "nodes", "nbytes"]].first().astype(int)
    frame["slot"] = frame.groupby("ranks")["launch"].transform(lambda launch: pd.factorize(launch)[0])
    medians = frame.groupby(["slot", "cell"])["log"].median()
    logs = np.full((int(frame["slot"].max()) + 1, len(cells)), np.nan)
    logs[medians.index.get_level_values(0), medians.index.get_level_values(1)] = medians.to_numpy()
    paths = {}
    for name in names:
        algorithm = (algorithms or builtin())[name]
        paths[name] = TermColumns([
            terms(algorithm, p, nodes or None, nbytes, itemsize, segment if algorithm.segmented else None)
            for p, nodes, nbytes in cells.itertuples(index=False)
        ])  # fmt: skip
    switches = names == LIBRARY
    return Observations(cells["ranks"].to_numpy(), cells["nbytes"].to_numpy(), logs, paths, switches)
