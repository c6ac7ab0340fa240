"""Several runs overlaid."""

import pandas as pd
from matplotlib import colormaps

from ...runs.schema import COMPLETION
from ...units import format_size, in_ranks
from ..chart_drawing import draw_chart
from ..figure import CELL, MARKERS, RUNS, Drawing, FigureData, ReportFigure, Style
from ..live_chart import Axis, LiveChart, LivePanel, LiveSeries
from .sizes import SIZE, SPREAD, measured_words

DARKEST = 0.85  # end of the colour map that runs take
OVERLAY = "Time against vector size, a panel for each algorithm and a line for each run, at the largest rank count that"


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


OVER_EACH_OTHER = ReportFigure(stem="runs", section=RUNS, turn=10, draw=draw_overlay)


def _timed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that can be drawn."""
    is_completion = frame["time_definition"] == COMPLETION
    return frame[frame["time_s"].notna() & (frame["size_bytes"] > 0) & (frame["groups"] == "") & ~is_completion]


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
        lines = [_series(str(run), line) for run, line in group.groupby("run", sort=False)]
        panels.append(LivePanel(", ".join(tags), tags, lines))
    sizes = {int(size_bytes): format_size(int(size_bytes)) for size_bytes in sorted(set(rows["size_bytes"]))}
    facets = [names, [in_ranks([ranks]) for ranks in counts]]
    axis = Axis("time", log=True, shared=True, unit="us")
    return LiveChart("Runs", SIZE, axis, sizes, panels, looks, facets, facets[1][:-1])


def _series(name: str, line: pd.DataFrame) -> LiveSeries:
    records = line.sort_values("size_bytes").to_dict("records")
    y, low, high = ([row[column] * 1e6 for row in records] for column in ("time_s", *SPREAD))
    return LiveSeries(
        name, [row["size_bytes"] for row in records], y, low, high, [measured_words(row) for row in records]
    )
