"""The declaration of a figure of the report, its data, and the lower bound of times that figures draw.

The bound comes from fitted parameters: if a measured time is below it, it is no bound and is called a fit.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ..evaluation.limits import NETWORK_BOUND
from ..message import say
from ..models.curves import BEATEN, held_against_models, layouts, lower_bounds, passed_bounds
from ..models.listing import series_label
from ..models.model import Bounds, Model, sources
from ..schedule.algorithm import Algorithm
from ..schedule.price import bound_path
from ..units import in_ranks
from .live_chart import NO_SWITCHES, LiveChart, Switch

# figures
TIMES, MODELS, RUNS = "times", "models", "runs"  # measurements, models, several runs overlaid
CELL = ["ranks", "algorithm", "executor", "cache", "nbytes"]  # columns that name a cell


# bounds
CURVE_POINTS = 200  # of a bound
NO_BOUND = " No bound is drawn: no model of this run gives the cost of a message or a byte."
BEATEN_IN_WORDS = f"the models do not hold there, times are more than {100 * (1 - BEATEN):.0f} % below their bound"
FIT_OF_BOUND = {"bound_s": "fit_s", "busbw_bound_bytes_per_s": "busbw_fit_bytes_per_s"}  # columns of `with_bounds`
PRICES = (  # parameter, symbol
    ("alpha_s", "α"),
    ("beta_s_per_byte", "β"),
)


@dataclass(frozen=True)
class FigureData:
    """One run: its competing rows, its models, a user's own algorithms, and its switch points."""

    frame: pd.DataFrame
    models: Sequence[Model]
    own: Mapping[str, Algorithm]
    switches: Mapping[int, Sequence[Switch]] = field(default_factory=lambda: NO_SWITCHES)  # ranks -> switch points

    @cached_property
    def least(self) -> dict[int, Bounds]:
        """Lower bounds for each number of ranks at which the models hold."""
        return lower_bounds(self.models, self.frame)

    @cached_property
    def passed(self) -> frozenset[int]:
        """Numbers of ranks at which measured times are below their supposed lower bound."""
        return passed_bounds(self.least, self.frame)

    @cached_property
    def limits(self) -> pd.DataFrame:
        """`bound_curves` over the measured sizes; there is at least one size."""
        sizes = self.frame.loc[self.frame["time_s"].notna() & (self.frame["nbytes"] > 0), "nbytes"]
        return bound_curves(self.least, sizes.min(), sizes.max(), self.passed)

    @cached_property
    def bounded(self) -> pd.DataFrame:
        """Rows with their bounds."""
        return with_bounds(self.frame, self.least, self.passed)

    @cached_property
    def compared(self) -> pd.DataFrame:
        """Measured cells with the times of their models: see `models.curves.held_against_models`."""
        return held_against_models(self.frame, self.models, self.own)

    @property
    def bound_sentence(self) -> str:
        """Sentence on the models that give the bound; starts with a blank."""
        return bound_sentence(self.frame, self.models, self.least, self.passed)

    @property
    def has_both_caches(self) -> bool:
        """Whether cells were measured with a warm and with a cold cache."""
        return self.frame["cache"].nunique() > 1

    @property
    def warm_sentence(self) -> str:
        """Sentence in the caption of a figure that shows warm cells only; starts with a blank."""
        return " Warm cache." if self.has_both_caches else ""


class Drawing(NamedTuple):
    """A figure, its caption and its numbers."""

    figure: Figure
    caption: str
    numbers: pd.DataFrame  # what is drawn, in SI units
    live: LiveChart | None = None  # interactive version; None: only the picture


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportFigure:
    """One figure of the page."""

    stem: str  # of its files
    section: str  # TIMES, drawn if a non-empty vector has a time, MODELS, or RUNS
    turn: int  # its position in the section, ascending
    draw: Callable[[FigureData], Drawing | None]  # None: there is nothing to draw
    why_not: Callable[[FigureData], str] | None = None  # the page's text if it is not drawn


