"""The figures of a run, the caption about their measurement, and their files: CSV, and if asked PNG and SVG.

Drawing takes longest of all that makes a page; so a figure is drawn when the page calls for it, by any process.
"""

import io
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from ..evaluation.summary_row import SummaryRow
from ..models.model import Model
from ..runs.files import write_atomically
from ..runs.schema import split_values
from ..units import in_ranks
from ..web import data_address
from .figure import MODELS, RUNS, TIMES, Drawing, FigureData
from .figures import report_figures
from .grid import interval_words
from .how_measured import range_words
from .live_chart import NO_SWITCHES, Switches, chart_json

PNG_DPI = 120
PIXELS_PER_INCH = 94  # of a page: letters of 8.5 points, the smallest, are 11 pixels high


class Sketch(NamedTuple):
    """A figure to be drawn."""

    stem: str  # of its files
    draw: Callable[[], Drawing | None]  # None: there is nothing to draw


def measured_caption(rows: Sequence[SummaryRow], attempts: Sequence[dict]) -> str:
    """Return one sentence on how the times in a figure were measured."""
    done = [row for row in rows if row["time_s"] is not None]
    if not done:
        return ""
    starts, definitions = _starts_and_definitions(done)
    launches = range_words(int(row["launches"]) for row in done)
    calls = range_words(round(row["repetitions"] / row["launches"]) for row in done)
    plural = "" if launches == "1" else "es"
    summary = f"median over launches; {launches} launch{plural}"
    if starts:  # our own calls; other tools give their mean or median only
        summary = f"median over calls, then over launches; {launches} launches × {calls} calls per cell"
    without = ["too few calls for an interval"] if any(row["interval"] == "range" for row in done) else []
    nodes = ", ".join(map(str, sorted({nodes for row in done if (nodes := row.get("nodes"))})))
    ranks_and_nodes = in_ranks(row["ranks"] for row in done) + (f", nodes: {nodes}" if nodes else "")
    libraries = dict.fromkeys(library for fact in attempts if (library := fact.get("mpi", {}).get("library")))
    times = f"Times: {', '.join(definitions) or 'timing method unknown'}"
    return (
        "; ".join(
            filter(None, [times, summary, *interval_words(done), *without, ranks_and_nodes, ", ".join(libraries)])
        )
        + "."
    )


def _starts_and_definitions(done: Sequence[SummaryRow]) -> tuple[list[str], list[str]]:
    """Return the common starts of our own times, and the definitions of all times for a caption."""
    starts = sorted({start for row in done for start in split_values(row.get("start"))})
    own = [f"maximum over ranks from a common start ({', '.join(starts)})"] if starts else []
    others = [definition for row in done if not row.get("start") for definition in split_values(row["time_definition"])]
    return starts, own + sorted(set(others))


def time_pictures(
    frame: pd.DataFrame,
    models: Sequence[Model],
    switches: Switches = NO_SWITCHES,
) -> list[Sketch]:
    """Return the figures of the measurements; the models give the bounds, `switches` the crossovers by ranks."""
    if not (frame["time_s"].notna() & (frame["size_bytes"] > 0)).any():
        return []
    return _pictures(TIMES, FigureData(frame, models, switches))


def run_pictures(frame: pd.DataFrame) -> list[Sketch]:
    """Return the figures of several runs overlaid, from a frame of `page.common_frame`."""
    return _pictures(RUNS, FigureData(frame, []))


def model_pictures(frame: pd.DataFrame, models: Sequence[Model]) -> list[Sketch]:
    """Return the figures of the models of a run."""
    return _pictures(MODELS, FigureData(frame, models))


def _pictures(section: str, data: FigureData) -> list[Sketch]:
    return [Sketch(figure.stem, partial(figure.draw, data)) for figure in report_figures(section)]


def write_pictures(
    drawing: Drawing, stem: str, beside: Path, prefix: str = "", as_files: bool = False
) -> dict[str, Any]:
    """Write the numbers of a figure as CSV into `beside`, `as_files` also PNG and SVG; return what the page needs.

    That is its caption, the SVG as a data: URI and its width and height in the page, the names of its files, and
    its chart for the script: see `live_chart.chart_json`; None: nothing.
    """
    figure = drawing.figure
    svg = _drop_blanks(write_figure(figure, "svg", stem))  # letters as text take a third of the bytes of their outlines
    figure.set_layout_engine("none")  # the layout stays: it takes longest
    numbers = drawing.numbers.to_csv(index=False, float_format="%.9g").encode()
    files = ({"png": write_figure(figure, "png", stem), "svg": svg} if as_files else {}) | {"csv": numbers}
    paths = {kind: beside / f"{prefix}{stem}.{kind}" for kind in files}
    for kind, path in paths.items():
        write_atomically(path, files[kind])
    data, csv_data = data_address("image/svg+xml", svg), data_address("text/csv", numbers)
    width, height = (round(PIXELS_PER_INCH * inches) for inches in figure.get_size_inches())
    return {
        **{"caption": drawing.caption, "data": data, "stem": stem, "width": width, "height": height},
        "files": [f"{beside.name}/{path.name}" for path in paths.values()],
        "csv_data": csv_data,
        "live": chart_json(drawing.live) if drawing.live else None,
    }


def write_figure(figure: Figure, kind: str, salt: str, dpi: int = PNG_DPI) -> bytes:
    """Return the file of a figure, one of KINDS; the same run yields the same file, and letters stay letters."""
    into = io.BytesIO()
    figure.dpi = dpi
    with matplotlib.rc_context({"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": salt}):
        KINDS[kind](figure, into)
    return into.getvalue()


def _write_pdf(figure: Figure, into: io.BytesIO) -> None:
    from matplotlib.backends.backend_pdf import FigureCanvasPdf  # late: with all that embeds fonts

    FigureCanvasPdf(figure).print_pdf(into, metadata={"CreationDate": None, "Creator": None, "Producer": None})


KINDS: dict[str, Callable[[Figure, io.BytesIO], object]] = {
    "pdf": _write_pdf,
    "svg": lambda figure, into: FigureCanvasSVG(figure).print_svg(into, metadata={"Date": None, "Creator": None}),
    "png": lambda figure, into: FigureCanvasAgg(figure).print_png(into, metadata={"Software": None}),
}


def _drop_blanks(svg: bytes) -> bytes:
    """Return the picture without blanks between its elements, and its places in tenths of a point."""
    for found, instead in ((rb"(\d\.\d)\d{4,}", rb"\1"), (rb">\s+<", b"><"), (rb"\s*\n\s*", b" ")):
        svg = re.sub(found, instead, svg)
    return svg
