"""Several runs overlaid, and their times over dates if three or more are of one plan."""

from datetime import datetime, timezone
from math import nan

import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ...runs.schema import COMPLETION
from ...units import format_size, in_ranks
from ..figure import (
    CELL,
    GRID,
    MARKERS,
    RUNS,
    Drawing,
    FigureData,
    ReportFigure,
    Style,
    draw_line,
    grid,
    legend,
    size_axis,
    styles,
)
from ..live_chart import Axis, LiveChart, LivePanel, LiveSeries
from .live_sizes import SIZE, measured_words

LEAST_DATES = 3  # runs of one plan that make a trend
DARKEST = 0.85  # end of the colour map that runs take
OVERLAY = "Time against vector size, a panel for each algorithm and a line for each run, at the largest rank count that"
TREND = "Time against the date of the run, a panel for each size, of the runs with one plan. Bars: lowest to highest"


def draw_overlay(data: FigureData) -> Drawing | None:
    """Draw the runs overlaid at the largest common rank count; live: at every one."""
    rows = _timed(data.frame)
    shared = _in_several_runs(rows, ["ranks", "competitor"])
    if shared.empty:
        return None
    ranks = int(shared["ranks"].max())
    drawn, looks = shared[shared["ranks"] == ranks], _looks_of_runs(list(dict.fromkeys(data.frame["run"])))
    names = list(dict.fromkeys(drawn["competitor"]))
    figure, panels = grid(len(names), "time", logarithmic=True)
    for axes, name in zip(panels, names):
        for run, line in drawn[drawn["competitor"] == name].groupby("run", sort=False):
            _line(axes, "size_bytes", line.sort_values("size_bytes"), looks[str(run)])
        axes.set_title(name.replace("$", r"\$"), fontsize=10)
        size_axis(axes, sorted(drawn["size_bytes"].unique()))
        axes.grid(True, **GRID)
    legend(figure, looks)
    caption = f"{OVERLAY} at least two runs have, {in_ranks([ranks])}. Bars: lowest to highest launch median."
    return Drawing(figure, caption, drawn[["run", *CELL, "time_s", "spread_low_s", "spread_high_s"]], _live(shared))


