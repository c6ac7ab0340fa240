"""Fits of many series: points -> a model of each, or a sentence that says what is lacking.

A series is what may be fitted together: the points of one run, competitor, dtype, operation and segment; runs are never
pooled. A pipelined competitor may cut the steps of every size differently; that does not divide a series, since prices
refer to the steps before they are cut. A library that shows no schedule is priced as the algorithm of LIBRARY that fits
best.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..algorithms import builtin, builtin_of, is_builtin
from ..evaluation.frames import medians_of, read_calls
from ..runs.competitor import FLOOR_PREFIX, Competitor
from ..runs.folder import RunFolder, run_names
from ..runs.plan import DEFAULT_SEGMENT_NBYTES
from ..schedule.algorithm import Algorithm
from ..units import few, format_size, in_ranks
from .alpha_beta import GAMMA, Meaning, Parameter, coefficient, fit_prices, meanings_for, solve
from .anchor import OUTLIER, Anchored, Measured
from .intervals import judge
from .known_algorithms import is_library, readings
from .model import LEAST_S, UNKNOWN, MeasuredCell, Model, worst
from .points import (
    TYPES,
    TooFewPoints,
    float_column,
    in_two_states,
    itemsize_of,
    refuse_too_little,
    usable_points,
)
from .terms import Terms, terms

KEYS = ("run", "competitor", "dtype", "op", "segment")
LIBRARY = ("recursive_doubling", "rabenseifner", "ring", "two_tree", "tree")  # what a library switches between
MOST_NAMED = 3  # anchors in a note
ONE_LAUNCH = "one launch of each number of ranks: how much times differ between launches is not known"


class UnfittedSeries(NamedTuple):
    """Series without a model, and the reason."""

    run: str
    competitor: str  # such as ring@pipelined
    reason: str


class Priced:
    """Cells of one series with the coefficients of their prices, for one algorithm."""

    def __init__(self, cells: Measured, algorithm: Algorithm, itemsize: int, segment: int | None):
        self.cells, self.algorithm = cells, algorithm
        self._cut = segment if algorithm.segmented else None
        self._itemsize = itemsize
        keys = list(zip(*(column.tolist() for column in cells[:3])))
        paths = [self._path(*key) for key in keys]
        self.meanings: tuple[Meaning, ...] = meanings_for(paths)
        self.coefficients = np.array([self._row(path) for path in paths])
        self._known = dict(zip(keys, self.coefficients))

    def _path(self, ranks: int, nodes: int, size_bytes: int) -> Terms:
        return terms(self.algorithm, ranks, nodes or None, size_bytes, self._itemsize, self._cut)

    def _row(self, path: Terms) -> list[float]:
        return [coefficient(meaning, path) for meaning in self.meanings]

    def columns(self, rows: np.ndarray) -> np.ndarray:
        """Return float64 [cell, price]: coefficients over the measured times of these cells."""
        return self.coefficients[rows] / self.cells.time_s[rows, None]

    def price_s(self, prices: np.ndarray, ranks: int, nodes: int, size_bytes: int) -> float:
        """Return the seconds of the schedule at these prices."""
        row = self._known.get((ranks, nodes, size_bytes))
        if row is None:
            row = self._known[ranks, nodes, size_bytes] = np.array(self._row(self._path(ranks, nodes, size_bytes)))
        return max(float(row @ prices), LEAST_S)

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the prices, fitted to all cells, with their intervals."""
        return fit_prices(self.meanings, self.coefficients, self.cells.time_s, self.cells.ranks)


def fit_anchored(candidates: list[Priced], has_trend: bool, rows: np.ndarray) -> tuple[Priced, Anchored]:
    """Fit the prices of each candidate to the cells of `rows` (bool [cell]); return the best one, and its times."""
    solutions = [solve(one.columns(rows)) for one in candidates]
    place = min(range(len(candidates)), key=lambda number: solutions[number].loss)
    best = candidates[place]
    price = partial(best.price_s, solutions[place].prices)
    return best, Anchored(best.cells.where(rows), price, has_trend)


def fit_all(points: pd.DataFrame, priced_as: Mapping[str, str] | None = None) -> list[Model]:
    """Return the models of all series of `points` (columns as in POINTS) that can be fitted, see `fit_series`.

    `priced_as`: name in `points` -> our algorithm with the same critical path.
    """
    return [one for one in fit_series(points, priced_as) if isinstance(one, Model)]


