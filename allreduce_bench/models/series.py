"""Points of many series -> a model of each, or a sentence that says what is lacking.

A series is what may be fitted together: the points of one run, algorithm, executor, cache, dtype, operation and
segment. Executors, caches and types are never pooled, nor are runs.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..algorithms import builtin
from ..runs.dtypes import DTYPES
from ..runs.plan import DEFAULT_SEGMENT_NBYTES
from ..runs.schema import FLOORS
from ..schedule.algorithm import Algorithm
from ..units import format_ranges
from .choice import choose, ranked, simpler_rivals
from .diagnosis import diagnose
from .fitting import Fit, plain
from .intervals import estimates
from .model import Model
from .native.known import is_library, readings
from .observations import Observations, TermColumns
from .scores import Scores, score
from .terms import terms

KEYS = ("run", "algorithm", "executor", "cache", "dtype", "op", "segment")
LIBRARY = ("recursive_doubling", "rabenseifner", "ring", "two_tree", "tree")  # what a library switches between
PLAUSIBLE_S = (1e-12, 1e9)  # what lies beyond is no time of a call
FEWEST_CELLS = 3  # two parameters need more
FEWEST_COUNTS = 2  # numbers of ranks
FEWEST_OF_ONE_SIZE = 3  # numbers of ranks, where there is one size


class UnfittedSeries(NamedTuple):
    """A series without a model, and why."""

    run: str
    algorithm: str
    executor: str
    reason: str  # a sentence


class FittedSeries(NamedTuple):
    """A model, and what it is worth in its cells; `plain`: the alpha-beta fit beside it."""

    model: Model
    scores: Scores
    plain: Scores
    observed: Observations


class TooFewPoints(ValueError):
    """What a series has too little of, in words."""


def fit_all(points: pd.DataFrame, priced_as: Mapping[str, str] | None = None) -> list[Model]:
    """The models of all series of `points` (columns as in POINTS) that can be fitted; see `fit_series` for the others.

    `priced_as`: by a name of `points` the algorithm of ours whose critical path it has.
    """
    return [found.model for found in fit_series(points, priced_as) if isinstance(found, FittedSeries)]


def fit_series(
    points: pd.DataFrame,
    priced_as: Mapping[str, str] | None = None,
    own: Mapping[str, Algorithm] | None = None,
) -> Iterator[FittedSeries | UnfittedSeries]:
    """Each series of `points` in their order, fitted or not. `own`: algorithms of a user's own files."""
    for key, group in points.groupby(list(KEYS), sort=False, dropna=False):
        names = dict(zip(KEYS, (None if missing else value for value, missing in zip(key, pd.isna(list(key))))))
        if names["algorithm"] in FLOORS and names["executor"] == "floor":
            continue
        try:
            asked = (priced_as or {}).get(str(names["algorithm"]))
            yield _fit(names, group, asked, {**builtin(), **(own or {})})
        except TooFewPoints as why:
            run, algorithm, executor = (str(names[name] or "") for name in KEYS[:3])
            yield UnfittedSeries(run, algorithm, executor, str(why))


