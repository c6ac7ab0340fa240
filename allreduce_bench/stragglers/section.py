"""The section of a page on late ranks: the verdict, the suspects as a table, and a figure.

The figure has the skew over the steps, and a map of the lateness of each rank in each step.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from ..report.figure import GRID, NOTE, PANELS_WIDTH, Drawing
from ..report.pictures import Sketch
from ..runs.competitor import NATIVE
from ..runs.folder import RunFolder
from ..units import format_time
from .arrivals import Arrivals
from .run_arrivals import parts_of_run
from .sentences import TABLE_HEAD, JudgedArrivals, judge_arrivals, left_words, suspect_rows, verdict_sentences
from .slow_units import GROUP
from .verdict import StragglerReport

# The page
MOST_PARTS = 8  # of a run, such as numbers of ranks and patterns
FIGURE_STEM = "arrivals"  # of the names of its files

# The figure
MOST_ROWS, MOST_COLUMNS = 128, 400  # of the map: beyond, ranks and steps are binned
FIGURE_INCHES = 5.6  # its height
LATE_COLOURS = LinearSegmentedColormap.from_list("late", ["#ffffff", "#fde3a7", "#D55E00", "#5c1a00"])
UNKNOWN_COLOUR = "#d9d9d9"
DARKEST_PERCENTILE = 99  # of the lateness; the colour scale ends there


def straggler_section(folder: RunFolder) -> dict[str, Any]:
    """Return the page's values: `stragglers`, a part for each number of ranks and each pattern, and their pictures.

    `stragglers_first`: one algorithm was measured, so that lateness is the first question. Empty for a run that was
    measured without --compute and --arrival. Raises RunError.
    """
    parts = [judge_arrivals(*part) for part in parts_of_run(folder)[:MOST_PARTS]]
    stems = [_stem(number) for number in range(1, len(parts) + 1)]
    return {
        "stragglers_first": sum(name != NATIVE for name in folder.plan().algorithms) <= 1,
        "stragglers": [_part_values(part, stem) for part, stem in zip(parts, stems)],
        "straggler_pictures": [
            Sketch(stem, partial(draw_arrivals, part.arrivals, part.report)) for part, stem in zip(parts, stems)
        ],
    }


def _part_values(part: JudgedArrivals, stem: str) -> dict[str, Any]:
    lead, *rest = verdict_sentences(part)
    return {
        "what": part.what,
        "lead": lead,
        "sentences": rest,
        "head": TABLE_HEAD,
        "rows": suspect_rows(part),
        "left": left_words(part),
        "stem": stem,
    }


def _stem(number: int) -> str:
    return FIGURE_STEM if number == 1 else f"{FIGURE_STEM}_{number}"


def draw_arrivals(arrivals: Arrivals, report: StragglerReport) -> Drawing | None:
    """Draw skew over time above, the map of ranks and steps below; None if no step is known of two ranks."""
    late_s = lateness(arrivals)
    known = np.isfinite(late_s).sum(axis=1) > 1
    if not known.any():
        return None
    late_s = late_s[known]
    steps = np.flatnonzero(known)
    figure = Figure(figsize=(PANELS_WIDTH, FIGURE_INCHES), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 2))
    unit, factor = _unit(np.nanmax(late_s))
    _draw_skew(above, late_s, factor, unit)
    _draw_map(figure, below, late_s, report, factor, unit)
    return Drawing(figure, _caption(arrivals, late_s), _numbers(steps, late_s))


def lateness(arrivals: Arrivals) -> np.ndarray:
    """Return the lateness of each rank behind the earliest of its step, float64 [step, rank], seconds; NaN: not
    known.
    """
    with np.errstate(invalid="ignore"):
        return arrivals.ready_s - np.fmin.reduce(arrivals.ready_s, axis=1, keepdims=True)


def bin_lateness(late_s: np.ndarray, rows: int = MOST_ROWS, columns: int = MOST_COLUMNS) -> np.ndarray:
    """Return float64 [rank, step], neighbours binned equally: the median of steps, the maximum of ranks."""
    steps, ranks = (
        np.arange(count) // _piece_length(count, most) for count, most in zip(late_s.shape, (columns, rows))
    )
    return pd.DataFrame(late_s).groupby(steps).median().T.groupby(ranks).max().to_numpy()


def _piece_length(count: int, most: int) -> int:
    """Return the size of bins, at most `most` of them, all equal except the last one."""
    return -(-count // most)


def _unit(most_s: float) -> tuple[str, float]:
    return next(((u, f) for u, f in (("us", 1e6), ("ms", 1e3)) if most_s * f < 1000), ("s", 1.0))


def _draw_skew(axes, late_s: np.ndarray, factor: float, unit: str) -> None:
    skew = np.nanmax(late_s, axis=1) * factor
    axes.plot(np.arange(len(skew)) + 0.5, skew, color="#56B4E9", linewidth=0.6, label="each step")
    window = max(1, len(skew) // 20)
    if window > 2:
        medians = pd.Series(skew).rolling(window, center=True, min_periods=1).median()
        axes.plot(np.arange(len(skew)) + 0.5, medians, color="black", linewidth=1.6, label=f"median of {window} steps")
    axes.set_ylabel(f"skew in {unit}")
    axes.set_ylim(0, None)
    axes.grid(**GRID)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 0.98), ncols=2, frameon=False, fontsize=8.5)


def _draw_map(figure: Figure, axes, late_s: np.ndarray, report: StragglerReport, factor: float, unit: str) -> None:
    steps, ranks = late_s.shape
    shown = bin_lateness(late_s) * factor
    rows, columns = shown.shape
    colours = LATE_COLOURS.with_extremes(bad=UNKNOWN_COLOUR)
    most = max(np.nanpercentile(late_s, DARKEST_PERCENTILE) * factor, 1e-12)
    image = axes.imshow(
        np.ma.masked_invalid(shown),
        aspect="auto",
        cmap=colours,
        vmin=0,
        vmax=most,
        extent=(0, columns * _piece_length(steps, MOST_COLUMNS), rows * _piece_length(ranks, MOST_ROWS) - 0.5, -0.5),
        interpolation="nearest",
    )
    axes.set_xlim(0, steps)
    axes.set_ylim(ranks - 0.5, -0.5)
    axes.set_xlabel("step")
    axes.set_ylabel("rank")
    if ranks <= 32:
        axes.set_yticks(range(ranks))
    where = {"xycoords": ("axes fraction", "data"), "va": "center", "annotation_clip": False}
    for suspect in report.suspects:
        if suspect.kind == GROUP:
            axes.annotate("slow group", (1.005, float(np.median(suspect.ranks))), **where, **NOTE)
            continue
        for rank in suspect.ranks[:8]:
            axes.annotate(f"rank {rank}", (1.005, rank), **where, **NOTE)
    bar = figure.colorbar(image, ax=axes, pad=0.06, extend="max")
    bar.set_label(f"late behind the earliest rank in {unit}")


def _caption(arrivals: Arrivals, late_s: np.ndarray) -> str:
    steps, ranks = late_s.shape
    together = []
    if steps > MOST_COLUMNS:
        together.append("neighbouring steps show their median")
    if ranks > MOST_ROWS:
        together.append("neighbouring ranks show the latest of them")
    clock = (
        f" The clocks of the ranks agree to {format_time(arrivals.clock_error_s)}." if arrivals.clock_error_s else ""
    )
    return (
        (
            "Above: skew of each step, last minus first rank that is ready for the call. Below: how late each rank is "
            "behind the earliest of the step; the rank that the others wait for is dark, and grey is not known."
        )
        + (f" {'; '.join(together).capitalize()}." if together else "")
        + clock
    )


def _numbers(steps: np.ndarray, late_s: np.ndarray) -> pd.DataFrame:
    """Return the map as a frame: columns step, rank, late_s."""
    shown = bin_lateness(late_s)
    rows, columns = np.indices(shown.shape)
    first_rank = np.arange(0, late_s.shape[1], _piece_length(late_s.shape[1], MOST_ROWS))
    first_step = steps[:: _piece_length(len(steps), MOST_COLUMNS)]
    values = {"step": first_step[columns.ravel()], "rank": first_rank[rows.ravel()], "late_s": shown.ravel()}
    return pd.DataFrame(values)
