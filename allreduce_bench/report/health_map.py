"""The figure of a check of nodes: of each test what was measured, and beside it what nodes alone do not explain."""

import io
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from ..evaluation.node_health import Health
from ..evaluation.node_pairs import Judged
from ..runs.atomic_write import write_atomically

MOST_NAMED = 40  # nodes on an axis; of more only some are named
LEAST_RANGE = 0.26  # log2: the colours of residuals reach at least 20 % to either side
PANEL_INCHES, DPI = 4.2, 110


def health_figure(health: Health) -> Figure:
    """A row per test: times or rates from row to column (viridis), and the residuals of the polish (centred at 0)."""
    figure = Figure(figsize=(2 * PANEL_INCHES + 1.2, PANEL_INCHES * max(1, len(health.results))), layout="constrained")
    panels = figure.subplots(max(1, len(health.results)), 2, squeeze=False)
    for (left, right), result in zip(panels, health.results):
        order = sorted(range(len(result.table.nodes)), key=lambda node: result.table.nodes[node])
        _measured(figure, left, result, order)
        _residuals(figure, right, result, order)
    return figure


def _measured(figure: Figure, axes: Axes, result: Judged, order: list[int]) -> None:
    table = result.table
    signed = -table.either_way if table.is_rate else table.either_way
    values = np.exp(signed[np.ix_(order, order)]) * table.factor
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (1.0, 2.0)
    norm = LogNorm(low, max(high, low * 1.01))
    # bright is good: a high rate, a short time
    image = axes.imshow(values, cmap="viridis" if table.is_rate else "viridis_r", norm=norm, interpolation="nearest")
    bar = figure.colorbar(image, ax=axes, shrink=0.85, label=_unit(result))
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.set_ticks([float(tick) for tick in np.geomspace(norm.vmin or low, norm.vmax or high, 5)])
    axes.set_title(f"{table.name}, measured", fontsize=10)
    _name_nodes(axes, [table.nodes[node] for node in order])


def _residuals(figure: Figure, axes: Axes, result: Judged, order: list[int]) -> None:
    values = result.polished.residual[np.ix_(order, order)] / np.log(2)
    known = np.abs(values[~np.isnan(values)])
    reach = max(LEAST_RANGE, float(known.max()) if len(known) else 0.0)
    image = axes.imshow(values, cmap="RdBu_r", vmin=-reach, vmax=reach, interpolation="nearest")
    figure.colorbar(image, ax=axes, shrink=0.85, label="log2(time / what both nodes have with others)")
    axes.set_title(f"{result.table.name}, what nodes do not explain", fontsize=10)
    _name_nodes(axes, [result.table.nodes[node] for node in order], both=True)


def _unit(result: Judged) -> str:
    table = result.table
    kind = "rate" if table.is_rate else "time"
    return f"{kind} ({table.unit})"


def _name_nodes(axes: Axes, names: list[str], both: bool = False) -> None:
    """Missing pairs are grey. Names are no formulas."""
    step = -(-len(names) // MOST_NAMED)
    at = list(range(0, len(names), step))
    shown = [names[number].replace("$", r"\$") for number in at]
    axes.set_facecolor("#dddddd")
    axes.set_xticks(at, shown, rotation=90, fontsize=7)
    axes.set_yticks(at, shown, fontsize=7)
    axes.set_xlabel("node" if both else "to node")
    axes.set_ylabel("node" if both else "from node")


def write_health_figure(health: Health, folder: Path) -> list[Path]:
    """Write health.png and health.svg into the folder; their paths. Raises OSError."""
    figure, png, svg = health_figure(health), io.BytesIO(), io.BytesIO()
    figure.dpi = DPI
    with matplotlib.rc_context({"svg.hashsalt": "health"}):  # the same check yields the same file
        FigureCanvasAgg(figure).print_png(png, metadata={"Software": None})
        figure.set_layout_engine("none")  # it is laid out, which takes longest
        FigureCanvasSVG(figure).print_svg(svg, metadata={"Date": None, "Creator": None})
    paths = [folder / "health.png", folder / "health.svg"]
    for path, content in zip(paths, (png, svg)):
        write_atomically(path, content.getvalue())
    return paths
