"""A chart as a picture: what the page's script draws of its numbers, for print, for files and for pages without script.

The axis follows the competitors: bounds and reference times may leave the picture, and then have no place in its
legend.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from .figure import GRID, PALE, Style, draw_line, few_minor_ticks, grid, legend, size_axis
from .live_chart import LiveChart, LiveLine, LivePanel, LiveSeries

GREY = "#555555"
BOUND: Style = {"color": GREY, "linestyle": (0, (5, 2)), "linewidth": 1.2}
REFERENCE: Style = {"color": "#9a9a9a", "linewidth": 0.8, "zorder": 1}
LINES: dict[str, Style] = {  # kind of a line -> how it is drawn
    "bound": BOUND,
    "limit": {"color": GREY, "linestyle": (0, (1, 2)), "linewidth": 1.4},
    "one": {"color": "black", "linewidth": 2},
    "reference call": {**REFERENCE, "linestyle": ":"},
    "reference copy": {**REFERENCE, "linestyle": "-"},
    "reference reduction": {**REFERENCE, "linestyle": "-."},
}
BESIDE = 1.15  # of the ends of an axis over the values
WIDEST = 28  # letters of a line of the legend
TICKS = ((30, (1, 1.5, 2, 3, 5, 7)), (300, (1, 2, 5)))  # last over first value of an axis -> its ticks in a decade


def draw_chart(chart: LiveChart) -> Figure:
    """Draw the panels of a chart, but for those that it hides at first; one legend for all."""
    panels = [panel for panel in chart.panels if not {*panel.tags} & {*chart.hidden}]
    figure, places = grid(len(panels), chart.y.label, chart.y.log, chart.y.shared, chart.y.unit)
    ends = [_ends(panel, chart.y.log) for panel in panels]
    if chart.y.shared:
        ends = [(min(low for low, _ in ends), max(high for _, high in ends))] * len(panels)
    seen: dict[str, Style] = {}
    for axes, panel, (low, high) in zip(places, panels, ends):
        lines = [line for line in panel.lines if _is_seen(line, low, high)]
        _draw_panel(axes, panel._replace(lines=lines), chart)
        axes.set_ylim(low, high)
        if chart.y.log:
            _place_ticks(axes, high / low)
        if axes.get_xlabel():
            axes.set_xlabel(chart.x)
        seen |= {line.name: LINES[line.kind] for line in lines}
    named = {series.name for panel in panels for series in panel.series}
    shown = {name: look for name, look in chart.looks.items() if name in named}
    legend(figure, shown | {"\n".join(wrap(name, WIDEST)): look for name, look in seen.items()})
    return figure


def _is_seen(line: LiveLine, low: float, high: float) -> bool:
    """Return whether a line is in the picture: half of a reference time, some of a bound."""
    inside = [low <= y <= high for y in _known(line.y)]
    return 2 * sum(inside) >= len(inside) > 0 if line.kind.startswith("reference") else any(inside)


def _known(values: Sequence[float | None]) -> Iterator[float]:
    return (value for value in values if value is not None and np.isfinite(value))


def _ends(panel: LivePanel, is_log: bool) -> tuple[float, float]:
    """Return the ends of the y axis: of all values of series, and of the line at 1."""
    lines = [line.y for line in panel.lines if line.kind == "one"]
    every = [values for one in panel.series for values in (one.y, one.low, one.high)]
    found = [value for values in (*every, *lines) for value in _known(values) if value > 0]
    low, high = min(found, default=1.0), max(found, default=1.0)
    return (low / BESIDE, high * BESIDE) if is_log else (0.0, high * BESIDE)


def _draw_panel(axes: Axes, panel: LivePanel, chart: LiveChart) -> None:
    for mark in panel.marks:
        axes.axvspan(mark.low, mark.high, color="#e6e6e6", linewidth=0, zorder=0)
        axes.axvline(mark.x, color=GREY, linewidth=1)
    for line in panel.lines:
        _draw_bound(axes, line)
    for series in panel.series:
        _draw_series(axes, series, {**chart.looks[series.name], **({"alpha": PALE} if panel.pale else {})})
    size_axis(axes, [*chart.names])
    axes.set_title(panel.title.replace("$", r"\$"), fontsize=10)
    axes.grid(True, **GRID)


def _draw_bound(axes: Axes, line: LiveLine) -> None:
    marker = "." if len(line.x) == 1 else ""  # a single point has no line
    axes.plot(line.x, np.array(line.y, dtype=float), marker=marker, **LINES[line.kind])


def _draw_series(axes: Axes, series: LiveSeries, style: Style) -> None:
    """Draw a line with its bars, not joined at its breaks."""
    columns = (np.array(values, dtype=float) for values in (series.x, series.y, series.low, series.high))
    x, y, low, high = columns
    for start, end in pairwise([0, *series.breaks, len(x)]):
        part = slice(start, end)
        has_bars = np.isfinite(low[part]).any()
        draw_line(axes, x[part], y[part], low[part] if has_bars else None, high[part] if has_bars else None, style)


def _place_ticks(axes: Axes, reach: float) -> None:
    """Place ticks on a logarithmic axis: many in a decade where it has but few."""
    parts = next((parts for most, parts in TICKS if reach < most), (1,))
    axes.yaxis.set_major_locator(LogLocator(subs=parts))
    axes.yaxis.set_minor_locator(few_minor_ticks() if len(parts) == 1 else NullLocator())
