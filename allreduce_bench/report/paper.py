"""Figures for a paper: each panel in a file of its own, as wide as it is printed, with text as text.

A panel keeps its axes, its title and its looks. Its legend stands below it, all letters have one size, and names of
sizes that would run into each other are left out.
"""

import re
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter

from ..runs.files import write_atomically
from .figure import Drawing
from .pictures import write_figure

DPI = 300  # of PNG
LETTERS = 8  # points, as captions of papers have them
SHAPE, LEAST_HEIGHT, MOST_HEIGHT = 0.62, 1.4, 3.2  # height of the axes over the width; inches
LETTER = LETTERS * 0.55 / 72  # inches: width of a letter
SAMPLE = 4 * LETTER + 0.3  # inches: of a line of the legend, beside its name
APART = 4  # pixels between names on an axis


class PaperError(ValueError):
    """Error: a figure cannot be drawn so narrow."""


class Paper(NamedTuple):
    """How figures are written for a paper."""

    format: str  # one of `pictures.KINDS`
    width: float  # inches


def write_panels(drawing: Drawing, stem: str, beside: Path, paper: Paper) -> None:
    """Write each panel of a figure into `beside`, as `<stem>-<title>.<format>`.

    The figure is of no use afterwards. One without titled panels, such as a map with its scale, is written as a whole.
    """
    figure = drawing.figure
    figure.set_layout_engine("constrained")
    _move_legend_below(figure, paper.width)
    _share_labels(figure)
    for text in figure.findobj(Text):
        text.set_fontsize(LETTERS)  # type: ignore[attr-defined]
    panels = _panels(figure)
    if not panels:
        figure.set_size_inches(paper.width, paper.width * figure.get_figheight() / figure.get_figwidth())
        write_atomically(beside / f"{stem}.{paper.format}", write_figure(figure, paper.format, stem, DPI))
    names: list[str] = []
    for panel in panels:
        _show_only(figure, panel, paper.width)
        _refuse_wide_legend(figure, stem)
        names.append(re.sub(r"[^\w.+-]+", "_", panel[0].get_title()).strip("_"))
        name = names[-1] if names.count(names[-1]) == 1 else f"{names[-1]}-{names.count(names[-1])}"
        write_atomically(beside / f"{stem}-{name}.{paper.format}", write_figure(figure, paper.format, stem, DPI))


def _move_legend_below(figure: Figure, width: float) -> None:
    """Move the legend below the axes, in as many columns as fit; names are broken where one does not fit."""
    for legend in list(figure.legends):
        broken = [text.get_text() for text in legend.get_texts()]
        whole = [label.replace("\n", " ") for label in broken]
        columns = int(width / (SAMPLE + LETTER * max(map(len, whole), default=1)))
        labels, columns = (whole, columns) if columns else (broken, 1)
        handles = [handle for handle in legend.legend_handles if handle is not None]
        legend.remove()
        columns = min(columns, len(labels))
        figure.legend(handles, labels, loc="outside lower center", frameon=False, ncols=columns)


def _panels(figure: Figure) -> list[list[Axes]]:
    """Return the axes of each panel from top to bottom: one with a title, and those without one below it."""
    panels: list[list[Axes]] = []
    for axes in figure.axes:
        place = axes.get_subplotspec()
        if not axes.get_visible() or place is None:
            continue
        above = next((panel for panel in reversed(panels) if _column(panel[0]) == place.colspan), None)
        if axes.get_title():
            panels.append([axes])
        elif above:
            above.append(axes)
    return panels


def _column(axes: Axes) -> range | None:
    place = axes.get_subplotspec()
    return None if place is None else place.colspan


def _show_only(figure: Figure, panel: Sequence[Axes], width: float) -> None:
    """Show this panel alone, with the labels that it shared with others."""
    shown = GridSpec(len(panel), 1, figure=figure, height_ratios=[2, 1][: len(panel)] if len(panel) == 2 else None)
    for axes in figure.axes:
        axes.set_visible(axes in panel)
    for number, axes in enumerate(panel):
        axes.set_subplotspec(shown[number])
        is_lowest = number == len(panel) - 1
        axes.tick_params(labelleft=True, labelbottom=is_lowest)
        axes.xaxis.label.set_visible(is_lowest)
    height = max(LEAST_HEIGHT, min(MOST_HEIGHT, SHAPE * width)) * (1 + 0.4 * (len(panel) - 1))
    figure.set_size_inches(width, height + sum(_legend_inches(legend)[1] for legend in figure.legends))
    figure.draw_without_rendering()
    for axes in panel:
        _leave_out_names(axes.xaxis)
        _hide_wide_words(axes)


def _legend_inches(legend: Legend) -> tuple[float, float]:
    """Return the width and the height of a legend."""
    extent = legend.get_window_extent()
    return extent.width / legend.figure.dpi, extent.height / legend.figure.dpi


def _refuse_wide_legend(figure: Figure, stem: str) -> None:
    """Raise PaperError for a legend that is wider than the figure."""
    needed = max((_legend_inches(legend)[0] for legend in figure.legends), default=0.0)
    if needed > figure.get_figwidth():
        asked, least = (25.4 * inches for inches in (figure.get_figwidth(), needed))
        raise PaperError(f"--width {asked:.0f}mm: the legend of {stem} is wider; expected at least {ceil(least)}mm")


def _share_labels(figure: Figure) -> None:
    """Label all axes: y as others in the same row, x as the first that has a label."""
    row_of = {axes: place.rowspan for axes in figure.axes if (place := axes.get_subplotspec())}
    labels = {row_of[axes]: axes.get_ylabel() for axes in row_of if axes.get_ylabel()}
    xlabel = next(filter(None, (axes.get_xlabel() for axes in row_of)), "")
    for axes, row in row_of.items():
        axes.set_ylabel(axes.get_ylabel() or labels.get(row, ""))
        axes.set_xlabel(axes.get_xlabel() or xlabel)


def _leave_out_names(axis: Axis) -> None:
    """Name every second place of an axis, or fewer, until no name runs into the next one."""
    places, names = list(axis.get_majorticklocs()), [label.get_text() for label in axis.get_majorticklabels()]
    extents = [label.get_window_extent() for label in axis.get_majorticklabels()]
    if not isinstance(axis.get_major_locator(), FixedLocator) or len(places) != len(names):
        return
    every = 1
    while any(
        one.x1 + APART > other.x0 and name and beside
        for (one, name), (other, beside) in zip(
            list(zip(extents, names))[::every], list(zip(extents, names))[every::every]
        )
    ):
        every += 1
    name_of = dict(zip(places, names))
    axis.set_major_locator(FixedLocator(places[::every]))
    axis.set_major_formatter(FuncFormatter(lambda place, _: name_of.get(place, "")))


def _hide_wide_words(axes: Axes) -> None:
    """Hide the words of a map that are wider than their cells."""
    cell = abs(axes.transData.transform((1, 0))[0] - axes.transData.transform((0, 0))[0])
    if axes.patches and axes.get_xscale() == "linear":
        for text in axes.texts:
            text.set_visible(text.get_window_extent().width < cell)
