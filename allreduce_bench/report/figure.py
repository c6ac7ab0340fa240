"""Figures of the report: how one is declared, its data and lower bounds, and the looks that all share.

The bound is estimated from fitted parameters, so a measured time may be a little below it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, log2
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from ..evaluation.limits import NETWORK_BOUND
from ..models.bounds import Bounds
from ..models.curves import BEATEN, held_against_models, layouts, lower_bounds
from ..models.model import Model
from ..runs.competitor import NATIVE as NATIVE_NAME
from ..runs.competitor import Competitor
from ..schedule.price import bound_path
from ..units import format_size, in_ranks
from .live_chart import NO_SWITCHES, LiveChart, Switches

# figures
TIMES, MODELS, RUNS = "times", "models", "runs"  # measurements, models, several runs overlaid
CELL = ["ranks", "competitor", "size_bytes"]  # columns that name a cell


# bounds
CURVE_POINTS = 24  # of a bound, joined by straight lines
NO_BOUND = " No bound is drawn: no model of this run gives the cost of a message or a byte."
ESTIMATED = f" Dashed line: bound ({NETWORK_BOUND}), estimated from the smallest fitted α and β of this run."
BEATEN_IN_WORDS = f"the models do not hold there, times are more than {100 * (1 - BEATEN):.0f} % below their bound"


@dataclass(frozen=True)
class FigureData:
    """One run: its competing rows, its models, and its crossovers."""

    frame: pd.DataFrame
    models: Sequence[Model]
    switches: Switches = field(default_factory=lambda: NO_SWITCHES)  # ranks -> crossovers

    @cached_property
    def least(self) -> dict[int, Bounds]:
        """Lower bounds for each number of ranks at which the models hold."""
        return lower_bounds(self.models, self.frame)

    @cached_property
    def limits(self) -> pd.DataFrame:
        """`bound_curves` over the measured sizes; there is at least one size."""
        sizes = self.frame.loc[self.frame["time_s"].notna() & (self.frame["size_bytes"] > 0), "size_bytes"]
        return bound_curves(self.least, sizes.min(), sizes.max())

    @cached_property
    def bounded(self) -> pd.DataFrame:
        """Rows with their bounds."""
        return add_bounds(self.frame, self.least)

    @cached_property
    def compared(self) -> pd.DataFrame:
        """Measured cells with the times of their models: see `models.curves.held_against_models`."""
        return held_against_models(self.frame, self.models)

    @property
    def bound_sentence(self) -> str:
        """Sentence on the models that give the bound; starts with a blank."""
        return bound_sentence(self.frame, self.models, self.least)


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


def bound_curves(least: Mapping[int, Bounds], smallest: float, largest: float) -> pd.DataFrame:
    """Return the bounds of `curves.lower_bounds` from `smallest` to `largest` bytes, both above 0.

    Columns: ranks, size_bytes, time_s, busbw_bytes_per_s, NaN without a bound.
    """
    size_bytes = np.geomspace(smallest, largest, CURVE_POINTS)
    curves = [pd.DataFrame({"ranks": ranks, "size_bytes": size_bytes}) for ranks in least]
    empty = pd.DataFrame(columns=["ranks", "size_bytes"])
    rows = add_bounds(pd.concat(curves, ignore_index=True) if curves else empty, least)
    return rows.rename(columns={"bound_s": "time_s", "busbw_bound_bytes_per_s": "busbw_bytes_per_s"})


def add_bounds(frame: pd.DataFrame, least: Mapping[int, Bounds]) -> pd.DataFrame:
    """Return `frame` with the lower bound of its times and the upper bound of its bus bandwidths, NaN without one."""
    none = Bounds(0.0, 0.0)
    bound_s = [
        max(least.get(ranks, none).latency_s, least.get(ranks, none).bandwidth_s * size_bytes) if size_bytes else 0.0
        for ranks, size_bytes in zip(frame["ranks"], frame["size_bytes"])
    ]
    moved = [bound_path(size_bytes, ranks)[1] for ranks, size_bytes in zip(frame["ranks"], frame["size_bytes"])]
    rows = frame.assign(bound_s=pd.Series(bound_s, index=frame.index, dtype=float).replace(0.0, np.nan))
    return rows.assign(busbw_bound_bytes_per_s=pd.Series(moved, index=frame.index, dtype=float) / rows["bound_s"])


def bound_sentence(frame: pd.DataFrame, models: Sequence[Model], least: Mapping[int, Bounds]) -> str:
    """Say what gives the bound, and where nothing is drawn."""
    if not models:
        return NO_BOUND
    lacking = [ranks for ranks in layouts(frame) if ranks not in least]
    return (ESTIMATED if least else "") + (
        f" No bound is drawn at {in_ranks(lacking)}: {BEATEN_IN_WORDS}." if lacking else ""
    )


# Shared by all figures: colours, markers, axes, legends


Style = dict[str, Any]  # keywords of matplotlib

# Okabe and Ito's colours, which stay apart for colour-blind readers; Tol's wine for the yellow that is lost on white
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#882255")
MARKERS = "osD^vPX<>ph*"
LINES = ("-", "-.", ":")
DASHES = {  # way -> line
    "pipelined": (0, (5, 1.5)),
    "compiled": (0, (1, 1)),
    "compiled-pipelined": (0, (5, 1.5, 1, 1.5)),
}
HATCHES = {"pipelined": "//", "compiled": "..", "compiled-pipelined": "xx"}  # way -> of a field of a map
NATIVE: Style = {
    "color": "black",
    "marker": "o",
    "linestyle": "-",
    "markerfacecolor": "white",
    "linewidth": 2.0,
    "zorder": 3,
}
NOTE: Style = {"fontsize": 8.5, "color": "#555555"}
GRID: Style = {"color": "#e4e4e4", "linewidth": 0.7}
COLUMNS = 3  # panels a row
PANELS_WIDTH, PANEL_HEIGHT, LEGEND_WIDTH = 11.1, 3.3, 2.0  # inches
PALE = 0.35  # opacity of lines whose times are not reliable
UNITS = {  # unit of an axis -> units of its ticks, the largest first
    "us": {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3},
    "J": {"kJ": 1e3, "J": 1.0, "mJ": 1e-3, "uJ": 1e-6, "nJ": 1e-9},
    "GB/s": {"TB/s": 1e3, "GB/s": 1.0, "MB/s": 1e-3, "kB/s": 1e-6, "B/s": 1e-9},
}
TICKS = 6  # spaces between sizes named on an axis, at most


def styles(competitors: Iterable[str]) -> dict[str, Style]:
    """Return colour, marker and line of each competitor; markers are unique for up to twelve algorithms beside native.

    An algorithm has one colour and marker, and another line for every way; where names differ in segments, these have
    colours of their own.
    """
    drawn: dict[str, Style] = {}
    numbers: dict[tuple[str, int | None], int] = {}  # of the algorithms beside native, and of named segments
    for competitor in dict.fromkeys(competitors):
        one = Competitor(competitor)
        name, way = one.algorithm, one.way
        number = numbers.setdefault((name, one.segment_nbytes), len(numbers)) if name != NATIVE_NAME else 0
        turn = number // len(COLOURS)
        colour, marker = _shade(COLOURS[number % len(COLOURS)], turn), MARKERS[number % len(MARKERS)]
        line = LINES[turn % len(LINES)]
        style = NATIVE if name == NATIVE_NAME else {"color": colour, "marker": marker, "linestyle": line}
        drawn[competitor] = {**style, "linestyle": DASHES[way]} if way in DASHES else style
    return drawn


def _shade(colour: str, turn: int) -> str:
    """Return `colour`, darker at its second use, lighter at the third: in a map nothing else differs."""
    other, share = {0: (0.0, 0.0), 1: (0.0, 0.45), 2: (1.0, 0.55)}[turn % 3]
    red, green, blue = (channel + (other - channel) * share for channel in to_rgb(colour))
    return to_hex((red, green, blue)) if share else colour


def grid(
    panels: int, label: str, logarithmic: bool, shared: bool | None = None, unit: str = "us"
) -> tuple[Figure, list[Axes]]:
    """Return an empty figure with `panels` axes in rows of equal length if possible, at most COLUMNS a row.

    `shared`: their y axis; None: if it is logarithmic. `unit`: of the values on it, a key of UNITS, or empty.
    """
    panel_rows = ceil(panels / COLUMNS)
    columns = ceil(panels / panel_rows)
    width = PANELS_WIDTH * (0.6 if columns == 1 else 1) + LEGEND_WIDTH
    figure = Figure(figsize=(width, panel_rows * PANEL_HEIGHT), layout="constrained")
    axes = (
        figure.subplots(panel_rows, columns, squeeze=False, sharey=logarithmic if shared is None else shared)
        .ravel()
        .tolist()
    )
    for number, panel in enumerate(axes):
        panel.set_visible(number < panels)
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_axisbelow(True)
        if logarithmic:
            panel.set_yscale("log")
            panel.yaxis.set_minor_locator(few_minor_ticks())
            panel.yaxis.set_minor_formatter(NullFormatter())
        panel.yaxis.set_major_formatter(tick_formatter(unit))
        if number + columns >= panels:
            panel.set_xlabel("size of the vector")
        if number % columns == 0:
            panel.set_ylabel(label)
    return figure, axes[:panels]


def few_minor_ticks() -> LogLocator:
    """Return the minor ticks of a logarithmic axis at 2 and 5: all eight of a decade take a third of the drawing."""
    return LogLocator(subs=(2, 5))


def tick_formatter(unit: str) -> FuncFormatter:
    """Return what names the ticks of an axis in a unit that leaves no long rows of zeros: `10 ms` for 10,000 us."""
    return FuncFormatter(lambda value, _: tick_words(value, unit))


def tick_words(value: float, unit: str) -> str:
    """Return `10 ms` for 10,000 of `us`; without a unit the number alone."""
    if not value:
        return "0"
    scales = UNITS.get(unit, {"": 1.0})
    name = next((name for name, size in scales.items() if abs(value) >= size * 0.9995), [*scales][-1])
    return f"{value / scales[name]:,.4g} {name}".strip()


def draw_line(axes: Axes, x, y, low, high, style: Style) -> None:
    """Draw markers and line, broken where a size is missing, and the intervals from `low` to `high` if given."""
    axes.plot(x, y, **{"linewidth": 1.4, "markersize": 4.5, **style})
    if low is not None:
        # centred on the interval, which need not contain the median
        middle, reach = (low + high) / 2, (high - low) / 2
        axes.errorbar(x, middle, yerr=reach, fmt="none", ecolor=style["color"], elinewidth=0.8, alpha=0.6)


def size_axis(axes: Axes, sizes: list[int]) -> None:
    """Make the axis logarithmic, with as many measured sizes in KiB and MiB as fit."""
    named = sizes[:1]
    for size in sizes[1:]:
        if log2(size / named[-1]) >= log2(sizes[-1] / sizes[0]) / TICKS:
            named.append(size)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(named))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: format_size(size)))
    axes.tick_params(labelsize=8.5)


def panel_title(rows: pd.DataFrame) -> str:
    """Return `4 ranks`, with warnings that readers need first."""
    ranks, declared = rows["ranks"].iloc[0], rows["nodes_declared"].dropna()
    parts = [f"{ranks} ranks" if ranks > 1 else "1 rank"]
    if rows["oversubscribed"].fillna(False).any():
        parts.append("(oversubscribed)")
    if len(declared):
        parts.append(f"(PRETENDED nodes: {declared.iloc[0]})")
    return " ".join(parts)


def legend(figure: Figure, styled: dict[str, Style]) -> None:
    """Draw one legend to the right of all panels."""
    handles = [Line2D([], [], **{"markersize": 5, **style}) for style in styled.values()]
    labels = [name.replace("$", r"\$") for name in styled]  # a name is no formula
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8.5)
