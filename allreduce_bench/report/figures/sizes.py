"""Time, bus bandwidth and speed-up over size, a panel for each rank count.

Every function takes rows of one run of `summary.summary` and returns a Figure without a window, or None if there is
nothing to draw. Sizes of 0 bytes have no place on a logarithmic axis and are left out.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from ...evaluation.grade import NOT_RELIABLE
from ...evaluation.limits import LINKS
from ...runs.competitor import FORCED_DEFAULT, NATIVES, Competitor
from ..figure import (
    BOUND,
    CELL,
    FIT,
    GRID,
    LINK,
    NOTE,
    PALE,
    TIMES,
    Drawing,
    FigureData,
    ReportFigure,
    Style,
    draw_line,
    grid,
    legend,
    panel_title,
    size_axis,
    styles,
)
from ..live_chart import NO_SWITCHES, LiveChart, Switch
from ..unbroken import is_broken, split_at_breaks
from .live_sizes import REFERENCES, busbw_of_links, live_bandwidth, live_speedup, live_times

FLOORS: dict[str, Style] = {  # column -> how it is drawn
    "call_floor_s": {"linestyle": ":"},
    "copy_floor_s": {"linestyle": "-"},
    "reduce_floor_s": {"linestyle": "-."},
}
FLOOR: Style = {"color": "#9a9a9a", "linewidth": 0.8, "zorder": 1}
HEADROOM = 1.5  # how far above the measured bandwidths a bound may stretch the axis; else only named
BARS = "Bars: lowest to highest launch median (with one launch, the interval of its median)."
LIMIT_SENTENCE = " Dotted line: the lower bound by measured figures, see Lower bounds."
NO_PLACE = " 0 B has no place on a logarithmic axis; its times are in the tables."
FLOORS_SENTENCE = " Thin grey lines: reference times of an empty call, of a local copy and of a local reduction."
SWITCH_SENTENCE = " Vertical line: the size from which another algorithm is faster, with its range in grey."
LINKS_SENTENCE = " Dotted line: rate of the links. Short messages can pass it: a link lets some bytes through at once."
PASSING = " Points above `link rate` are faster than the links allow: a warning names likely causes."
INTERVAL = ("time_low_s", "time_high_s", "spread_low_s", "spread_high_s", "interval")  # columns


def draw_latency(data: FigureData) -> Drawing | None:
    """Draw time over size, with the reference times and bounds that exist."""
    floors = FLOORS_SENTENCE if data.frame[[*FLOORS]].notna().any(axis=None) else ""
    limit = LIMIT_SENTENCE if data.frame["limit_s"].notna().any() else ""
    empty = NO_PLACE if (data.frame["size_bytes"] == 0).any() else ""
    notes = _broken_sentence(data) + _default_sentence(data)
    caption = f"Time against vector size. {BARS}{empty}{data.bound_sentence}{limit}{floors}{notes}"
    columns = ["time_s", *INTERVAL, *FLOORS, "bound_s", "fit_s", "limit_s", "limit_by", "own_limit_s"]
    live = live_times(data.timed, data.limits, data.switches)
    return _drawing(data, latency(data.timed, data.limits), caption, columns, live)


def draw_bandwidth(data: FigureData) -> Drawing | None:
    """Draw bus bandwidth over size, with its bound."""
    links = LINKS_SENTENCE if (data.frame["limit_by"] == LINKS).fillna(False).any() else ""
    links += PASSING if _passed_links(data.frame).any() else ""
    what = "Bus bandwidth n/t · 2(p−1)/p against vector size."
    caption = f"{what} {BARS}{data.bound_sentence}{links}{_broken_sentence(data)}"
    caption += _default_sentence(data)
    columns = ["busbw_bytes_per_s", *("busbw_bound_bytes_per_s", "busbw_fit_bytes_per_s")]
    columns += ["limit_s", "of_limit", "time_s", *INTERVAL[2:4]]
    live = live_bandwidth(data.timed, data.limits)
    return _drawing(data, bandwidth(data.timed, data.limits), caption, columns, live)


def draw_speedup(data: FigureData) -> Drawing | None:
    """Draw speed-up over native, over size."""
    caption = "Speed-up: time of native / time of each algorithm; above 1 is faster than native."
    caption += SWITCH_SENTENCE if any(data.switches.values()) else ""
    caption += _beside_sentence(data)
    live = live_speedup(data.frame, data.switches)
    return _drawing(data, speedup(data.frame, data.switches), caption, ["speedup", "time_s"], live)


SPEEDUP = ReportFigure(stem="speedup", section=TIMES, turn=10, draw=draw_speedup)
LATENCY = ReportFigure(stem="latency", section=TIMES, turn=20, draw=draw_latency)
BANDWIDTH = ReportFigure(stem="bus_bandwidth", section=TIMES, turn=30, draw=draw_bandwidth)


def _beside_sentence(data: FigureData) -> str:
    if not any(Competitor(name).is_compiled for name in data.frame["competitor"].unique()):
        return ""
    return f" What is compiled is divided into {NATIVES[1]}, the others into {NATIVES[0]}."


def _broken_sentence(data: FigureData) -> str:
    return (
        " The line of native is broken between sizes at which it ran different algorithms."
        if is_broken(data.frame)
        else ""
    )


def _default_sentence(data: FigureData) -> str:
    return (
        ""
        if data.defaults is None
        else f" {FORCED_DEFAULT}: the library's own choice in the launches of forced algorithms, not ranked."
    )


def _drawing(
    data: FigureData, figure: Figure | None, caption: str, columns: list[str], live: LiveChart | None
) -> Drawing | None:
    """Return a figure with its caption and the named columns of its numbers."""
    return None if figure is None else Drawing(figure, caption, data.bounded[[*CELL, *columns]], live)


def latency(rows: pd.DataFrame, bounds: pd.DataFrame) -> Figure | None:
    """Draw time over size, both logarithmic, with the spread of launches, reference times, and `bound_curves`."""

    def draw(axes: Axes, rows: pd.DataFrame, style: Style) -> None:
        low, high = rows["spread_low_s"] * 1e6, rows["spread_high_s"] * 1e6
        draw_line(axes, rows["size_bytes"], rows["time_s"] * 1e6, low, high, style)

    def limit(axes: Axes, rows: pd.DataFrame, curve: pd.DataFrame) -> None:
        floors = rows.drop_duplicates("size_bytes").sort_values("size_bytes")
        for name, style in FLOORS.items():
            marker = "." if len(floors) == 1 else ""  # a single point has no line
            axes.plot(floors["size_bytes"], floors[name] * 1e6, marker=marker, **FLOOR, **style)
        least = rows.dropna(subset=["limit_s"]).drop_duplicates("size_bytes").sort_values("size_bytes")
        axes.plot(least["size_bytes"], least["limit_s"] * 1e6, **LINK)
        axes.plot(curve["size_bytes"], curve["time_s"] * 1e6, **(FIT if curve["passed"].any() else BOUND))

    note = "from the\nsmallest fitted α and β"
    floors = {REFERENCES[name]: {**FLOOR, **style} for name, style in FLOORS.items() if rows[name].notna().any()}
    limits = {"lower bound by\nmeasured figures": LINK} if rows["limit_s"].notna().any() else {}
    return size_panels(rows, bounds, draw, limit, "time", ("lower bound", note), more=limits | floors)


def bandwidth(rows: pd.DataFrame, bounds: pd.DataFrame) -> Figure | None:
    """Draw bus bandwidth over size, n/t * 2(p-1)/p, with the bounds of `bound_curves`; at most 1/beta."""

    def draw(axes: Axes, rows: pd.DataFrame, style: Style) -> None:
        rate = rows["busbw_bytes_per_s"] / 1e9
        low, high = rate * rows["time_s"] / rows["spread_high_s"], rate * rows["time_s"] / rows["spread_low_s"]
        draw_line(axes, rows["size_bytes"], rate, low, high, style)

    def limit(axes: Axes, rows: pd.DataFrame, curve: pd.DataFrame) -> None:
        bound, measured = curve["busbw_bytes_per_s"] / 1e9, rows["busbw_bytes_per_s"].max() / 1e9
        kind, look = ("fit", FIT) if curve["passed"].any() else ("bound", BOUND)
        axes.plot(curve["size_bytes"], bound, scaley=False, **look)
        upper_ends = rows["busbw_bytes_per_s"] / 1e9 * rows["time_s"] / rows["spread_low_s"]
        highest = np.nanmax([measured, *upper_ends])
        axes.set_ylim(0, 1.1 * max(highest, bound.clip(upper=HEADROOM * measured).max()))
        if bound.max() > HEADROOM * measured:
            axes.text(
                0.02,
                0.98,
                f"{kind} rises to {bound.max():.3g} GB/s",
                transform=axes.transAxes,
                va="top",
                **NOTE,
            )
        _draw_link(axes, rows)

    note = "from the\nsmallest fitted α and β\n(flat part: 1/β)"
    rows = rows[rows["ranks"] > 1]  # one rank sends nothing over any bus
    label = "bus bandwidth"
    return size_panels(rows, bounds, draw, limit, label, ("upper bound", note), logarithmic=False, unit="GB/s")


def _passed_links(frame: pd.DataFrame) -> pd.Series:
    """Return which times are below the limit of the links between the nodes."""
    return (frame["time_s"] < frame["limit_s"]) & (frame["limit_by"] == LINKS).fillna(False)


def _draw_link(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw the bus bandwidth at which the links between the nodes are saturated, if their rate is known."""
    busbw = busbw_of_links(rows)
    if busbw is None:
        return
    full = busbw / 1e9
    axes.axhline(full, **LINK)
    axes.set_ylim(0, max(axes.get_ylim()[1], 1.1 * full))
    axes.text(0.98, full, "link rate", transform=axes.get_yaxis_transform(), ha="right", va="bottom", **NOTE)