def fit_series(points: pd.DataFrame, priced_as: Mapping[str, str] | None = None) -> list[Model | UnfittedSeries]:
    """Return each series of `points` in order, fitted or not; `priced_as` as in `fit_all`."""
    points = _drop_cuts(points.reset_index(drop=True))
    undecided = in_two_states(points)
    known = {Competitor(name).algorithm for name in map(str, points["competitor"].unique())}
    algorithms = builtin() | {name: builtin_of(name) for name in known if is_builtin(name)}
    found: list[Model | UnfittedSeries] = []
    for values, rows in _series(points):
        rows, notes = _drop_two_states(rows, undecided[rows.index])
        given = (priced_as or {}).get(Competitor(values["competitor"]).algorithm)
        try:
            model = _fit(values, rows, given, algorithms)
            found.append(replace(model, notes=(*notes, *model.notes)))
        except TooFewPoints as error:
            run, competitor = (str(values[name] or "") for name in KEYS[:2])
            found.append(UnfittedSeries(run, competitor, "; ".join((str(error), *notes))))
    return found


def _series(points: pd.DataFrame) -> Iterator[tuple[dict, pd.DataFrame]]:
    """Yield the values of KEYS and the points of each series."""
    for key, rows in points.groupby(list(KEYS), sort=False, dropna=False):
        values = dict(zip(KEYS, (None if missing else value for value, missing in zip(key, pd.isna(list(key))))))
        if not Competitor(values["competitor"]).is_reference:
            yield values, rows


def _drop_cuts(points: pd.DataFrame) -> pd.DataFrame:
    """Remove the segments at which pipelined competitors cut steps; algorithms keep their own."""
    names = map(Competitor, points["competitor"].dropna().unique())
    cut = [
        name
        for name in names
        if name.is_pipelined and not (is_builtin(name.algorithm) and builtin_of(name.algorithm).segmented)
    ]
    for name in ("conditions", "placement", "grade", "imported"):
        if name not in points:  # of a frame not made by `points`
            points = points.assign(**{name: pd.Series(pd.NA, index=points.index, dtype=TYPES[name])})
    return points.assign(segment=points["segment"].mask(points["competitor"].isin(cut)))


def _drop_two_states(points: pd.DataFrame, undecided: pd.Series) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the points whose launches are in one state, and a note about the others, if any."""
    if not undecided.any():
        return points, ()
    left_out = points[undecided]
    sizes = dict.fromkeys(map(format_size, (left_out["size_bytes"].min(), left_out["size_bytes"].max())))
    where = f"{' to '.join(sizes)} at {in_ranks(int(ranks) for ranks in left_out['ranks'])}"
    reason = f"their launches are bimodal: two levels ({where}), and their median represents neither level"
    return points[~undecided], (f"{len(left_out)} of {len(points)} points left out: {reason}",)


def _fit(values: dict, points: pd.DataFrame, given: str | None, algorithms: Mapping[str, Algorithm]) -> Model:
    """Fit one series. `values` of KEYS; `given`: the algorithm to price it as, else by its name."""
    is_imported = bool(points["imported"].fillna(False).any())
    names = (given,) if given else _candidates(Competitor(values["competitor"]), is_imported, algorithms)
    usable, notes = usable_points(points)
    itemsize, segment = itemsize_of(usable), values["segment"]
    usable = usable[float_column(usable["size_bytes"]) >= itemsize]
    if usable.empty:
        raise TooFewPoints(f"all its sizes are below one element ({itemsize} bytes): nothing is sent")
    cells = cells_of(usable)
    refuse_too_little(cells)
    if segment is None and any(algorithms[name].segmented for name in names):
        segment = max(1, DEFAULT_SEGMENT_NBYTES // itemsize)
    candidates, has_trend = [Priced(cells, algorithms[name], itemsize, segment) for name in names], names == LIBRARY
    best, anchored = fit_anchored(candidates, has_trend, np.ones(len(cells.ranks), dtype=bool))
    held_out, ranges = judge(cells, lambda rows: fit_anchored(candidates, has_trend, rows)[1])
    launches = int(usable.groupby("ranks")["launch"].nunique().max()) if "launch" in usable else 1
    return Model(
        priced_as=best.algorithm.name,
        parameters=best.parameters(),
        cells=tuple(MeasuredCell(*cell) for cell in zip(*(column.tolist() for column in cells))),
        is_library=has_trend,
        **{name: values[name] or "" for name in ("run", "competitor", "dtype", "op")},
        imported=is_imported,
        conditions=str(usable["conditions"].fillna("").iloc[0]),
        itemsize=itemsize,
        segment=int(segment) if segment is not None and best.algorithm.segmented else None,
        ranks_per_node=_ranks_per_node(cells),
        launches=launches,
        held_out=held_out,
        ranges=ranges,
        notes=(*notes, *([ONE_LAUNCH] if launches <= 1 else []), *_notes(best, anchored)),
        grade=worst(usable["grade"].fillna(UNKNOWN)),
        placement=str(usable["placement"].fillna(UNKNOWN).iloc[0]),
    )


def cells_of(points: pd.DataFrame) -> Measured:
    """Return the cells of one series' usable points, each the median over launches."""
    names = ["ranks", "nodes", "size_bytes"]
    columns = {name: float_column(points[name]).fillna(0).astype(int) for name in names}
    launch = points["launch"].astype(object).where(points["launch"].notna(), "") if "launch" in points else ""
    frame = pd.DataFrame({**columns, "time_s": float_column(points["time_s"])}).assign(launch=launch)
    medians = frame.groupby([*names, "launch"], sort=False)["time_s"].median()
    cells = medians.groupby(level=names, sort=True).median().reset_index()
    return Measured(*(cells[name].to_numpy() for name in (*names, "time_s")))


