"""Energy of a call over size, a panel for each rank count; of runs with --energy."""

from ...units import three_digits
from ..chart_drawing import draw_chart
from ..figure import (
    CELL,
    TIMES,
    Drawing,
    FigureData,
    ReportFigure,
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


ENERGY = ReportFigure(stem="energy", section=TIMES, turn=40, draw=draw_sizes)
