"""The section of a page on lost ranks: the phases from the loss to the next right result, as a table and a figure.

It is read from what `survive --format json` printed.
"""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..report.figure import GRID, PANELS_WIDTH
from ..report.pictures import Picture, Sketch
from ..runs.files import read_given
from ..runs.rows import RunError
from ..runs.typed_json import Natural, NotNegative, read_as
from ..units import format_size, format_time, in_ranks, printable
from . import Failure
from .output import NONE, PHASES, reasons_of
from .ways import RESTART, ULFM

MOST_NBYTES = 16 * 2**20
STEM = "losses"  # of the names of the figure's files
INKS = ("#0072B2", "#56B4E9", "#009E73", "#F0E442", "#999999", "#D55E00", "#E69F00", "#CC79A7", "#222222")
COLOURS = dict(zip(PHASES, INKS, strict=True))
KIND = ("algorithm", "size_bytes", "way", "state")
FORMS = {"steps_lost": "g", "ratio": ".2f", "predicted_ratio": ".2f"}
NUMBERS = (*PHASES, "total_s", *FORMS)
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
    lines = _medians(found.outcomes)
    lost = ", ".join(one.words for one in found.failures)
    return {
        "lead": f"{found.library}, {in_ranks([found.ranks])}; lost: {lost}",
        "head": HEAD,
        "rows": [_row(line) for _, line in lines.iterrows()],
        "sentences": reasons_of(found.outcomes),
        "pictures": [Sketch(STEM, partial(_picture, lines, lost))],
    }


def _medians(outcomes: Sequence[Loss]) -> pd.DataFrame:
    """Return a row for each kind of outcome, with medians over its launches."""
    calls = pd.DataFrame([{**one._asdict(), **one.phases_s} for one in outcomes], columns=[*KIND, *NUMBERS])
    groups = calls.astype(dict.fromkeys(NUMBERS, float)).groupby([*KIND], sort=False)
    spread = groups["total_s"].agg(low_s="min", high_s="max", launches="size")
    return groups[[*NUMBERS]].median().join(spread).reset_index()


def _row(line: pd.Series) -> list[str]:
    spread = f" ({format_time(line.low_s)} to {format_time(line.high_s)})" if line.low_s < line.high_s else ""
    return [
        line.algorithm,
        format_size(line.size_bytes),
        line.way,
        *("" if pd.isna(line[name]) else format_time(line[name]) for name in PHASES),
        NONE if pd.isna(line.total_s) else f"{format_time(line.total_s)}{spread}",
        str(line.launches),
        *(NONE if pd.isna(line[name]) else format(line[name], form) for name, form in FORMS.items()),
        line.state,
    ]


def _picture(lines: pd.DataFrame, lost: str) -> Picture | str:
    """Draw bars of phases, a panel for each way: the ways differ by orders of magnitude."""
    drawn = lines.dropna(subset=[*PHASES], how="all")
    panels = {way: drawn[drawn.way == way] for way in (ULFM, RESTART) if way in {*drawn.way}}
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
    used = [name for name in PHASES if any(of[name].notna().any() for of in panels.values())]
    handles = [Patch(color=COLOURS[name]) for name in used]
    figure.legend(handles, used, loc="outside lower center", ncols=len(used), frameon=False, fontsize=8.5)
    caption = (
        f"Phases from the loss to the first right result of those left, medians over launches. Lost: {lost}. The two "
        "ways have axes of their own."
    )
    numbers = drawn.melt([*KIND, "launches"], [*PHASES], "phase", "time_s", ignore_index=False)
    return Picture(STEM, caption, figure, numbers.dropna().sort_index(kind="stable"))


def _draw_bars(axes: Axes, way: str, lines: pd.DataFrame) -> None:
    names = [_label(*one) for one in zip(lines.algorithm, lines.size_bytes)]
    ends_s = lines[[*PHASES]].fillna(0).cumsum(axis=1)
    factor, unit = (1.0, "s") if ends_s.iloc[:, -1].max() >= 1 else (1e3, "ms")
    for phase in PHASES:
        widths = factor * lines[phase].fillna(0)
        axes.barh(range(len(lines)), widths, left=factor * ends_s[phase] - widths, color=COLOURS[phase], height=0.7)
    axes.set_yticks(range(len(lines)), names, fontsize=8.5)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel(f"time since the loss, {unit}")
    titles = {ULFM: "by ULFM, in the same start", RESTART: "started again, from the last checkpoint"}
    axes.set_title(titles[way], fontsize=10)
    axes.grid(axis="x", **GRID)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _label(algorithm: str, size_bytes: int) -> str:
    """Return algorithm and size, which are no formula."""
    name = printable(algorithm)
    shown = name if len(name) <= LONGEST_NAME else f"…{name[-LONGEST_NAME:]}"  # of a path the file
    return f"{shown}, {format_size(size_bytes)}".replace("$", r"\$")