def draw_trend(data: FigureData) -> Drawing | None:
    """Draw times at three sizes over the dates of the runs that share the most frequent plan."""
    rows = _timed(data.frame).dropna(subset=["at_s"])
    counts = rows.groupby("plan")["run"].nunique() if len(rows) else pd.Series(dtype=int)
    if counts.empty or counts.max() < LEAST_DATES:
        return None
    rows = rows[rows["plan"] == counts.idxmax()]
    ranks, sizes = int(rows["ranks"].max()), sorted(rows["size_bytes"].unique())
    chosen = sorted({int(sizes[place]) for place in (0, len(sizes) // 2, -1)})
    drawn = rows[(rows["ranks"] == ranks) & rows["size_bytes"].isin(chosen)]
    looks = styles(drawn["competitor"])
    figure, panels = grid(len(chosen), "time", logarithmic=True, shared=False)
    for axes, size_bytes in zip(panels, chosen):
        for name, line in drawn[drawn["size_bytes"] == size_bytes].groupby("competitor", sort=False):
            _line(axes, "at_s", line.sort_values("at_s"), looks[str(name)])
        _name_dates(axes, drawn)
        axes.set_title(format_size(size_bytes), fontsize=10)
    legend(figure, looks)
    caption = f"{TREND} launch median. {in_ranks([ranks])}; {counts.max()} runs."
    numbers = drawn[["run", "created", *CELL, "time_s", "spread_low_s", "spread_high_s"]]
    return Drawing(figure, caption, numbers, _live_trend(rows[rows["size_bytes"].isin(chosen)], looks))


OVER_EACH_OTHER = ReportFigure(stem="runs", section=RUNS, turn=10, draw=draw_overlay)
OVER_DATES = ReportFigure(stem="trend", section=RUNS, turn=20, draw=draw_trend)


def _timed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that can be drawn, with the columns competitor and at_s, seconds since 1970."""
    is_completion = frame["time_definition"] == COMPLETION
    rows = frame[frame["time_s"].notna() & (frame["size_bytes"] > 0) & (frame["groups"] == "") & ~is_completion]
    return rows.assign(at_s=rows["created"].map(_seconds))


def _seconds(created: str) -> float:
    try:
        at = datetime.fromisoformat(created)
    except ValueError:
        return nan  # a run without a date
    return (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp()


def _in_several_runs(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    return rows.groupby(by, sort=False).filter(lambda group: group["run"].nunique() > 1)


def _looks_of_runs(runs: list[str]) -> dict[str, Style]:
    shades = colormaps["viridis"]
    return {
        run: {"color": shades(DARKEST * i / max(1, len(runs) - 1)), "marker": MARKERS[i % len(MARKERS)]}
        for i, run in enumerate(runs)
    }


def _line(axes: Axes, x: str, line: pd.DataFrame, style: Style) -> None:
    low, high = line["spread_low_s"] * 1e6, line["spread_high_s"] * 1e6
    draw_line(axes, line[x], line["time_s"] * 1e6, low, high, style)


def _name_dates(axes: Axes, rows: pd.DataFrame) -> None:
    dates = {row["at_s"]: row["created"][:10] for row in rows.to_dict("records")}
    named = sorted(dates)[:: 1 + len(dates) // 4]
    axes.xaxis.set_major_locator(FixedLocator(named))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: dates.get(at, "")))
    axes.set_xlabel("date of the run")
    axes.tick_params(labelsize=8.5, axis="both")
    axes.grid(True, **GRID)


def _live(rows: pd.DataFrame) -> LiveChart:
    """Chart a panel for each algorithm and rank count, a series for each run."""
    looks = _looks_of_runs(list(dict.fromkeys(rows["run"])))
    names, counts = list(dict.fromkeys(rows["competitor"])), sorted(set(rows["ranks"]))
    panels = []
    for (ranks, name), group in rows.groupby(["ranks", "competitor"], sort=False):
        tags = (str(name), in_ranks([int(str(ranks))]))
        lines = [_series(str(run), line, "size_bytes") for run, line in group.groupby("run", sort=False)]
        panels.append(LivePanel(", ".join(tags), tags, lines))
    sizes = {int(size_bytes): format_size(int(size_bytes)) for size_bytes in sorted(set(rows["size_bytes"]))}
    facets = [names, [in_ranks([ranks]) for ranks in counts]]
    axis = Axis("time", log=True, shared=True, unit="us")
    return LiveChart("Runs", SIZE, axis, sizes, panels, looks, facets, facets[1][:-1])


def _live_trend(rows: pd.DataFrame, looks: dict[str, Style]) -> LiveChart:
    """Chart a panel for each size and rank count, a series for each algorithm."""
    panels = []
    for (ranks, size_bytes), group in rows.groupby(["ranks", "size_bytes"]):
        tags = (format_size(int(str(size_bytes))), in_ranks([int(str(ranks))]))
        lines = [_series(str(name), line, "at_s") for name, line in group.groupby("competitor", sort=False)]
        panels.append(LivePanel(", ".join(tags), tags, lines))
    dates = {row["at_s"]: row["created"][:10] for row in rows.sort_values("at_s").to_dict("records")}
    counts = [in_ranks([ranks]) for ranks in sorted(set(rows["ranks"]))]
    facets = [list(dict.fromkeys(panel.tags[0] for panel in panels)), counts]
    axes = Axis("date of the run", log=False), Axis("time", log=True, unit="us")
    return LiveChart("Trend", *axes, dates, panels, looks, facets, counts[:-1])


def _series(name: str, line: pd.DataFrame, x: str) -> LiveSeries:
    records = line.sort_values(x).to_dict("records")
    y, low, high = ([row[column] * 1e6 for row in records] for column in ("time_s", "spread_low_s", "spread_high_s"))
    return LiveSeries(name, [row[x] for row in records], y, low, high, [measured_words(row) for row in records])
