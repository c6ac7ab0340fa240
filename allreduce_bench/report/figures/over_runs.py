"""Several runs overlaid, and their times over dates if three or more are of one plan."""

from datetime import datetime, timezone
from math import nan

import pandas as pd
from matplotlib import colormaps

from ...runs.schema import COMPLETION
from ...units import format_size, in_ranks
from ..chart_drawing import draw_chart
from ..figure import CELL, MARKERS, RUNS, Drawing, FigureData, ReportFigure, Style, styles
from ..live_chart import Axis, LiveChart, LivePanel, LiveSeries
from .sizes import SIZE, SPREAD, measured_words

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
    ranks, chart = int(shared["ranks"].max()), _chart_runs(shared)
    numbers = shared.loc[shared["ranks"] == ranks, ["run", *CELL, "time_s", *SPREAD]]
    caption = f"{OVERLAY} at least two runs have, {in_ranks([ranks])}. Bars: lowest to highest launch median."
    return Drawing(draw_chart(chart), caption, numbers, chart)


def draw_trend(data: FigureData) -> Drawing | None:
    """Draw times at three sizes over the dates of the runs that share the most frequent plan."""
    rows = _timed(data.frame).dropna(subset=["at_s"])
    counts = rows.groupby("plan")["run"].nunique() if len(rows) else pd.Series(dtype=int)
    if counts.empty or counts.max() < LEAST_DATES:
        return None
    rows = rows[rows["plan"] == counts.idxmax()]
    ranks, sizes = int(rows["ranks"].max()), sorted(rows["size_bytes"].unique())
    chosen = sorted({int(sizes[place]) for place in (0, len(sizes) // 2, -1)})
    rows = rows[rows["size_bytes"].isin(chosen)]
    chart = _chart_trend(rows)
    caption = f"{TREND} launch median. {in_ranks([ranks])}; {counts.max()} runs."
    numbers = rows.loc[rows["ranks"] == ranks, ["run", "created", *CELL, "time_s", *SPREAD]]
    return Drawing(draw_chart(chart), caption, numbers, chart)


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


def _chart_runs(rows: pd.DataFrame) -> LiveChart:
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


def _chart_trend(rows: pd.DataFrame) -> LiveChart:
    """Chart a panel for each size and rank count, a series for each algorithm."""
    panels, looks = [], styles(rows["competitor"])
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
    y, low, high = ([row[column] * 1e6 for row in records] for column in ("time_s", *SPREAD))
    return LiveSeries(name, [row[x] for row in records], y, low, high, [measured_words(row) for row in records])