def speedup(rows: pd.DataFrame, switches: Mapping[int, Sequence[Switch]] = NO_SWITCHES) -> Figure | None:
    """Draw time of native over time of each algorithm; logarithmic, so that twice and half are equally far from 1."""

    def draw(axes: Axes, rows: pd.DataFrame, style: Style) -> None:
        if not Competitor(rows["competitor"].iloc[0]).is_native:
            draw_line(axes, rows["size_bytes"], rows["speedup"], None, None, style)

    def limit(axes: Axes, rows: pd.DataFrame, _: pd.DataFrame) -> None:
        axes.axhline(1, color="black", linewidth=2)
        for switch in switches.get(int(rows["ranks"].iloc[0]), ()):
            axes.axvspan(switch.low, switch.high, color="#e6e6e6", linewidth=0, zorder=0)
            axes.axvline(switch.x, color="#555555", linewidth=1)

    compared = rows.groupby("ranks").filter(lambda group: group["speedup"].notna().any())
    if compared["competitor"].isin(NATIVES).all():
        return None
    figure = size_panels(compared, None, draw, limit, "speed-up over native", None, unit="")
    for axes in figure.axes if figure else []:
        least, most = axes.get_ylim()
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7) if most < 30 * least else (1,)))
        axes.yaxis.set_minor_locator(NullLocator())
    return figure


