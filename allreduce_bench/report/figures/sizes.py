"""Time, bus bandwidth and speed-up over size, a panel for each rank count.

Every chart takes rows of one run of `summary.summary`; it is None if there is nothing to draw. Sizes of 0 bytes have no
place on a logarithmic axis and are left out.
"""

from collections.abc import Callable

import pandas as pd

from ...evaluation.doubts import doubt_words
from ...evaluation.grade import NOT_RELIABLE
from ...evaluation.limits import LINKS
from ...runs.competitor import NATIVES, Competitor
from ...units import counted, format_bandwidth, format_size, format_time, in_ranks, three_digits
from ..chart_drawing import draw_chart
from ..figure import CELL, TIMES, Drawing, FigureData, ReportFigure, Style, panel_title, styles
from ..live_chart import NO_SWITCHES, Axis, LiveChart, LiveLine, LivePanel, LiveSeries, Switches, cell_id
from ..unbroken import find_breaks, is_broken
from ..verdict_sentence import printed_factor

SIZE = "size of the vector"  # label of the x axis
REFERENCES = {  # column -> its label, and the kind of its line
    "call_floor_s": ("reference: empty call", "reference call"),
    "copy_floor_s": ("reference: local copy", "reference copy"),
    "reduce_floor_s": ("reference: local reduction", "reference reduction"),
}
TOLD = (  # columns of what is drawn, and said of it
    *("ranks", "size_bytes", "y", "low", "high", "time_s", "time_low_s", "time_high_s", "interval"),
    *("launches", "repetitions", "doubt"),
)
SPREAD = ("spread_low_s", "spread_high_s")  # columns
Lines = Callable[[pd.DataFrame, int], list[LiveLine]]  # of the rows of a rank count

BARS = "Bars: lowest to highest launch median (with one launch, the interval of its median)."
LIMIT_SENTENCE = " Dotted line: the lower bound by measured figures, see Lower bounds."
NO_PLACE = " 0 B has no place on a logarithmic axis; its times are in the tables."
FLOORS_SENTENCE = " Thin grey lines: reference times of an empty call, of a local copy and of a local reduction."
SWITCH_SENTENCE = " Vertical line: the size from which another algorithm is faster, with its range in grey."
LINKS_SENTENCE = " Dotted line: rate of the links. Short messages can pass it: a link lets some bytes through at once."
PASSING = " Points above the link rate are faster than the links allow: a warning names likely causes."
BROKEN = " The line of native is broken between sizes at which it ran different algorithms."
BESIDE = f" What is compiled is divided into {NATIVES[1]}, the others into {NATIVES[0]}."


def draw_latency(data: FigureData) -> Drawing | None:
    """Draw time over size, with the reference times and bounds that exist."""
    floors = FLOORS_SENTENCE if data.frame[[*REFERENCES]].notna().any(axis=None) else ""
    limit = LIMIT_SENTENCE if data.frame["limit_s"].notna().any() else ""
    empty = NO_PLACE if (data.frame["size_bytes"] == 0).any() else ""
    caption = f"Time against vector size. {BARS}{empty}{data.bound_sentence}{limit}{floors}{_native_sentences(data)}"
    columns = ["time_s", "time_low_s", "time_high_s", *SPREAD, "interval", *REFERENCES, "bound_s"]
    columns += ["limit_s", "limit_by", "own_limit_s"]
    return _drawing(data, chart_times(data.frame, data.limits, data.switches), caption, columns)


def draw_bandwidth(data: FigureData) -> Drawing | None:
    """Draw bus bandwidth over size, with its bound."""
    by_links = (data.frame["limit_by"] == LINKS).fillna(False)
    links = LINKS_SENTENCE if by_links.any() else ""
    links += PASSING if ((data.frame["time_s"] < data.frame["limit_s"]) & by_links).any() else ""
    what = "Bus bandwidth n/t · 2(p−1)/p against vector size."
    caption = f"{what} {BARS}{data.bound_sentence}{links}{_native_sentences(data)}"
    columns = ["busbw_bytes_per_s", "busbw_bound_bytes_per_s", "limit_s", "of_limit", "time_s"]
    return _drawing(data, chart_bandwidth(data.frame, data.limits), caption, [*columns, *SPREAD])


