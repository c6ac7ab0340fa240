"""The figure of a check of nodes: for each test the measured values, and beside them the times over expected ones.

The expected time of a pair follows from the other pairs of both nodes; what is left is due to the link.
"""

import io
from math import ceil, floor, log10
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from ..runs.files import write_atomically
from .judgement import Health, JudgedTable
from .output import health_sentences
from .pair_folder import FIGURE

MOST_NAMED = 40  # nodes on an axis; of more only some
LEAST_REACH = 1.2  # the colours of residuals reach at least 20 % to either side
STEPS = (1.0, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # ticks of the times over expected ones
SUSPECT = "#d62728"
PANEL_INCHES, DPI = 4.2, 110


def health_figure(health: Health) -> Figure:
    """Draw a row per test: times or rates from row to column (viridis), and times over expected ones (centred at 1)."""
    figure = Figure(figsize=(2 * PANEL_INCHES + 1.2, PANEL_INCHES * max(1, len(health.results))), layout="constrained")
    figure.suptitle(plain(health_sentences(health)[0]), fontsize=11, wrap=True)
    panels = figure.subplots(max(1, len(health.results)), 2, squeeze=False)
    for (left, right), result in zip(panels, health.results):
        order = sorted(range(len(result.table.nodes)), key=lambda node: result.table.nodes[node])
        _draw_values(figure, left, result, order)
        _draw_ratios(figure, right, result, order)
        for axes in (left, right):
            _mark(axes, result, order)
    return figure


def _draw_values(figure: Figure, axes: Axes, result: JudgedTable, order: list[int]) -> None:
    table = result.table
    signed = -table.either_way if table.is_rate else table.either_way
    values = np.exp(signed[np.ix_(order, order)]) * table.factor
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (1.0, 2.0)
    norm = LogNorm(low, max(high, low * 1.01))
    # bright is good: a high rate, a short time
    image = axes.imshow(values, cmap="viridis" if table.is_rate else "viridis_r", norm=norm, interpolation="nearest")
    unit = f"{'rate' if table.is_rate else 'time'} ({table.unit}), log. colour scale"
    ticks = round_ticks(norm.vmin or low, norm.vmax or high)
    _add_bar(figure, axes, image, unit, ticks, [f"{tick:g}" for tick in ticks])
    axes.set_title(f"{table.name}, measured", fontsize=10)
    _name_nodes(axes, [table.nodes[node] for node in order])


def _draw_ratios(figure: Figure, axes: Axes, result: JudgedTable, order: list[int]) -> None:
    values = np.exp(result.polished.residual[np.ix_(order, order)])
    known = values[~np.isnan(values)]
    reach = max([LEAST_REACH, *np.maximum(known, 1 / known).tolist()])
    image = axes.imshow(values, cmap="RdBu_r", norm=LogNorm(1 / reach, reach), interpolation="nearest")
    steps = [step for step in STEPS if step <= reach * 1.001][-2:]
    ticks = sorted({1.0, *steps, *(1 / step for step in steps)})
    words = [f"{tick:.2f}" if tick < 20 else f"{tick:.0f}" for tick in ticks]
    _add_bar(figure, axes, image, "times the expected time, log. colour scale", ticks, words)
    axes.set_title(f"{result.table.name}, of the link alone", fontsize=10)
    _name_nodes(axes, [result.table.nodes[node] for node in order], both=True)


def round_ticks(low: float, high: float) -> list[float]:
    """Return three or more round numbers between the two, in even steps if these are close."""
    if high / low > 6:
        powers = range(floor(log10(low)), ceil(log10(high)) + 1)
        ticks = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
        step = 1 if high / low < 1000 else 3
        return [tick for tick in ticks if low <= tick <= high][::step]
    return [
        float(f"{tick:.6g}")
        for tick in MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high)
        if low <= tick <= high
    ]


def _add_bar(figure: Figure, axes: Axes, image: AxesImage, label: str, ticks: list[float], words: list[str]) -> None:
    """Add the colour bar with exactly these ticks: a logarithmic scale would add its own."""
    bar = figure.colorbar(image, ax=axes, shrink=0.85, label=label)
    bar.set_ticks(ticks, labels=words)
    bar.minorticks_off()


def _mark(axes: Axes, result: JudgedTable, order: list[int]) -> None:
    """Frame the suspects, and label a test that is not judged."""
    at = {node: place for place, node in enumerate(order)}
    last = len(order) - 0.5
    for node in result.slow_nodes:
        for corner, width, height in (((-0.5, at[node] - 0.5), last + 0.5, 1), ((at[node] - 0.5, -0.5), 1, last + 0.5)):
            axes.add_patch(Rectangle(corner, width, height, fill=False, edgecolor=SUSPECT, linewidth=2, clip_on=False))
    for one, other in result.slow_links:
        for row, column in ((one, other), (other, one)):
            corner = (at[column] - 0.5, at[row] - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=SUSPECT, linewidth=2, clip_on=False))
    names = {plain(result.table.nodes[node]) for node in (*result.slow_nodes, *result.group)}
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        if label.get_text() in names:
            label.set(color=SUSPECT, fontweight="bold")
    if not result.is_judged:
        axes.text(
            *(0.5, 0.5, "not judged"),
            transform=axes.transAxes,
            ha="center",
            va="center",
            bbox={"facecolor": "white", "edgecolor": "#666666", "alpha": 0.9},
        )


def plain(text: str) -> str:
    """Escape names, which are no formulas."""
    return text.replace("$", r"\$")


def _name_nodes(axes: Axes, names: list[str], both: bool = False) -> None:
    """Label the axes with names of nodes; missing pairs are grey."""
    step = -(-len(names) // MOST_NAMED)
    at = list(range(0, len(names), step))
    shown = [plain(names[number]) for number in at]
    axes.set_facecolor("#dddddd")
    axes.set_xticks(at, shown, rotation=90, fontsize=7)
    axes.set_yticks(at, shown, fontsize=7)
    axes.set_xlabel("node" if both else "to node")
    axes.set_ylabel("node" if both else "from node")


def write_health_figure(health: Health, folder: Path) -> Path:
    """Write health.png into the folder; return its path. Raises OSError."""
    figure, png, path = health_figure(health), io.BytesIO(), folder / FIGURE
    figure.savefig(png, format="png", dpi=DPI)
    write_atomically(path, png.getvalue())
    return path
