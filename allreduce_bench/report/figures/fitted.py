"""Alpha and beta beside times: for each algorithm its times over size, and below them priced over measured."""

from math import ceil

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from ..figure import (
    COLUMNS,
    GRID,
    LEGEND_WIDTH,
    MARKERS,
    MODELS,
    PANELS_WIDTH,
    Drawing,
    FigureData,
    ReportFigure,
    few_minor_ticks,
    size_axis,
    tick_formatter,
)

TIMES_HEIGHT, RESIDUALS_HEIGHT = 2.6, 1.35  # inches
BAND = 1.1  # of model over measured, either way
RATIOS = {1.5: (0.8, 0.9, 1, 1.1, 1.25), 3: (0.5, 0.8, 1, 1.25, 2), 20: (0.1, 0.3, 1, 3, 10)}  # reach -> ticks
FURTHER = (1e-9, 1e-6, 1e-3, 1, 1e3, 1e6, 1e9)
BAND_COLOUR, NOISE_COLOUR = "#dddddd", "#9fc5e8"
CAPTION = (
    "Alpha and beta beside the times they were fitted to. Top: time against vector size; points are measured, lines are"
    " α messages + β bytes. Bottom: that / measured, with a band of 10 % (grey) and the spread between launches (blue,"
    " median over ranks). Predictions are scaled by this ratio at the measured neighbours, so that they begin at the"
    " points."
)


def draw(data: FigureData) -> Drawing | None:
    """Draw the panels of `fitted`."""
    figure = fitted(data.compared)
    return None if figure is None else Drawing(figure, CAPTION, data.compared)


FITTED = ReportFigure(stem="models", section=MODELS, turn=10, draw=draw)


def fitted(compared: pd.DataFrame) -> Figure | None:
    """Draw a pair of panels for each series of `models.curves.held_against_models`.

    Time over size, points measured and lines modelled; and model / measured with the band of 10 % and the band of the
    spread between launches.
    """
    series = list(compared.groupby("competitor", sort=False))
    if not series:
        return None
    looks = _looks_of_ranks(sorted(compared["ranks"].unique()))
    panel_rows = ceil(len(series) / COLUMNS)
    columns = ceil(len(series) / panel_rows)
    width = PANELS_WIDTH * (0.6 if columns == 1 else 1) + LEGEND_WIDTH
    figure = Figure(figsize=(width, panel_rows * (TIMES_HEIGHT + RESIDUALS_HEIGHT)), layout="constrained")
    heights = [TIMES_HEIGHT, RESIDUALS_HEIGHT] * panel_rows
    axes = figure.subplots(2 * panel_rows, columns, squeeze=False, sharex=True, height_ratios=heights)
    edge = _edge(compared["ratio"])
    for number in range(panel_rows * columns):
        above, below = axes[2 * (number // columns) : 2 * (number // columns) + 2, number % columns]
        if number >= len(series):
            above.set_visible(False)
            below.set_visible(False)
            continue
        name, rows = series[number]
        _draw_times(above, rows, looks)
        above.set_title(str(name).replace("$", r"\$"), fontsize=10)
        _draw_residuals(below, rows, looks, edge)
        size_axis(below, sorted(compared["size_bytes"].unique()))
        above.tick_params(labelsize=8.5)
        if number % columns == 0:
            above.set_ylabel("time")
            below.set_ylabel("model /\nmeasured")
        below.tick_params(labelbottom=True)
        below.set_xlabel("size of the vector")
    _legend(figure, looks)
    return figure


def _looks_of_ranks(ranks: list[int]) -> dict[int, dict]:
    """Colour and marker of each number of ranks, dark to light."""
    shades = colormaps["viridis"](np.linspace(0.0, 0.82, len(ranks)))
    return {
        count: {"color": shade, "marker": MARKERS[i % len(MARKERS)]}
        for i, (count, shade) in enumerate(zip(ranks, shades))
    }


def _draw_times(axes: Axes, rows: pd.DataFrame, looks: dict[int, dict]) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_minor_locator(few_minor_ticks())
    for ranks, group in rows.sort_values("size_bytes").groupby("ranks"):
        look = looks[int(str(ranks))]
        axes.plot(group["size_bytes"], group["time_s"] * 1e6, linestyle="none", markersize=4.5, **look)
        axes.plot(group["size_bytes"], group["model_s"] * 1e6, color=look["color"], linewidth=1.2)
    axes.yaxis.set_major_formatter(tick_formatter("us"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    _plain_axes(axes)


def _draw_residuals(axes: Axes, rows: pd.DataFrame, looks: dict[int, dict], edge: float) -> None:
    axes.axhspan(1 / BAND, BAND, color=BAND_COLOUR, linewidth=0, zorder=0)
    spread = pd.DataFrame(
        {
            "size_bytes": rows["size_bytes"],
            "low": rows["time_s"] / rows["spread_high_s"],
            "high": rows["time_s"] / rows["spread_low_s"],
        }
    )
    noise = spread.groupby("size_bytes").median().dropna()
    axes.fill_between(noise.index, noise["low"], noise["high"], color=NOISE_COLOUR, alpha=0.55, linewidth=0, zorder=1)
    axes.axhline(1, color="black", linewidth=0.9, zorder=2)
    for ranks, group in rows.sort_values("size_bytes").groupby("ranks"):
        look = looks[int(str(ranks))]
        axes.plot(group["size_bytes"], group["ratio"], linewidth=0.7, markersize=3.5, zorder=3, **look)
    axes.set_yscale("log")
    axes.set_ylim(1 / edge, edge)
    axes.yaxis.set_major_locator(
        FixedLocator(next((named for reach, named in RATIOS.items() if edge <= reach), FURTHER))
    )
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    _plain_axes(axes)


def _edge(ratios: pd.Series) -> float:
    """Return the range of the panels of residuals around 1, shared so that algorithms can be compared."""
    return float(max(1.35, 1.1 * np.exp(np.abs(np.log(ratios)).max())))


def _plain_axes(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(True, **GRID)
    axes.tick_params(labelsize=8.5)


def _legend(figure: Figure, looks: dict[int, dict]) -> None:
    handles: list = [
        Line2D([], [], markersize=5, linewidth=1.2, label=f"{ranks} ranks", **look) for ranks, look in looks.items()
    ]
    handles += [
        Line2D([], [], marker="o", linestyle="none", color="#555555", markersize=5, label="points: measured"),
        Line2D([], [], color="#555555", linewidth=1.2, label="lines above: model"),
        Patch(color=BAND_COLOUR, label="within 10 %"),
        Patch(color=NOISE_COLOUR, alpha=0.55, label="spread of launches"),
    ]
    figure.legend(handles=handles, loc="outside right upper", frameon=False, fontsize=8.5)
