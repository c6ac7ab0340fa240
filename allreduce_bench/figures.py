"""Pictures of a run: time, bus bandwidth and speed-up over size, a panel for each rank count.

Every function takes rows of one run as `store.summary` gives them and returns a Figure that belongs to no window, or
None where there is nothing to draw. Sizes of 0 bytes have no place on a logarithmic axis and are left out.
"""

from collections.abc import Callable, Iterable
from math import ceil, log2
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from .units import format_size

Style = dict[str, Any]  # keywords of matplotlib

# Okabe and Ito's colours, which stay apart for colour-blind readers; Tol's wine for the yellow that is lost on white
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#882255")
MARKERS = "osD^vPX<>ph*"
LINES = ("-", "-.", ":")
NATIVE: Style = {
    "color": "black",
    "marker": "o",
    "linestyle": "-",
    "markerfacecolor": "white",
    "linewidth": 2.0,
    "zorder": 3,
}
BOUND: Style = {"color": "#555555", "linestyle": (0, (5, 2)), "linewidth": 1.2}
LINK: Style = {"color": "#555555", "linestyle": (0, (1, 2)), "linewidth": 1.4}
COLD: Style = {"linestyle": (0, (3, 1.5)), "markerfacecolor": "white", "linewidth": 1.0}  # beside warm ones
FLOORS: dict[str, Style] = {  # column -> how it is drawn
    "call_floor_s": {"linestyle": ":"},
    "copy_floor_s": {"linestyle": "-"},
    "reduce_floor_s": {"linestyle": "-."},
}
FLOOR: Style = {"color": "#9a9a9a", "linewidth": 0.8, "zorder": 1}
NOTE: Style = {"fontsize": 8, "color": "#555555"}
GRID: Style = {"color": "#e4e4e4", "linewidth": 0.7}
COLUMNS = 3  # panels a row
PANELS_WIDTH, PANEL_HEIGHT, LEGEND_WIDTH = 11.1, 3.3, 2.0  # inches
TICKS = 6  # spaces between sizes named on an axis, at most
HEADROOM = 1.5  # how far above the measured bandwidths a bound may stretch the axis before it is named instead


def latency(rows: pd.DataFrame, bounds: pd.DataFrame) -> Figure | None:
    """Time over size, both logarithmic, with the spread of launches, floors, and the lower bound of `fit.bounds`."""

    def draw(axes: Axes, rows: pd.DataFrame, style: Style) -> None:
        low, high = rows["spread_low_s"] * 1e6, rows["spread_high_s"] * 1e6
        _line(axes, rows["nbytes"], rows["time_s"] * 1e6, low, high, style)

    def limit(axes: Axes, rows: pd.DataFrame, curve: pd.DataFrame) -> None:
        cache = "warm" if "warm" in set(rows["cache"]) else "cold"
        floors = rows[rows["cache"] == cache].drop_duplicates("nbytes").sort_values("nbytes")
        for name, style in FLOORS.items():
            marker = "." if len(floors) == 1 else ""  # a line of one point is none
            axes.plot(floors["nbytes"], floors[name] * 1e6, marker=marker, **FLOOR, **style)
        axes.plot(curve["nbytes"], curve["time_s"] * 1e6, **BOUND)

    note = "lower bound with the\nsmallest fitted α and β"
    words = ("floor: no call", "floor: local copy", "floor: local reduction")
    measured = [rows[name].notna().any() for name in FLOORS]
    floors = {word: {**FLOOR, **style} for word, style, known in zip(words, FLOORS.values(), measured) if known}
    return _panels(rows, bounds, draw, limit, "time (us)", note, more=floors)


