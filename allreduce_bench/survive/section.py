"""The section of a page on lost ranks: the phases from the loss to the next right result, as a table and a figure.

It is read from what `survive --format json` printed.
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..medians import median
from ..report.figure import GRID, PANELS_WIDTH
from ..report.pictures import Picture, Sketch
from ..runs.files import read_given
from ..runs.rows import RunError
from ..runs.typed_json import Natural, NotNegative, read_as
from ..units import format_size, format_time, in_ranks, printable
from . import Failure
from .output import NONE, PHASES, Group, format_known, group_outcomes, middle, reasons_of
from .ways import RESTART, ULFM

MOST_NBYTES = 16 * 2**20
STEM = "losses"  # of the names of the figure's files
INKS = ("#0072B2", "#56B4E9", "#009E73", "#F0E442", "#999999", "#D55E00", "#E69F00", "#CC79A7", "#222222")
COLOURS = dict(zip(PHASES, INKS, strict=True))
HEAD = ("algorithm", "size", "way", *PHASES, "total", "launches", "steps lost", "after/before", "predicted", "ended")
BAR_INCHES, LEAST_INCHES = 0.32, 2.2
MOST_BARS, LONGEST_NAME = 60, 40  # more would fill pages, and longer ones leave no room for bars


class Loss(NamedTuple):
    """An outcome of `survive`."""

    algorithm: str
    size_bytes: Natural
    way: str
    state: str
    reason: str
    phases_s: dict[str, NotNegative]
    total_s: NotNegative | None
    ranks_left: Natural | None
    steps_lost: Natural | None
    ratio: NotNegative | None
    predicted_ratio: NotNegative | None


class Losses(NamedTuple):
    """What `survive --format json` printed, as far as the page shows it."""

    library: str
    ranks: Natural
    failures: tuple[Failure, ...]
    outcomes: tuple[Loss, ...]


class Line(NamedTuple):
    """Outcomes of the same kind: medians over launches."""

    algorithm: str
    size_bytes: int
    way: str
    state: str
    launches: int
    phases_s: Mapping[str, float]
    totals_s: tuple[float, ...]
    steps_lost: float | None
    ratio: float | None
    predicted_ratio: float | None


def read_losses(path: Path) -> Losses:
    """Return what a file holds. Raises RunError."""
    try:
        return read_as(Losses, json.loads(read_given(path, MOST_NBYTES)))
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}; expected what survive --format json printed") from error
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path}: {error}; expected what survive --format json printed") from error


def losses_section(path: Path) -> dict[str, Any]:
    """Return the page's values: a lead, the table, sentences on what failed, and the figure. Raises RunError."""
    found = read_losses(path)
    lines = [_line(key, of) for key, of in group_outcomes(found.outcomes).items()]
    lost = ", ".join(one.words for one in found.failures)
    return {
        "lead": f"{found.library}, {in_ranks([found.ranks])}; lost: {lost}",
        "head": HEAD,
        "rows": [_row(line) for line in lines],
        "sentences": reasons_of(found.outcomes),
        "pictures": [Sketch(STEM, partial(_picture, lines, lost))],
    }


def _line(key: Group, of: Sequence[Loss]) -> Line:
    phases = {name: middle(one.phases_s.get(name) for one in of) for name in PHASES}
    return Line(
        *key,
        len(of),
        {name: value for name, value in phases.items() if value is not None},
        tuple(sorted(one.total_s for one in of if one.total_s is not None)),
        middle(one.steps_lost for one in of),
        middle(one.ratio for one in of),
        middle(one.predicted_ratio for one in of),
    )


def _row(line: Line) -> list[str]:
    totals_s = line.totals_s
    spread = f" ({format_time(totals_s[0])} to {format_time(totals_s[-1])})" if len(totals_s) > 1 else ""
    return [
        line.algorithm,
        format_size(line.size_bytes),
        line.way,
        *(format_time(line.phases_s[name]) if name in line.phases_s else "" for name in PHASES),
        f"{format_time(median(totals_s))}{spread}" if totals_s else NONE,
        str(line.launches),
        format_known(line.steps_lost, "g"),
        format_known(line.ratio, ".2f"),
        format_known(line.predicted_ratio, ".2f"),
        line.state,
    ]


def _picture(lines: Sequence[Line], lost: str) -> Picture | str:
    """Draw bars of phases, a panel for each way: the ways differ by orders of magnitude."""
    panels = {way: [line for line in lines if line.way == way and line.phases_s] for way in (ULFM, RESTART)}
    panels = {way: of for way, of in panels.items() if of}
    if not panels:
        return "no way was gone to its end"
    if (most := max(map(len, panels.values()))) > MOST_BARS:
        return (
            f"{most} algorithms and sizes of a way are too many for a figure, which has at most {MOST_BARS}; the "
            "table below has all"
        )
    height = LEAST_INCHES + BAR_INCHES * most
    figure = Figure(figsize=(PANELS_WIDTH, height), layout="constrained")
    for axes, (way, of) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items()):
        _draw_bars(axes, way, of)
    used = [name for name in PHASES if any(name in line.phases_s for of in panels.values() for line in of)]
    handles = [Patch(color=COLOURS[name]) for name in used]
    figure.legend(handles, used, loc="outside lower center", ncols=len(used), frameon=False, fontsize=8.5)
    return Picture(
        STEM,
        (
            f"Phases from the loss to the first right result of those left, medians over launches. Lost: {lost}. The "
            "two ways have axes of their own."
        ),
        figure,
        _numbers(lines),
    )


def _draw_bars(axes: Axes, way: str, lines: Sequence[Line]) -> None:
    names = [_label(line) for line in lines]
    factor, unit = (1.0, "s") if max(sum(line.phases_s.values()) for line in lines) >= 1 else (1e3, "ms")
    for place, line in enumerate(lines):
        begin = 0.0
        for phase in PHASES:
            width = factor * line.phases_s.get(phase, 0.0)
            axes.barh(place, width, left=begin, color=COLOURS[phase], height=0.7)
            begin += width
    axes.set_yticks(range(len(lines)), names, fontsize=8.5)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel(f"time since the loss, {unit}")
    titles = {ULFM: "by ULFM, in the same start", RESTART: "started again, from the last checkpoint"}
    axes.set_title(titles[way], fontsize=10)
    axes.grid(axis="x", **GRID)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _label(line: Line) -> str:
    """Return algorithm and size, which are no formula."""
    name = printable(line.algorithm)
    shown = name if len(name) <= LONGEST_NAME else f"…{name[-LONGEST_NAME:]}"  # of a path the file
    return f"{shown}, {format_size(line.size_bytes)}".replace("$", r"\$")


def _numbers(lines: Sequence[Line]) -> pd.DataFrame:
    """Return a row for each phase of each line."""
    return pd.DataFrame(
        [
            {**line._asdict(), "phase": phase, "time_s": time_s}
            for line in lines
            for phase, time_s in line.phases_s.items()
        ],
        columns=["algorithm", "size_bytes", "way", "state", "launches", "phase", "time_s"],
    )