def size_panels(
    rows: pd.DataFrame,
    bounds: pd.DataFrame | None,
    draw: Callable[[Axes, pd.DataFrame, Style], None],
    limit: Callable[[Axes, pd.DataFrame, pd.DataFrame], None],
    label: str,
    note: tuple[str, str] | None,
    logarithmic: bool = True,
    more: dict[str, Style] | None = None,
    unit: str = "us",
) -> Figure | None:
    """Draw a panel for each rank count of `rows`: its algorithms, then its limit; and one legend for all, with `more`.

    `note`: the label of the line of `bounds` if it is a bound, and its composition. Logarithmic panels share their y
    axis; linear ones have their own, so that large rank counts are not flat at 0.
    """
    styled = styles(rows["competitor"])
    rows = rows[rows["size_bytes"] > 0].groupby("ranks").filter(lambda group: group["time_s"].notna().any())
    if rows.empty:
        return None
    figure, panels = grid(rows["ranks"].nunique(), label, logarithmic, unit=unit)
    for axes, (ranks, group) in zip(panels, rows.groupby("ranks")):
        for name, line in group.groupby("competitor", sort=False):
            beside = {"alpha": PALE} if (group["grade"] == NOT_RELIABLE).all() else {}
            for part in split_at_breaks(line.sort_values("size_bytes")):
                draw(axes, part, {**styled[str(name)], **beside})
        limit(axes, group, group if bounds is None else bounds[bounds["ranks"] == ranks])
        axes.set_title(panel_title(group), fontsize=10)
        size_axis(axes, sorted(rows["size_bytes"].unique()))
        axes.grid(True, **GRID)
    measured = set(rows.loc[rows["time_s"].notna(), "competitor"])
    shown = {name: styled[name] for name in styled if name in measured} | (more or {})
    legend(figure, shown | _lines_of_bounds(bounds, note))
    return figure


def _lines_of_bounds(bounds: pd.DataFrame | None, note: tuple[str, str] | None) -> dict[str, Style]:
    """Return the label and look of each kind of line that `bounds` draws: bounds, and fits that measured times
    undercut.
    """
    if bounds is None or note is None:
        return {}
    kind, made_of = note
    passed = set(bounds.loc[bounds["time_s"].notna(), "passed"])
    bound = {f"{kind} {made_of}": BOUND} if False in passed else {}
    return bound | ({f"fit {made_of}\n(some times are shorter)": FIT} if True in passed else {})
