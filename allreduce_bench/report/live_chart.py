"""A figure as numbers that the page's script draws again: panels over one x axis, with words for each value.

The script shows the words of a value on hover or focus, and shows and hides series and panels. The picture of the same
figure stays in the page for readers without script.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from matplotlib.colors import to_hex, to_rgb

from ..web.colours import luminance

Style = dict[str, Any]  # keywords of matplotlib
LEAST_LIGHT = 0.25  # relative luminance of a line on a dark page: a contrast of 5 to it
STEP = 0.05  # amount of white added per step
MOST_DIGITS = 6  # of a number in the page


class Axis(NamedTuple):
    """The y axis of all panels."""

    label: str
    log: bool
    shared: bool = False  # all panels have the same
    unit: str = ""  # of its values: `us` or `GB/s`; the script names ticks in a larger or smaller one


class LiveSeries(NamedTuple):
    """A line of a panel; sequences of equal length, an entry per value."""

    name: str  # one of the looks
    x: Sequence[float]
    y: Sequence[float | None]  # in the unit of the axis; None: not measured
    low: Sequence[float | None]  # of the bar
    high: Sequence[float | None]
    words: Sequence[str]  # value, interval and launches
    cells: Sequence[str] = ()  # of each value: the cell whose calls the page may hold; see `cell_id`
    breaks: Sequence[int] = ()  # positions of values that no line joins to the one before


class LiveLine(NamedTuple):
    """A line without values to query: a bound."""

    name: str
    kind: str  # its look: `bound`, `limit`, `one`
    x: Sequence[float]
    y: Sequence[float | None]


class Switch(NamedTuple):
    """A crossover and the range in which it lies, on the x axis."""

    x: float
    low: float
    high: float
    words: str


Switches = Mapping[int, Sequence[Switch]]  # ranks -> crossovers
NO_SWITCHES: Switches = {}


class LivePanel(NamedTuple):
    """A panel of a chart."""

    title: str
    tags: tuple[str, ...]  # hides it: one of every facet of the chart
    series: Sequence[LiveSeries]
    lines: Sequence[LiveLine] = ()
    marks: Sequence[Switch] = ()
    pale: bool = False  # its times are not reliable


class LiveChart(NamedTuple):
    """A figure as numbers."""

    title: str
    x: str  # label of the axis, which is logarithmic
    y: Axis
    names: Mapping[Any, str]  # value on the x axis, a number, ascending -> its name
    panels: Sequence[LivePanel]
    looks: Mapping[str, Style]  # series -> keywords of matplotlib
    facets: Sequence[Sequence[str]] = ()  # tags to choose among
    hidden: Sequence[str] = ()  # tags that this chart hides at first


def cell_id(ranks: int, competitor: str, size_bytes: int) -> str:
    """Return the id of a cell in a page: `4 ranks ring 1024`."""
    return f"{ranks} ranks {competitor} {size_bytes}"


def chart_json(chart: LiveChart) -> dict[str, Any]:
    """Return the chart as the script reads it: dicts, lists, text and finite numbers."""
    names = {"values": list(chart.names), "names": list(chart.names.values())}
    return {
        "title": chart.title,
        "x": {"label": chart.x, **names},
        "y": chart.y._asdict(),
        "panels": [_panel_json(panel) for panel in chart.panels],
        "looks": {name: look_json(style) for name, style in chart.looks.items()},
        "facets": list(map(list, chart.facets)),
        "hidden": list(chart.hidden),
    }


def _panel_json(panel: LivePanel) -> dict[str, Any]:
    series = [
        one._asdict() | {name: numbers(getattr(one, name)) for name in ("y", "low", "high")} for one in panel.series
    ]
    lines = [line._asdict() | {"x": numbers(line.x), "y": numbers(line.y)} for line in panel.lines]
    marks = [mark._asdict() for mark in panel.marks]
    return {**panel._asdict(), "tags": list(panel.tags), "series": series, "lines": lines, "marks": marks}


def look_json(style: Style) -> dict[str, Any]:
    """Return a look as pages draw it: colours on light and dark paper, marker, dashes."""
    light = to_hex(style["color"])
    dash = style.get("linestyle", "-")
    named = {"-.": "7 3 2 3", ":": "2 3"}.get(dash) if isinstance(dash, str) else None
    drawn = named if isinstance(dash, str) else " ".join(f"{2 * part:g}" for part in dash[1])
    hollow = style.get("markerfacecolor") == "white"
    marker = style.get("marker", "o")
    return {"light": light, "dark": add_white(light), "marker": marker, "dash": drawn, "hollow": hollow}


def add_white(colour: str) -> str:
    """Return `colour` with as much white as it needs on a dark page; black becomes nearly white."""
    red, green, blue = to_rgb(colour)
    if max(red, green, blue) == 0:
        return "#f2f2f2"
    while luminance(to_hex((red, green, blue))) < LEAST_LIGHT:
        red, green, blue = (channel + (1 - channel) * STEP for channel in (red, green, blue))
    return to_hex((red, green, blue))


def numbers(values: Iterable[Any]) -> list[float | None]:
    """Return `values` with few digits; None where there is no finite number."""
    return [
        float(f"{float(value):.{MOST_DIGITS}g}") if value is not None and isfinite(value) else None for value in values
    ]