def bandwidth(rows: pd.DataFrame, bounds: pd.DataFrame) -> Figure | None:
    """Bus bandwidth over size, n/t * 2(p-1)/p, with what the lower bound of `fit.bounds` allows; at most 1/beta."""

    def draw(axes: Axes, rows: pd.DataFrame, style: Style) -> None:
        rate = rows["busbw_bytes_per_s"] / 1e9
        low, high = rate * rows["time_s"] / rows["spread_high_s"], rate * rows["time_s"] / rows["spread_low_s"]
        _line(axes, rows["nbytes"], rate, low, high, style)

    def limit(axes: Axes, rows: pd.DataFrame, curve: pd.DataFrame) -> None:
        bound, measured = curve["busbw_bytes_per_s"] / 1e9, rows["busbw_bytes_per_s"].max() / 1e9
        axes.plot(curve["nbytes"], bound, scaley=False, **BOUND)
        axes.set_ylim(0, 1.1 * max(measured, bound.clip(upper=HEADROOM * measured).max()))
        if bound.max() > HEADROOM * measured:
            axes.text(0.02, 0.98, f"bound rises to {bound.max():.3g} GB/s", transform=axes.transAxes, va="top", **NOTE)
        _link(axes, rows)

    note = "upper bound with the\nsmallest fitted α and β\n(flat part: 1/β)"
    rows = rows[rows["ranks"] > 1]  # one rank sends nothing over any bus
    return _panels(rows, bounds, draw, limit, "bus bandwidth (GB/s)", note, logarithmic=False)


def _link(axes: Axes, rows: pd.DataFrame) -> None:
    """The bus bandwidth at which the links between the nodes are full, where their rate is known."""
    limited = rows[rows["of_limit"].notna()]
    if limited.empty:
        return
    full = (limited["busbw_bytes_per_s"] / limited["of_limit"]).iloc[0] / 1e9
    axes.axhline(full, **LINK)
    axes.set_ylim(0, max(axes.get_ylim()[1], 1.1 * full))
    axes.text(0.98, full, "links full", transform=axes.get_yaxis_transform(), ha="right", va="bottom", **NOTE)


def speedup(rows: pd.DataFrame) -> Figure | None:
    """Time of native over time of each algorithm; logarithmic, so that twice and half lie equally far from 1."""

    def draw(axes: Axes, rows: pd.DataFrame, style: Style) -> None:
        if rows["algorithm"].iloc[0] != "native":
            _line(axes, rows["nbytes"], rows["speedup"], None, None, style)

    def limit(axes: Axes, *_: pd.DataFrame) -> None:
        axes.axhline(1, color="black", linewidth=2)

    compared = rows.groupby("ranks").filter(lambda group: group["speedup"].notna().any())
    if (compared["algorithm"] == "native").all():
        return None
    figure = _panels(compared, None, draw, limit, "speed-up over native", None)
    for axes in figure.axes if figure else []:
        axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 1.5, 2, 3, 5, 7)))
        axes.yaxis.set_minor_locator(NullLocator())
    return figure


def styles(algorithms: Iterable[str]) -> dict[str, Style]:
    """Colour, marker and line of each algorithm; no two share their marker, up to twelve beside native."""
    drawn: dict[str, Style] = {}
    for name in dict.fromkeys(algorithms):
        number = len(drawn) - ("native" in drawn)
        turn = number // len(COLOURS)
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        line = LINES[turn % len(LINES)]
        drawn[name] = NATIVE if name == "native" else {"color": colour, "marker": marker, "linestyle": line}
    return drawn


def _panels(
    rows: pd.DataFrame,
    bounds: pd.DataFrame | None,
    draw: Callable[[Axes, pd.DataFrame, Style], None],
    limit: Callable[[Axes, pd.DataFrame, pd.DataFrame], None],
    label: str,
    note: str | None,
    logarithmic: bool = True,
    more: dict[str, Style] | None = None,
) -> Figure | None:
    """A panel for each rank count of `rows`: its algorithms, then its limit; and one legend for all, with `more`.

    Logarithmic panels share their y axis; linear ones have their own, or large rank counts would lie flat on 0.
    """
    styled = styles(rows["algorithm"])
    rows = rows[rows["nbytes"] > 0].groupby("ranks").filter(lambda group: group["time_s"].notna().any())
    if rows.empty:
        return None
    both = rows["cache"].nunique() > 1
    figure, panels = _grid(rows["ranks"].nunique(), label, logarithmic)
    for axes, (ranks, group) in zip(panels, rows.groupby("ranks")):
        for (name, cache), line in group.groupby(["algorithm", "cache"], sort=False):
            beside = COLD if both and cache == "cold" else {}
            draw(axes, line.sort_values("nbytes"), {**styled[str(name)], **beside})
        limit(axes, group, group if bounds is None else bounds[bounds["ranks"] == ranks])
        axes.set_title(_title(group), fontsize=10)
        _size_axis(axes, sorted(rows["nbytes"].unique()))
        axes.grid(True, **GRID)
    measured = set(rows.loc[rows["time_s"].notna(), "algorithm"])
    fitted = bounds is not None and bounds["time_s"].notna().any()
    shown = {name: styled[name] for name in styled if name in measured} | (more or {})
    if both:
        shown["cold cache"] = {"color": BOUND["color"], "marker": "o", **COLD}
    _legend(figure, shown, note if fitted else None)
    return figure


