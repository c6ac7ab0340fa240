"""Models as tables to draw: beside measured times, over ranks, and the lower bounds that they give."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from .bounds import Bounds, bounds
from .intervals import distance, factors
from .model import Model
from .prediction import unmet

BEATEN = 0.9  # of a bound: shorter times are no noise
REACH = 4  # curves extend to this multiple of the largest measured number of ranks
HELD = ["competitor", "ranks", "size_bytes", "time_s", "spread_low_s", "spread_high_s", "model_s", "ratio"]
CURVE = ["competitor", "size_bytes", "ranks", "model_s", "low_s", "high_s", "measured"]


def held_against_models(rows: pd.DataFrame, models: Sequence[Model]) -> pd.DataFrame:
    """Compare measured times with the prices of their schedules: rows of `summary.summary`, with columns HELD.

    `rows` are of one run, `models` its models. `model_s` is alpha messages + beta bytes, `ratio` is model_s over
    time_s. Cells whose launches are in two states are left out.
    """
    rows = rows[rows["states"].isna()]
    model_of = {model.competitor: model for model in models}
    records = []
    for row in rows[rows["time_s"].notna() & (rows["size_bytes"] > 0) & (rows["ranks"] > 1)].to_dict("records"):
        model = model_of.get(row["competitor"])
        if model is not None:
            where = row["ranks"], _int_or_none(row["nodes"]), row["size_bytes"]
            model_s = model.price_s(*where, _int_or_none(row["segment"]) or model.segment)
            records.append({**row, "model_s": model_s, "ratio": model_s / row["time_s"]})
    return pd.DataFrame(records, columns=HELD)


def over_ranks(models: Iterable[Model], sizes: Sequence[int]) -> pd.DataFrame:
    """Return the predictions of `models` at `sizes` over ranks, from the smallest measured to REACH times the largest.

    Columns: CURVE. At the measured numbers of ranks and at powers of two. `low_s` and `high_s` are the ends of the 90 %
    interval.
    """
    points = []
    for model in models:
        least, most = model.ranks[0], model.ranks[-1]
        doubled = {most * 2, most * REACH, *(1 << n for n in range(1, 60) if least <= 1 << n <= most * REACH)}
        for size_bytes in sizes:
            for ranks in sorted({*model.ranks, *doubled}):
                nodes = model.nodes_at(ranks)
                if unmet(model.schedule, ranks, nodes):
                    continue
                timed = model.anchored.predict(ranks, nodes or 0, size_bytes)
                times = distance(ranks, model.ranks), distance(size_bytes, model.sizes)
                ends = None if timed.is_measured else factors(model.range_by_times, *times, ranks in model.ranks)
                low_s, high_s = (timed.time_s * end for end in ends) if ends else (np.nan, np.nan)
                points.append((model.competitor, size_bytes, ranks, timed.time_s, low_s, high_s, ranks in model.ranks))
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


def layouts(rows: pd.DataFrame) -> dict[int, list[int | None]]:
    """Return the numbers of ranks above 1 in `rows`, and the numbers of nodes of each; None: unknown."""
    several = rows[rows["ranks"] > 1]
    return {
        ranks: [*map(_int_or_none, several.loc[several["ranks"] == ranks, "nodes"].unique())]
        for ranks in several["ranks"].unique().tolist()
    }


def _int_or_none(value) -> int | None:
    return None if value is None or pd.isna(value) else int(np.int64(value))
