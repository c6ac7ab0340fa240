"""The lower bound of the times as figures draw it, and in words from which models it comes."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ..models.bounds import Bounds, sources
from ..models.curves import BEATEN, layouts
from ..models.description import series_label
from ..models.model import Model
from ..schedule.price import bound_path
from ..units import in_ranks

CURVE_POINTS = 200
NO_BOUND = " No bound is drawn: this run has no model that says what a message or a byte costs."
BEATEN_IN_WORDS = f"times lie more than {100 * (1 - BEATEN):.0f} % below that of the models, which do not hold there"
PRICES = (("alpha_s", "α"), ("beta_s_per_byte", "β"))


def bound_curves(least: Mapping[int, Bounds], smallest: float, largest: float) -> pd.DataFrame:
    """The bounds of `curves.lower_bounds` from `smallest` to `largest` bytes, both above 0.

    Columns: ranks, nbytes, time_s, busbw_bytes_per_s; NaN where there is no bound.
    """
    nbytes = np.geomspace(smallest, largest, CURVE_POINTS)
    curves = [pd.DataFrame({"ranks": ranks, "nbytes": nbytes}) for ranks in least]
    empty = pd.DataFrame(columns=["ranks", "nbytes"])
    rows = with_bounds(pd.concat(curves, ignore_index=True) if curves else empty, least)
    return rows.rename(columns={"bound_s": "time_s", "busbw_bound_bytes_per_s": "busbw_bytes_per_s"})


def with_bounds(frame: pd.DataFrame, least: Mapping[int, Bounds]) -> pd.DataFrame:
    """`frame` with the lower bound of its times and the upper bound of its bus bandwidths, as the figures draw them."""
    none = Bounds(0.0, 0.0)
    bound_s = [
        max(least.get(ranks, none).latency_s, least.get(ranks, none).bandwidth_s * nbytes) if nbytes else 0.0
        for ranks, nbytes in zip(frame["ranks"], frame["nbytes"])
    ]
    moved = [bound_path(nbytes, ranks)[1] for ranks, nbytes in zip(frame["ranks"], frame["nbytes"])]
    rows = frame.assign(bound_s=pd.Series(bound_s, index=frame.index, dtype=float).replace(0.0, np.nan))
    return rows.assign(busbw_bound_bytes_per_s=pd.Series(moved, index=frame.index, dtype=float) / rows["bound_s"])


def bound_sentence(frame: pd.DataFrame, models: Sequence[Model], least: Mapping[int, Bounds]) -> str:
    """From which models the bound comes, and where there is none."""
    if not models:
        return NO_BOUND
    nodes_of = layouts(frame)
    series_of: dict[str, set[str]] = {name: set() for name, _ in PRICES}
    for ranks in least:
        for nodes in nodes_of[ranks]:
            for name, priced in sources(models, ranks, nodes).items():
                series_of[name] |= {series_label(model) for model in priced}
    prices = [
        f"{symbol} of the model of {', '.join(sorted(series_of[name]))}" for name, symbol in PRICES if series_of[name]
    ]
    drawn = f" The dashed bound: at the smallest fitted {' and '.join(prices)}." if prices else ""
    lacking = [ranks for ranks in nodes_of if ranks not in least]
    return drawn + (f" No bound is drawn at {in_ranks(lacking)}: {BEATEN_IN_WORDS}." if lacking else "")