def _fit(names: dict, points: pd.DataFrame, asked: str | None, known: Mapping[str, Algorithm]) -> FittedSeries:
    candidates = (asked,) if asked else _candidates(names, known)
    usable, notes = _usable(points)
    itemsize, segment = _itemsize(usable), names["segment"]
    usable = usable[_numbers(usable["nbytes"]) >= itemsize]
    if usable.empty:
        raise TooFewPoints(f"all its sizes are below one element ({itemsize} bytes): nothing is sent")
    if segment is None and any(known[name].segmented for name in candidates):
        segment = max(1, DEFAULT_SEGMENT_NBYTES // itemsize)
    observed = observe(usable, candidates, itemsize, segment, known)
    _refuse_too_little(observed)
    found = ranked(observed, observed.counts)
    chosen = found[0]
    memory: dict[tuple[int, ...], Fit] = {tuple(observed.counts): chosen}

    def chosen_for(observed: Observations, counts) -> Fit:
        if tuple(counts) not in memory:
            memory[tuple(counts)] = choose(observed, counts)
        return memory[tuple(counts)]

    scores = score(observed, chosen_for)
    beside = score(observed, partial(_plain, chosen.branches[0].priced_as))
    estimated = estimates(observed, chosen, simpler_rivals(found))
    per_node = {ranks / nodes for ranks, nodes in zip(usable["ranks"], usable["nodes"]) if not pd.isna(nodes)}
    texts = {name: names[name] or "" for name in ("run", "executor", "dtype", "op")}
    model = Model(
        algorithm=str(names["algorithm"]),
        parts=estimated.parts,
        **texts,
        cache=names["cache"] or "warm",
        itemsize=itemsize,
        segment=None if segment is None else int(segment),
        ranks=tuple(observed.counts),
        ranks_per_node=per_node.pop() if len(per_node) == 1 and usable["nodes"].notna().all() else None,
        nbytes=(int(observed.nbytes.min()), int(observed.nbytes.max())),
        launches=int(observed.launches.max()),
        reach_log=scores.reach.log,
        reach_log_per_doubling=scores.reach.log_per_doubling,
        errors=scores.errors,
        plain_errors=beside.errors,
        notes=(*notes, *diagnose(observed, chosen, estimated)),
    )
    return FittedSeries(model, scores, beside, observed)


def _plain(priced_as: str, observed: Observations, counts) -> Fit:
    return plain(observed, priced_as, observed.at(counts))


def _candidates(names: dict, known: Mapping[str, Algorithm]) -> tuple[str, ...]:
    """The algorithms as which a series may be priced."""
    algorithm, executor = str(names["algorithm"]), names["executor"]
    ours = executor not in (None, "imported", "native")
    found = (algorithm,) if ours and algorithm in known else readings(algorithm, builtin(), ours)
    if found or is_library(algorithm):
        return found or LIBRARY
    raise TooFewPoints(
        f"which messages '{algorithm}' sends is not known, so nothing can be counted; "
        "say with --as which algorithm of 'allreduce-bench list' it is, or with --own in which file of yours"
    )


def _usable(points: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The points that say something, and what was left out."""
    time_s, notes = _numbers(points["time_s"]), []
    bad = ~time_s.between(*PLAUSIBLE_S)
    if bad.any():
        notes.append(
            f"{int(bad.sum())} of {len(points)} points left out: their times are 0, negative or missing (or no time)"
        )
    lacking = _numbers(points["ranks"]).isna() | _numbers(points["nbytes"]).isna()
    if (lacking & ~bad).any():
        notes.append(
            f"{int((lacking & ~bad).sum())} of {len(points)} points left out: their ranks or sizes are missing"
        )
    known = points[~bad & ~lacking]
    if known.empty:
        raise TooFewPoints(f"none of its points can be used: {notes[-1]}")
    several = known[(known["ranks"] > 1) & (known["nbytes"] > 0)]
    if several.empty:
        what = "one rank sends no messages" if (known["ranks"] <= 1).all() else "vectors of 0 bytes move nothing"
        raise TooFewPoints(f"{what}: measure 2 ranks or more, and sizes above 0")
    return several, notes + _crowded(several)


def _crowded(points: pd.DataFrame) -> list[str]:
    """A sentence about the points of more ranks than cores, where there are such."""
    if "oversubscribed" not in points or not (crowded := points["oversubscribed"].fillna(False).astype(bool)).any():
        return []
    ranks = format_ranges(int(one) for one in points.loc[crowded, "ranks"])
    return [f"{ranks} ranks are oversubscribed: their times are the scheduler's, and so is what is modelled of them"]


def _numbers(column: pd.Series) -> pd.Series:
    """float64, NaN where there is none."""
    return pd.Series(pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan), index=column.index)


def _itemsize(points: pd.DataFrame) -> int:
    """Bytes of an element; 1 where nothing says so: then a vector has as many elements as bytes."""
    if "count" in points:
        sizes = (_numbers(points["nbytes"]) / _numbers(points["count"])).replace(np.inf, np.nan).median()
        if sizes > 0:
            return max(1, round(float(sizes)))
    return DTYPES.get(str(points["dtype"].iloc[0]), 1)


def observe(
    points: pd.DataFrame,
    names: tuple[str, ...],
    itemsize: int,
    segment: int | None,
    known: Mapping[str, Algorithm] | None = None,
) -> Observations:
    """The cells of usable points of one series, priced as each of `names` of the `known` algorithms [built-in]."""
    frame = pd.DataFrame({name: _numbers(points[name]) for name in ("ranks", "nodes", "nbytes", "time_s")})
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
        algorithm = (known or builtin())[name]
        paths[name] = TermColumns([
            terms(algorithm, p, nodes or None, nbytes, itemsize, segment if algorithm.segmented else None)
            for p, nodes, nbytes in cells.itertuples(index=False)
        ])  # fmt: skip
    switches = names == LIBRARY
    return Observations(cells["ranks"].to_numpy(), cells["nbytes"].to_numpy(), logs, paths, switches)


def _refuse_too_little(observed: Observations) -> None:
    """Raises Lacking: the sentence says what is lacking and what to measure."""
    cells, counts, sizes = len(observed.ranks), observed.counts, set(observed.nbytes.tolist())
    if cells == 1:
        raise TooFewPoints("one point fits any line: measure 2 numbers of ranks or more, and 3 sizes or more of each")
    if len(counts) < FEWEST_COUNTS:
        raise TooFewPoints(
            f"one number of ranks ({counts[0]}) does not tell how the time grows with the ranks: measure 2 or more"
        )
    if len(sizes) == 1 and len(counts) < FEWEST_OF_ONE_SIZE:
        raise TooFewPoints(
            f"one size ({sizes.pop()} bytes) at {len(counts)} numbers of ranks ({format_ranges(counts)}): alpha and "
            "beta cannot be told apart; measure 3 sizes or more"
        )
    if cells < FEWEST_CELLS:
        raise TooFewPoints(f"{cells} points for two parameters fit any line: measure {FEWEST_CELLS} or more")
    if np.ptp(observed.log_time) == 0:
        raise TooFewPoints(
            f"all {cells} times are equal ({np.exp(observed.log_time[0]):.3g} s), whatever the ranks and sizes: "
            "they cannot be those of an all-reduce"
        )