def draw_speedup(data: FigureData) -> Drawing | None:
    """Draw speed-up over native, over size; the script shows the most ranks alone at first."""
    caption = "Speed-up: time of native / time of each algorithm; above 1 is faster than native."
    caption += SWITCH_SENTENCE if any(data.switches.values()) else ""
    caption += BESIDE if any(Competitor(name).is_compiled for name in data.frame["competitor"].unique()) else ""
    drawing = _drawing(data, chart_speedup(data.frame, data.switches), caption, ["speedup", "time_s"])
    if drawing is None or drawing.live is None:
        return None
    hidden = [tag for panel in drawing.live.panels[:-1] for tag in panel.tags]
    return drawing._replace(live=drawing.live._replace(hidden=hidden))


SPEEDUP = ReportFigure(stem="speedup", section=TIMES, turn=10, draw=draw_speedup)
LATENCY = ReportFigure(stem="latency", section=TIMES, turn=20, draw=draw_latency)
BANDWIDTH = ReportFigure(stem="bus_bandwidth", section=TIMES, turn=30, draw=draw_bandwidth)


def _native_sentences(data: FigureData) -> str:
    return BROKEN if is_broken(data.frame) else ""


def _drawing(data: FigureData, chart: LiveChart | None, caption: str, columns: list[str]) -> Drawing | None:
    """Return a chart with its picture, its caption and the named columns of its numbers."""
    return chart and Drawing(draw_chart(chart), caption, data.bounded[[*CELL, *columns]], chart)


def chart_times(frame: pd.DataFrame, bounds: pd.DataFrame, switches: Switches) -> LiveChart | None:
    """Chart time over size; bars are the spread of the launches."""
    columns = {"limit_s": ("lower bound by measured figures", "limit"), **REFERENCES}

    def lines(rows: pd.DataFrame, ranks: int) -> list[LiveLine]:
        found = [_line_of(rows, column, *how) for column, how in columns.items() if rows[column].notna().any()]
        return [*found, *_bound_lines(bounds, ranks, "lower", "time_s", 1e6)]

    rows = frame.assign(y=frame["time_s"] * 1e6, low=frame["spread_low_s"] * 1e6, high=frame["spread_high_s"] * 1e6)
    axis = Axis("time", log=True, shared=True, unit="us")
    return chart_over_sizes(rows, "Time", axis, lines, measured_words, switches)


def chart_bandwidth(frame: pd.DataFrame, bounds: pd.DataFrame) -> LiveChart | None:
    """Chart bus bandwidth over size, n/t * 2(p-1)/p, at most 1/beta; one rank sends nothing over any bus."""

    def lines(rows: pd.DataFrame, ranks: int) -> list[LiveLine]:
        sizes, full = sorted(rows["size_bytes"].unique()), busbw_of_links(rows)
        links = [LiveLine("link rate", "limit", sizes, [full / 1e9] * len(sizes))] if full else []
        return [*_bound_lines(bounds, ranks, "upper", "busbw_bytes_per_s", 1e-9), *links]

    rate = frame["busbw_bytes_per_s"] / 1e9
    low, high = rate * frame["time_s"] / frame["spread_high_s"], rate * frame["time_s"] / frame["spread_low_s"]
    rows = frame.assign(y=rate, low=low, high=high)[frame["ranks"] > 1]
    axis = Axis("bus bandwidth", log=False, unit="GB/s")
    return chart_over_sizes(rows, "Bus bandwidth", axis, lines, _rate_words)


def chart_speedup(frame: pd.DataFrame, switches: Switches) -> LiveChart | None:
    """Chart speed-up over native; a line at 1."""

    def one(rows: pd.DataFrame, ranks: int) -> list[LiveLine]:
        sizes = sorted(rows["size_bytes"].unique())
        return [LiveLine("as fast as native", "one", sizes, [1.0] * len(sizes))]

    rows = frame[~frame["competitor"].isin(NATIVES)].assign(y=frame["speedup"], low=None, high=None)
    axis = Axis("speed-up over native", log=True, shared=True)
    return chart_over_sizes(rows, "Speed-up over native", axis, one, _speedup_words, switches)


def _bound_lines(bounds: pd.DataFrame, ranks: int, side: str, column: str, scale: float) -> list[LiveLine]:
    """Return the curve of `bound_curves`: a bound on the `side`."""
    curve = bounds[(bounds["ranks"] == ranks) & bounds["time_s"].notna()]
    if curve.empty:
        return []
    name = f"{side} bound estimated from the smallest fitted α and β"
    return [LiveLine(name, "bound", [*curve["size_bytes"]], [*curve[column] * scale])]


