"""Shared by all figures: colours, markers, axes, legends."""

from collections.abc import Iterable
from math import ceil, log2
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from ...message import say
from ...runs.cell import NATIVE as NATIVE_NAME
from ...runs.cell import parts_of
from ...units import format_size

Style = dict[str, Any]  # keywords of matplotlib

# Okabe and Ito's colours, which stay apart for colour-blind readers; Tol's wine for the yellow that is lost on white
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#882255")
MARKERS = "osD^vPX<>ph*"
LINES = ("-", "-.", ":")
DASHES = {  # executor -> line
    "pipelined": (0, (5, 1.5)),
    "compiled": (0, (1, 1)),
    "compiled-pipelined": (0, (5, 1.5, 1, 1.5)),
}
HATCHES = {"pipelined": "//", "compiled": "..", "compiled-pipelined": "xx"}  # executor -> of a field of a map
NATIVE: Style = {
    "color": "black",
    "marker": "o",
    "linestyle": "-",
    "markerfacecolor": "white",
    "linewidth": 2.0,
    "zorder": 3,
}
BOUND: Style = {"color": "#555555", "linestyle": (0, (5, 2)), "linewidth": 1.2}
FIT: Style = {"color": "#555555", "linestyle": (0, (6, 2, 1, 2, 1, 2)), "linewidth": 1.2}  # a bound that times undercut
LINK: Style = {"color": "#555555", "linestyle": (0, (1, 2)), "linewidth": 1.4}
COLD: Style = {"linestyle": (0, (3, 1.5)), "markerfacecolor": "white", "linewidth": 1.0}  # beside warm ones
NOTE: Style = {"fontsize": 8.5, "color": "#555555"}
GRID: Style = {"color": "#e4e4e4", "linewidth": 0.7}
COLUMNS = 3  # panels a row
PANELS_WIDTH, PANEL_HEIGHT, LEGEND_WIDTH = 11.1, 3.3, 2.0  # inches
TICKS = 6  # spaces between sizes named on an axis, at most


def styles(competitors: Iterable[str]) -> dict[str, Style]:
    """Return colour, marker and line of each competitor; markers are unique for up to twelve algorithms beside native.

    An algorithm has one colour and marker, and another line for every executor.
    """
    drawn: dict[str, Style] = {}
    numbers: dict[str, int] = {}  # of the algorithms beside native
    for competitor in dict.fromkeys(competitors):
        name, executor = parts_of(competitor)
        number = numbers.setdefault(name, len(numbers)) if name != NATIVE_NAME else 0
        turn = number // len(COLOURS)
        colour, marker = _shade(COLOURS[number % len(COLOURS)], turn), MARKERS[number % len(MARKERS)]
        line = LINES[turn % len(LINES)]
        style = NATIVE if name == NATIVE_NAME else {"color": colour, "marker": marker, "linestyle": line}
        drawn[competitor] = {**style, "linestyle": DASHES[executor]} if executor else style
    return drawn


def _shade(colour: str, turn: int) -> str:
    """Return `colour`, darker at its second use, lighter at the third: in a map nothing else differs."""
    other, share = {0: (0.0, 0.0), 1: (0.0, 0.45), 2: (1.0, 0.55)}[turn % 3]
    red, green, blue = (channel + (other - channel) * share for channel in to_rgb(colour))
    return to_hex((red, green, blue)) if share else colour


def grid(panels: int, label: str, logarithmic: bool, shared: bool | None = None) -> tuple[Figure, list[Axes]]:
    """Return an empty figure with `panels` axes in rows of equal length if possible, at most COLUMNS a row.

    `shared`: their y axis; None: if it is logarithmic.
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
            panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
            panel.yaxis.set_minor_formatter(NullFormatter())
        if number + columns >= panels:
            panel.set_xlabel(say("report.size_vector"))
        if number % columns == 0:
            panel.set_ylabel(label)
    return figure, axes[:panels]


def draw_line(axes: Axes, x, y, low, high, style: Style) -> None:
    """Draw markers and line, broken where a size is missing, and the intervals from `low` to `high` if given."""
    axes.plot(x, y, **{"linewidth": 1.4, "markersize": 4.5, **style})
    if low is not None:
        # centred on the interval, which need not contain the median
        middle, reach = (low + high) / 2, (high - low) / 2
        axes.errorbar(x, middle, yerr=reach, fmt="none", ecolor=style["color"], elinewidth=0.8, capsize=2, alpha=0.6)


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


def of_one_cache(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the warm cache if measured, else all, which are of the cold one."""
    return rows[rows["cache"] == ("warm" if "warm" in set(rows["cache"]) else "cold")]


def panel_title(rows: pd.DataFrame) -> str:
    """Return `4 ranks`, with warnings that readers need first."""
    ranks, declared = rows["ranks"].iloc[0], rows["nodes_declared"].dropna()
    parts = [f"{ranks} ranks" if ranks > 1 else "1 rank"]
    groups = rows["group_ranks"].dropna()
    if len(groups):
        parts.append(f"in groups of {groups.iloc[0].split()[0]}")
    if set(rows["cache"]) == {"cold"}:
        parts.append("(cold cache)")
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
