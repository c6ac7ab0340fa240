"""Energy of a call over size, and against its time, a panel for each rank count; of runs with --energy."""

import pandas as pd
from matplotlib.figure import Figure

from ...units import three_digits
from ..chart_drawing import draw_chart
from ..figure import (
    CELL,
    GRID,
    TIMES,
    Drawing,
    FigureData,
    ReportFigure,
    draw_line,
    grid,
    legend,
    panel_title,
    styles,
    tick_formatter,
    tick_words,
)
from ..live_chart import Axis
from .sizes import chart_over_sizes, measured_words, no_lines

COLUMNS = ["energy_j", "energy_low_j", "energy_high_j", "energy_idle_share", "energy_counters", "time_s"]
ENERGY_AXIS = Axis("energy of a call", log=True, shared=True, unit="J")
SPINNING = (
    "Ranks which spin while they wait cost as much as ranks which work: a call that takes longer costs more, whatever "
    "its ranks do."
)


def draw_sizes(data: FigureData) -> Drawing | None:
    """Draw energy over size."""
    counted = data.frame[data.frame["energy_j"] > 0]
    rows = counted.assign(y=counted["energy_j"], low=counted["energy_low_j"], high=counted["energy_high_j"])
    chart = chart_over_sizes(rows, "Energy of a call", ENERGY_AXIS, no_lines, _energy_words)
    if chart is None:
        return None
    share, counters = counted["energy_idle_share"].median(), " + ".join(counted["energy_counters"].dropna().unique())
    caption = (
        f"Energy of a call on all nodes against vector size: median over launches; bars: lowest to highest launch. "
        f"Counters of a node: {counters}. What idle nodes take is subtracted: {100 * share:.0f} % of what was counted. "
        f"{SPINNING}"
    )
    return Drawing(draw_chart(chart), caption, counted[[*CELL, *COLUMNS]], chart)


def _energy_words(row: dict) -> str:
    return f"{tick_words(float(three_digits(row['y'])), 'J')}; {measured_words(row)}"


def draw_times(data: FigureData) -> Drawing | None:
    """Draw energy against time."""
    counted = data.frame[(data.frame["energy_j"] > 0) & data.frame["time_s"].notna() & (data.frame["size_bytes"] > 0)]
    if counted.empty:
        return None
    caption = (
        "Energy of a call against its time, a line through the sizes of each algorithm; to the lower left is better. "
        "Where a line lies above another, the same time costs more power."
    )
    return Drawing(energy_over_time(counted), caption, counted[[*CELL, *COLUMNS]])


ENERGY = ReportFigure(stem="energy", section=TIMES, turn=40, draw=draw_sizes)
ENERGY_OVER_TIME = ReportFigure(stem="energy_over_time", section=TIMES, turn=50, draw=draw_times)


def energy_over_time(rows: pd.DataFrame) -> Figure:
    """Draw a panel for each rank count of `rows`, of which each has an energy and a time."""
    styled = styles(rows["competitor"])
    figure, panels = grid(rows["ranks"].nunique(), ENERGY_AXIS.label, logarithmic=True, unit=ENERGY_AXIS.unit)
    for axes, (_, group) in zip(panels, rows.groupby("ranks")):
        for name, line in group.sort_values("size_bytes").groupby("competitor", sort=False):
            draw_line(axes, line["time_s"] * 1e6, line["energy_j"], None, None, styled[str(name)])
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(tick_formatter("us"))
        axes.set_xlabel("time")
        axes.set_title(panel_title(group), fontsize=10)
        axes.tick_params(labelsize=8.5)
        axes.grid(True, **GRID)
    legend(figure, styled)
    return figure
