"""Time over the number of ranks at a few sizes: measured, modelled, and extrapolated by the models."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from ...models import curves as model_curves
from ...units import format_size
from ..figure import CELL, GRID, MODELS, Drawing, FigureData, ReportFigure, Style, draw_line, grid, legend, styles

BEYOND: Style = {"color": "#555555", "linestyle": (0, (4, 2)), "linewidth": 1.4}
CAPTION = (
    "Time against ranks at the smallest, the middle and the largest size. Points: measured; bars: lowest to"
    " highest launch median; lines: predictions, which begin at the points. Dashed: extrapolation beyond the measured"
    f" rank counts, up to {model_curves.REACH} times the largest, with the 90 % prediction interval by distance."
)


def draw(data: FigureData) -> Drawing | None:
    """Draw the panels of `over_ranks`."""
    curves = model_curves.over_ranks(data.models, some_sizes(data.frame))
    figure = over_ranks(data.frame, curves)
    if figure is None:
        return None
    return Drawing(figure, f"{CAPTION}", _with_measured(curves, data.frame))


SCALING = ReportFigure(stem="ranks", section=MODELS, turn=30, draw=draw)


def _with_measured(curves: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Return `curves` with the measured times at the same sizes, which may have no model."""
    sizes = some_sizes(frame)
    timed = frame.loc[frame["time_s"].notna() & frame["size_bytes"].isin(sizes) & (frame["ranks"] > 1)]
    columns = [*CELL, "time_s", "spread_low_s", "spread_high_s"]
    return curves.drop(columns="measured").merge(timed[columns], how="outer", on=CELL)


def some_sizes(rows: pd.DataFrame) -> list[int]:
    """Return the smallest, the middle and the largest size in bytes that were measured at two numbers of ranks or
    more.
    """
    timed = rows[rows["time_s"].notna() & (rows["size_bytes"] > 0) & (rows["ranks"] > 1)]
    rank_counts = timed.groupby("size_bytes")["ranks"].nunique()
    sizes = sorted(rank_counts.index[rank_counts > 1])
    return sorted({int(sizes[index]) for index in (0, len(sizes) // 2, -1)}) if sizes else []


def over_ranks(rows: pd.DataFrame, curves: pd.DataFrame) -> Figure | None:
    """Draw a panel for each of `some_sizes` of `rows` with `curves` of `models.curves.over_ranks` at these sizes.

    None if no size was measured at two numbers of ranks.
    """
    sizes, styled = some_sizes(rows), styles(rows["competitor"])
    if not sizes:
        return None
    timed = rows[rows["time_s"].notna() & (rows["ranks"] > 1)]
    figure, panels = grid(len(sizes), "time", logarithmic=True, shared=False)
    extended = [curves["ranks"].max()] if len(curves) else []
    ends = min(timed["ranks"]), max([*timed["ranks"], *extended])
    for axes, size_bytes in zip(panels, sizes):
        _draw_size(axes, timed[timed["size_bytes"] == size_bytes], curves[curves["size_bytes"] == size_bytes], styled)
        _name_ranks(axes, *ends)
        least_s, most_s = axes.get_ylim()
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if most_s < 1000 * least_s else (1,)))
        axes.set_title(format_size(size_bytes), fontsize=10)
    drawn = set(timed.loc[timed["size_bytes"].isin(sizes), "competitor"])
    shown: dict[str, Style] = {name: styled[name] for name in styled if name in drawn}
    if len(curves):
        shown["dashed: extrapolated;\nshaded: 90 % interval"] = BEYOND
    legend(figure, shown)
    return figure


def _draw_size(axes: Axes, rows: pd.DataFrame, curves: pd.DataFrame, styled: dict[str, Style]) -> None:
    """Draw one size: points with their spread, the models' lines, and the extrapolation."""
    rows = rows.sort_values("ranks")
    for name, group in rows.groupby(rows["competitor"], sort=False):
        style = styled[str(name)]
        curve = curves[curves["competitor"] == name]
        joined = {} if curve.empty else {"linestyle": "none"}  # without a model the points are joined
        low, high = group["spread_low_s"] * 1e6, group["spread_high_s"] * 1e6
        draw_line(axes, group["ranks"], group["time_s"] * 1e6, low, high, {**style, **joined})
        if curve.empty:
            continue
        most = curve.loc[curve["measured"], "ranks"].max()
        within, beyond = curve[curve["ranks"] <= most], curve[curve["ranks"] >= most]
        line = {"color": style["color"], "linewidth": 1.4, "zorder": style.get("zorder", 2)}
        axes.plot(within["ranks"], within["model_s"] * 1e6, **line)
        axes.plot(beyond["ranks"], beyond["model_s"] * 1e6, **{**BEYOND, **line})
        ends = beyond["low_s"] * 1e6, beyond["high_s"] * 1e6
        axes.fill_between(beyond["ranks"], *ends, color=style["color"], alpha=0.13, linewidth=0)


def _name_ranks(axes: Axes, least: int, most: int) -> None:
    """Label powers of two on a logarithmic axis."""
    powers = [1 << n for n in range(64) if least <= 1 << n <= most]
    axes.set_xscale("log", base=2)
    axes.set_xlim(least / 1.15, most * 1.15)
    axes.xaxis.set_major_locator(FixedLocator(powers[:: 1 + len(powers) // 10]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("ranks")
    axes.tick_params(labelsize=8.5)
    axes.grid(True, **GRID)
