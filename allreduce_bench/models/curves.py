"""Model curves: tables to draw, at measured points compared with times, and extrapolated."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

import numpy as np
import pandas as pd

from ..algorithms import builtin_of
from ..evaluation.verdict import FASTEST
from ..schedule.algorithm import Algorithm, Topology
from .model import Bounds, Model, Prediction, bounds
from .terms import listed_steps, terms

SERIES = ["competitor"]
AT = ["ranks", "size_bytes"]
NO_OWN: Mapping[str, Algorithm] = {}
BEATEN = 0.9  # of a bound: shorter times are no noise
REACH = 4  # curves extend to this multiple of the largest measured number of ranks
HELD = [*SERIES, "ranks", "size_bytes", "time_s", "spread_low_s", "spread_high_s", "model_s", "ratio", "standing"]
CURVE = [*SERIES, "size_bytes", "ranks", "model_s", "low_s", "high_s", "measured", "speculative"]


def predicted_at(
    model: Model,
    ranks: int,
    nodes: int | None,
    size_bytes: int,
    segment: int | None = None,
    own: Mapping[str, Algorithm] = NO_OWN,
) -> Prediction | None:
    """Predict by `model`; None if an algorithm that it is priced as cannot run.

    `nodes`: None if unknown, or links are alike; `segment` in elements, None: as measured. Priced by
    declared costs, as `predict` does, but users' own algorithms, of their files in `own`, as they were fitted.
    """
    algorithms = [own.get(part.priced_as) or builtin_of(part.priced_as) for part in model.parts]
    topology = Topology.filled(ranks, ceil(ranks / (nodes or ranks)))
    if any(algorithm.unmet(ranks, topology) for algorithm in algorithms):
        return None
    cut = segment or model.segment
    paths = [
        terms(one, ranks, nodes, size_bytes, model.itemsize, cut, listed_steps(one) if ranks in model.ranks else 0)
        for one in algorithms
    ]
    return model.predict(ranks, size_bytes, paths)


def held_against_models(
    rows: pd.DataFrame, models: Sequence[Model], own: Mapping[str, Algorithm] = NO_OWN
) -> pd.DataFrame:
    """Compare measured times with those of models: rows of `summary.summary` that have a model, with columns HELD.

    `rows` are those of one run, `models` its models. `ratio` is model_s over time_s. Cells whose launches are in two
    states are left out.
    """
    rows = rows[rows["states"].isna()]
    model_of = {model.competitor: model for model in models}
    records = []
    for row in rows[rows["time_s"].notna() & (rows["size_bytes"] > 0) & (rows["ranks"] > 1)].to_dict("records"):
        model = model_of.get(row["competitor"])
        if model is None:
            continue
        nodes, segment = _int_or_none(row["nodes"]), _int_or_none(row["segment"])
        predicted = predicted_at(model, row["ranks"], nodes, row["size_bytes"], segment, own)
        if predicted and predicted.time_s > 0:
            records.append({**row, "model_s": predicted.time_s, "ratio": predicted.time_s / row["time_s"]})
    return pd.DataFrame(records, columns=HELD)


def over_ranks(models: Iterable[Model], sizes: Sequence[int], own: Mapping[str, Algorithm] = NO_OWN) -> pd.DataFrame:
    """Return the curves of `models` at `sizes` over ranks, from the smallest measured to REACH times the largest.

    Columns: CURVE. At the measured numbers of ranks and at powers of two. `low_s` and `high_s` are the ends of the 90 %
    interval.
    """
    points = []
    for model in models:
        if len(model.ranks) < 2:
            continue
        least, most = int(min(model.ranks)), int(max(model.ranks))
        doubled = {most * 2, most * REACH, *(1 << n for n in range(1, 60) if least <= 1 << n <= most * REACH)}
        for size_bytes in sizes:
            for ranks in sorted({*map(int, model.ranks), *doubled}):
                nodes = ceil(ranks / model.ranks_per_node) if model.ranks_per_node else None
                if predicted := predicted_at(model, ranks, nodes, size_bytes, own=own):
                    time_s, low_s, high_s, speculative = predicted[:4]
                    key = (model.competitor, size_bytes, ranks)
                    points.append((*key, time_s, low_s, high_s, ranks in model.ranks, speculative))
    curves = pd.DataFrame(points, columns=CURVE)
    return curves.astype({name: "float64" for name in ("model_s", "low_s", "high_s")})


def lower_bounds(models: Sequence[Model], rows: pd.DataFrame) -> dict[int, Bounds]:
    """Return, by number of ranks of `rows` (of `summary.summary`), the bounds for one byte on the nodes used there.

    Bandwidth bounds grow with the bytes. If a number of ranks ran on several numbers of nodes, the least of each
    counts. Left out where a time is less than BEATEN of the bound: there the models do not hold, or found no price.
    """
    least = {}
    for ranks, nodes in layouts(rows).items():
        candidates = [bounds(models, ranks, number, 1) for number in nodes]
        bound, cells = Bounds(*map(min, zip(*candidates))), rows[rows["ranks"] == ranks]
        limits_s = np.fmax(bound.latency_s, bound.bandwidth_s * cells["size_bytes"])
        beaten = (cells["time_s"] < BEATEN * limits_s) & (cells["size_bytes"] > 0)
        if any(bound) and not beaten.any():
            least[ranks] = bound
    return least


def passed_bounds(least: Mapping[int, Bounds], rows: pd.DataFrame) -> frozenset[int]:
    """Return the numbers of ranks at which some time of `rows`, or some launch's median, is below `lower_bounds`.

    `least` are those bounds. Their parameters were fitted to these times: what one of them undercuts is no bound.
    """
    passed = set()
    for ranks, bound in least.items():
        cells = rows[(rows["ranks"] == ranks) & (rows["size_bytes"] > 0)]
        limits_s = np.fmax(bound.latency_s, bound.bandwidth_s * cells["size_bytes"])
        if (cells[["time_s", "spread_low_s"]].min(axis="columns") < limits_s).any():
            passed.add(ranks)
    return frozenset(passed)


def layouts(rows: pd.DataFrame) -> dict[int, list[int | None]]:
    """Return the numbers of ranks above 1 in `rows`, and the numbers of nodes of each; None: unknown."""
    several = rows[rows["ranks"] > 1]
    return {
        ranks: [*map(_int_or_none, several.loc[several["ranks"] == ranks, "nodes"].unique())]
        for ranks in several["ranks"].unique().tolist()
    }


def choices(rows: pd.DataFrame, compared: pd.DataFrame) -> pd.DataFrame:
    """Return the choices of models: columns ranks, size_bytes, fastest, tied, chosen, time_s, chosen_s, regret.

    `compared` is from `held_against_models(rows)`. Only cells with two models or
    more; the choice is among what was measured there. `fastest` and its `time_s` are the lowest of all that can be
    ranked there, with a model or without; `tied`: not shown to be the fastest. Regret is the time of the choice over
    the lowest.
    """
    ranked = rows[rows["standing"].notna()]
    best = ranked.loc[ranked.groupby(AT)["time_s"].idxmin()]
    best = best.assign(fastest=best["competitor"], tied=best["standing"] != FASTEST)
    compared = compared.rename(columns={"time_s": "chosen_s"})
    compared = compared.assign(chosen=compared["competitor"])
    compared = compared[compared.groupby(AT)["model_s"].transform("size") > 1]
    choice = compared.loc[compared.groupby(AT)["model_s"].idxmin(), [*AT, "chosen", "chosen_s"]]
    chosen = best[[*AT, "fastest", "tied", "time_s"]].merge(choice, on=AT)
    chosen = chosen.assign(regret=chosen["chosen_s"] / chosen["time_s"])
    return chosen[[*AT, "fastest", "tied", "chosen", "time_s", "chosen_s", "regret"]].sort_values(AT, ignore_index=True)


def _int_or_none(value) -> int | None:
    return None if value is None or pd.isna(value) else int(np.int64(value))