def _notes(best: Priced, anchored: Anchored) -> list[str]:
    notes = []
    if not best.algorithm.exact:
        notes.append(
            f"an upper bound of the messages of {best.algorithm.name} is priced: alpha and beta may be lower than "
            "a link's"
        )
    if outliers := [f"{format_size(size)} on {count} ranks" for count, size in anchored.outliers()]:
        notes.append(
            f"{few(outliers, MOST_NAMED)}: {OUTLIER:g} times off both neighbouring sizes; predictions follow the times "
            "there"
        )
    return notes


def _ranks_per_node(cells: Measured) -> float | None:
    """Return the ranks per node if known and constant, else None."""
    if (cells.nodes == 0).any():
        return None
    per_node = set((cells.ranks / cells.nodes).tolist())
    return float(per_node.pop()) if len(per_node) == 1 else None


def _candidates(competitor: Competitor, is_imported: bool, algorithms: Mapping[str, Algorithm]) -> tuple[str, ...]:
    """Return the algorithms as which a series may be priced."""
    algorithm, ran_here = competitor.algorithm, not is_imported and competitor.is_ours
    names_found = (algorithm,) if ran_here and algorithm in algorithms else readings(algorithm, builtin(), ran_here)
    if names_found or is_library(algorithm):
        return names_found or LIBRARY
    raise TooFewPoints(
        f"the messages of '{algorithm}' are unknown; name its algorithm from 'allreduce-bench list' with --as"
    )


class LocalGamma(NamedTuple):
    """Gamma of the reduce floor of one run: a local reduction, without messages."""

    run: str
    ranks: int  # ranks that reduced at the same time
    gamma: Parameter  # seconds a byte; without an interval


def local_gammas(folders: Sequence[RunFolder]) -> list[LocalGamma]:
    """Return gamma of each run with warm caches that has at least three sizes of the reduce floor.

    The slope over size at the fewest measured ranks, which compete least for memory.
    """
    gammas = []
    for run, folder in zip(run_names(folders), folders):
        medians = medians_of(read_calls(folder), folder.marks()).reset_index()
        floors = medians[(medians["competitor"] == f"{FLOOR_PREFIX}reduce") & (medians["size_bytes"] > 0)]
        fewest = floors[(floors["ranks"] == floors["ranks"].min()) & (floors["time_s"] > 0)]
        of_sizes = fewest.groupby("size_bytes")["time_s"].median()
        if len(of_sizes) >= 3 and folder.plan().cache == "warm":
            sizes, time_s = of_sizes.index.to_numpy(float), of_sizes.to_numpy(float)
            slope = solve(np.column_stack([1 / time_s, sizes / time_s])).prices[1]
            gammas.append(LocalGamma(run, int(fewest["ranks"].iloc[0]), Parameter(GAMMA, "", float(slope))))
    return gammas