def busbw_of_links(rows: pd.DataFrame) -> float | None:
    """Return the bus bandwidth at which the links between the nodes are saturated, bytes/s; None: unknown rate.

    The limit of short messages omits the burst that a link passes after a pause, so the minimum counts.
    """
    limited = rows[(rows["limit_by"] == LINKS).fillna(False)]
    full = (limited["busbw_bytes_per_s"] * limited["time_s"] / limited["limit_s"]).dropna()
    return float(full.min()) if len(full) else None


def _line_of(rows: pd.DataFrame, column: str, label: str, kind: str) -> LiveLine:
    """Return times of a column that all algorithms share, us, as a line."""
    known = rows.dropna(subset=[column]).drop_duplicates("size_bytes").sort_values("size_bytes")
    return LiveLine(label, kind, [*known["size_bytes"]], [*known[column] * 1e6])


def no_lines(rows: pd.DataFrame, ranks: int) -> list[LiveLine]:
    """Return the lines of a chart without bounds."""
    return []


def chart_over_sizes(
    frame: pd.DataFrame,
    title: str,
    axis: Axis,
    lines: Lines,
    words: Callable[[dict], str],
    switches: Switches = NO_SWITCHES,
) -> LiveChart | None:
    """Return a chart of `frame`, a summary with the columns y, low and high; None: nothing was measured.

    Sizes without a value stay, so that lines are broken there.
    """
    each = frame[frame["size_bytes"] > 0].groupby(["ranks", "competitor"], dropna=False)
    rows = each.filter(lambda line: line["y"].notna().any())
    if rows.empty:
        return None
    styled = styles(frame["competitor"])
    looks: dict[str, Style] = {}
    panels = []
    for ranks, group in rows.groupby("ranks"):
        series = []
        for name, line in group.groupby("competitor", sort=False):
            looks[str(name)] = styled[str(name)]
            series.append(_series(str(name), line.sort_values("size_bytes"), words))
        count = int(str(ranks))
        marks, pale = switches.get(count, ()), bool((group["grade"] == NOT_RELIABLE).all())
        panels.append(LivePanel(panel_title(group), (in_ranks([count]),), series, lines(group, count), marks, pale))
    names = {int(size_bytes): format_size(int(size_bytes)) for size_bytes in sorted(rows["size_bytes"].unique())}
    return LiveChart(title, SIZE, axis, names, panels, looks, [[panel.tags[0] for panel in panels]])


def _series(name: str, line: pd.DataFrame, words: Callable[[dict], str]) -> LiveSeries:
    records = line[[name for name in TOLD if name in line]].to_dict("records")
    return LiveSeries(
        name,
        [int(row["size_bytes"]) for row in records],
        [row["y"] for row in records],
        [row["low"] for row in records],
        [row["high"] for row in records],
        [words(row) if pd.notna(row["y"]) else "" for row in records],
        [cell_id(int(row["ranks"]), name, int(row["size_bytes"])) for row in records],
        find_breaks(line),
    )


def measured_words(row: dict) -> str:
    """Return `12.3 us [12.0, 12.6], 5 launches of 15 calls`: a time, its interval, its sample."""
    ends = f" [{three_digits(row['time_low_s'] * 1e6)}, {three_digits(row['time_high_s'] * 1e6)}]"
    has_interval = row["interval"] != "range" and pd.notna(row["time_low_s"])
    launches, calls = int(row["launches"]), row.get("repetitions")
    each = f" of {round(calls / launches)} calls" if pd.notna(calls) and calls else ""
    doubt = f"; not ranked: {doubt_words(row['doubt'])}" if pd.notna(row["doubt"]) else ""
    return f"{format_time(row['time_s'])}{ends if has_interval else ''}, {counted(launches, 'launch')}{each}{doubt}"


def _rate_words(row: dict) -> str:
    return f"{format_bandwidth(row['y'] * 1e9)}; {measured_words(row)}"


def _speedup_words(row: dict) -> str:
    factor = printed_factor(row["y"] * row["time_s"], row["time_s"])
    return f"{three_digits(factor)} times as fast as native; {measured_words(row)}"
