"""Figures for a paper: each panel in a file of its own, as wide as it is printed, with text as text.

A panel keeps its axes, its title and its looks. Its legend stands below it, all letters have one size, and names of
sizes that would run into each other are left out.
"""

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter

from ..runs.files import write_atomically
from .pictures import Picture

DPI = 300  # of PNG
LETTERS = 8  # points, as captions of papers have them
SHAPE, MOST_HEIGHT = 0.62, 3.2  # height of the axes over the width; inches
LINE, LETTER = LETTERS * 1.3 / 72, LETTERS * 0.55 / 72  # inches: height of a line, width of a letter
SAMPLE = 4 * LETTER + 0.3  # inches: of a line of the legend, beside its name
APART = 4  # pixels between names on an axis


class Paper(NamedTuple):
    """How figures are written for a paper."""

    format: str  # one of WRITERS
    width: float  # inches


def write_panels(picture: Picture, beside: Path, prefix: str, paper: Paper) -> None:
    """Write each panel of the picture into `beside`, as `<prefix><stem>-<title>.<format>`.

    The figure is of no use afterwards. One without titled panels, such as a map with its scale, is written as a whole.
    """
    figure, stem = picture.figure, f"{prefix}{picture.stem}"
    figure.set_layout_engine("constrained")
    _move_legend_below(figure, paper.width)
    for text in figure.findobj(Text):
        text.set_fontsize(LETTERS)  # type: ignore[attr-defined]
    panels = _panels(figure)
    if not panels:
        figure.set_size_inches(paper.width, paper.width * figure.get_figheight() / figure.get_figwidth())
        write_atomically(beside / f"{stem}.{paper.format}", _write_figure(figure, paper.format, stem))
    names: list[str] = []
    for panel in panels:
        _show_only(figure, panel, paper.width)
        names.append(re.sub(r"[^\w.+-]+", "_", panel[0].get_title()).strip("_"))
        name = names[-1] if names.count(names[-1]) == 1 else f"{names[-1]}-{names.count(names[-1])}"
        write_atomically(beside / f"{stem}-{name}.{paper.format}", _write_figure(figure, paper.format, stem))


def _move_legend_below(figure: Figure, width: float) -> None:
    """Move the legend below the axes, in as many columns as fit."""
    for legend in list(figure.legends):
        labels = [text.get_text().replace("\n", " ") for text in legend.get_texts()]
        columns = max(1, int(width / (SAMPLE + LETTER * max(map(len, labels), default=1))))
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
    named = {kind: _first_label(figure.axes, kind) for kind in ("xlabel", "ylabel")}
    shown = GridSpec(len(panel), 1, figure=figure, height_ratios=[2, 1][: len(panel)] if len(panel) == 2 else None)
    for axes in figure.axes:
        axes.set_visible(axes in panel)
    for number, axes in enumerate(panel):
        axes.set_subplotspec(shown[number])
        is_lowest = number == len(panel) - 1
        axes.tick_params(labelleft=True, labelbottom=is_lowest)
        axes.set_ylabel(axes.get_ylabel() or named["ylabel"], fontsize=LETTERS)
        axes.set_xlabel((axes.get_xlabel() or named["xlabel"]) if is_lowest else "", fontsize=LETTERS)
    lines = sum(-(-len(legend.get_texts()) // legend._ncols) for legend in figure.legends)  # type: ignore[attr-defined]
    height = min(MOST_HEIGHT, SHAPE * width) * (1 + 0.4 * (len(panel) - 1)) + LINE * lines
    figure.set_size_inches(width, height)
    figure.draw_without_rendering()
    for axes in panel:
        _leave_out_names(axes.xaxis)
        _hide_wide_words(axes)


def _first_label(every: Sequence[Axes], kind: str) -> str:
    return next(filter(None, (getattr(axes, f"get_{kind}")() for axes in every)), "")


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


def _svg(figure: Figure, into: io.BytesIO) -> None:
    FigureCanvasSVG(figure).print_svg(into, metadata={"Date": None, "Creator": None})


def _pdf(figure: Figure, into: io.BytesIO) -> None:
    from matplotlib.backends.backend_pdf import FigureCanvasPdf  # late: with all that embeds fonts

    FigureCanvasPdf(figure).print_pdf(into, metadata={"CreationDate": None, "Creator": None, "Producer": None})


def _png(figure: Figure, into: io.BytesIO) -> None:
    figure.dpi = DPI
    FigureCanvasAgg(figure).print_png(into, metadata={"Software": None})


WRITERS: dict[str, Callable[[Figure, io.BytesIO], None]] = {"pdf": _pdf, "svg": _svg, "png": _png}


def _write_figure(figure: Figure, kind: str, stem: str) -> bytes:
    """Return the file of a figure; letters stay letters that can be searched and edited."""
    into = io.BytesIO()
    with matplotlib.rc_context({"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": stem}):
        WRITERS[kind](figure, into)
    return into.getvalue()