def bound_curves(
    least: Mapping[int, Bounds], smallest: float, largest: float, passed: Collection[int] = ()
) -> pd.DataFrame:
    """Return the bounds of `curves.lower_bounds` from `smallest` to `largest` bytes, both above 0.

    Columns: ranks, nbytes, time_s, busbw_bytes_per_s, NaN without a bound; passed: whether measured times are below it
    at these ranks, which are `passed` as `curves.passed_bounds` returns them.
    """
    nbytes = np.geomspace(smallest, largest, CURVE_POINTS)
    curves = [pd.DataFrame({"ranks": ranks, "nbytes": nbytes}) for ranks in least]
    empty = pd.DataFrame(columns=["ranks", "nbytes"])
    rows = with_bounds(pd.concat(curves, ignore_index=True) if curves else empty, least)
    rows = rows.rename(columns={"bound_s": "time_s", "busbw_bound_bytes_per_s": "busbw_bytes_per_s"})
    return rows.assign(passed=rows["ranks"].isin(passed))


def with_bounds(frame: pd.DataFrame, least: Mapping[int, Bounds], passed: Collection[int] = ()) -> pd.DataFrame:
    """Return `frame` with the lower bound of its times and the upper bound of its bus bandwidths.

    At the `passed` numbers of ranks both are in the columns of the fit instead, which are NaN elsewhere.
    """
    none = Bounds(0.0, 0.0)
    bound_s = [
        max(least.get(ranks, none).latency_s, least.get(ranks, none).bandwidth_s * nbytes) if nbytes else 0.0
        for ranks, nbytes in zip(frame["ranks"], frame["nbytes"])
    ]
    moved = [bound_path(nbytes, ranks)[1] for ranks, nbytes in zip(frame["ranks"], frame["nbytes"])]
    rows = frame.assign(bound_s=pd.Series(bound_s, index=frame.index, dtype=float).replace(0.0, np.nan))
    rows = rows.assign(busbw_bound_bytes_per_s=pd.Series(moved, index=frame.index, dtype=float) / rows["bound_s"])
    is_fit = frame["ranks"].isin(passed)
    fits = {fit: rows[bound].where(is_fit) for bound, fit in FIT_OF_BOUND.items()}
    return rows.assign(**{bound: rows[bound].mask(is_fit) for bound in FIT_OF_BOUND}, **fits)


def bound_sentence(
    frame: pd.DataFrame, models: Sequence[Model], least: Mapping[int, Bounds], passed: Collection[int] = ()
) -> str:
    """Name the models that give the bound, where times undercut it, and where nothing is drawn."""
    if not models:
        return NO_BOUND
    nodes_of = layouts(frame)
    series_of: dict[str, set[str]] = {name: set() for name, _ in PRICES}
    for ranks in least:
        for nodes in nodes_of[ranks]:
            for name, priced in sources(models, ranks, nodes).items():
                series_of[name] |= {series_label(model) for model in priced}
    prices = [
        say("report.model", symbol=symbol, series_of=", ".join(sorted(series_of[name])))
        for name, symbol in PRICES
        if series_of[name]
    ]
    drawn = (
        say("report.dashed_line_smallest_fitted", least=_kinds(least, passed), prices=" and ".join(prices))
        if prices
        else ""
    )
    if passed:
        drawn += say("report.not_bound_some_measured", in_ranks=in_ranks(sorted(passed)))
    lacking = [ranks for ranks in nodes_of if ranks not in least]
    return drawn + (
        say("report.no_bound_drawn", in_ranks=in_ranks(lacking), beaten_in_words=BEATEN_IN_WORDS) if lacking else ""
    )


def _kinds(least: Mapping[int, Bounds], passed: Collection[int]) -> str:
    bound = f"bound ({NETWORK_BOUND})"
    bounds = len(least) > len(passed)
    return f"{bound} or fit" if passed and bounds else bound if bounds else "fit"