def _grid(panels: int, label: str, logarithmic: bool) -> tuple[Figure, list[Axes]]:
    """An empty figure with `panels` axes in rows of equal length where that is possible, at most COLUMNS a row."""
    lines = ceil(panels / COLUMNS)
    columns = ceil(panels / lines)
    width = PANELS_WIDTH * (0.6 if columns == 1 else 1) + LEGEND_WIDTH
    figure = Figure(figsize=(width, lines * PANEL_HEIGHT), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False, sharey=logarithmic).ravel().tolist()
    for number, one in enumerate(axes):
        one.set_visible(number < panels)
        one.spines[["top", "right"]].set_visible(False)
        one.set_axisbelow(True)
        if logarithmic:
            one.set_yscale("log")
            one.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
            one.yaxis.set_minor_formatter(NullFormatter())
        if number + columns >= panels:
            one.set_xlabel("size of the vector")
        if number % columns == 0:
            one.set_ylabel(label)
    return figure, axes[:panels]


def _line(axes: Axes, x, y, low, high, style: Style) -> None:
    """Markers and line, broken where a size is missing, and the intervals from `low` to `high` where they are given."""
    axes.plot(x, y, **{"linewidth": 1.4, "markersize": 4.5, **style})
    if low is not None:
        # around the middle of the interval: the median need not lie there, and may lie outside
        middle, reach = (low + high) / 2, (high - low) / 2
        axes.errorbar(x, middle, yerr=reach, fmt="none", ecolor=style["color"], elinewidth=0.8, capsize=2, alpha=0.6)


def _size_axis(axes: Axes, sizes: list[int]) -> None:
    """A logarithmic axis that names measured sizes in KiB and MiB, as many as have room."""
    named = sizes[:1]
    for size in sizes[1:]:
        if log2(size / named[-1]) >= log2(sizes[-1] / sizes[0]) / TICKS:
            named.append(size)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(named))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: format_size(size)))
    axes.tick_params(labelsize=8)


def _title(rows: pd.DataFrame) -> str:
    """`4 ranks`, and what a reader must know of them before looking at the lines."""
    ranks, declared = rows["ranks"].iloc[0], rows["nodes_declared"].dropna()
    words = [f"{ranks} ranks" if ranks > 1 else "1 rank"]
    groups = rows["group_ranks"].dropna()
    if len(groups):
        words.append(f"in groups of {groups.iloc[0].split()[0]}")
    if set(rows["cache"]) == {"cold"}:
        words.append("(cold cache)")
    if rows["oversubscribed"].fillna(False).any():
        words.append("(oversubscribed)")
    if len(declared):
        words.append(f"(PRETENDED nodes: {declared.iloc[0]})")
    return " ".join(words)


def _legend(figure: Figure, styled: dict[str, Style], note: str | None) -> None:
    """One legend to the right of all panels; `note` explains the dashed line."""
    handles = [Line2D([], [], **{"markersize": 5, **style}) for style in styled.values()]
    labels = [name.replace("$", r"\$") for name in styled]  # a name is no formula
    if note:
        handles, labels = [*handles, Line2D([], [], **BOUND)], [*labels, note]
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8.5)
