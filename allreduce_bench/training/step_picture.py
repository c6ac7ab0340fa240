"""The time line of a training step as a PNG: computation above, the all-reduce of each bucket below."""

import io
from collections.abc import Iterable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..report.figure import COLOURS, GRID, NOTE
from ..units import format_size, format_time
from .time_line import Phase, TimeLine

WIDTH, PANEL_HEIGHT, HEAD_HEIGHT = 11.0, 1.7, 1.3  # inches
DPI = 120
FILLS = {"forward": "#9ecae1", "backward": COLOURS[0]}
SENT, EXPOSED, READY = COLOURS[1], COLOURS[5], "black"
LANES = {"computation": 1.0, "all-reduces": 0.0}
BAR = 0.62  # of a lane
LEAST_LABEL = 0.045  # of the width: narrower bars bear no words
LEAST_EDGED = 0.004  # of the width
LEAST_GAP = 0.001  # of the width: narrower ones between parts of a pass are not drawn
MOST_PANELS = 6
Span = tuple[float, float]  # beginning and length, in units of the axis


def step_picture(lines: Mapping[str, TimeLine]) -> bytes:
    """Return the PNG of steps by their titles, stacked on one axis of time; the last MOST_PANELS."""
    shown = dict([*lines.items()][-MOST_PANELS:])
    figure = Figure(figsize=(WIDTH, HEAD_HEIGHT + PANEL_HEIGHT * len(shown)), layout="constrained", dpi=DPI)
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    longest_s = max(line.step_s for line in shown.values())
    factor, unit = _unit(longest_s)
    panels[-1].set_xlim(0, 1.01 * longest_s * factor)
    for axes, (title, line) in zip(panels, shown.items()):
        _draw(axes, line, factor, longest_s * factor)
        told = f"step {format_time(line.step_s)}, exposed {format_time(line.exposed_s)}"
        axes.set_title(f"{title}: {told}", loc="left", fontsize=10)
    panels[-1].set_xlabel(f"time from the beginning of the step ({unit})")
    figure.legend(
        handles=_legend([*shown.values()]),
        loc="outside lower left",
        ncols=6,
        frameon=False,
        fontsize=9,
    )
    file = io.BytesIO()
    FigureCanvasAgg(figure).print_png(file, metadata={"Software": None})
    return file.getvalue()


def _unit(step_s: float) -> tuple[float, str]:
    """Return the factor on seconds, and the unit of the axis."""
    return next(((factor, unit) for factor, unit in ((1e6, "us"), (1e3, "ms")) if step_s * factor < 1e3), (1.0, "s"))


def _draw(axes: Axes, line: TimeLine, factor: float, end: float) -> None:
    """Draw the phases, the all-reduces and the readiness of their buckets."""
    bars: dict[tuple[float, str], list[Span]] = {}  # by lane and fill
    for phase in _drawn_phases(line, end / factor):
        span = (phase.start_s * factor, (phase.end_s - phase.start_s) * factor)
        bars.setdefault((LANES["computation"], FILLS[phase.kind]), []).append(span)
        _label(axes, phase.kind, span, LANES["computation"], end)
    computed = max(phase.end_s for phase in line.phases)  # then all-reduces begin to be exposed
    for number, transfer in enumerate(line.transfers):
        split = min(max(computed, transfer.start_s), transfer.end_s)
        for first, last, fill in ((transfer.start_s, split, SENT), (split, transfer.end_s, EXPOSED)):
            if last > first:
                bars.setdefault((LANES["all-reduces"], fill), []).append((first * factor, (last - first) * factor))
        whole = (transfer.start_s * factor, (transfer.end_s - transfer.start_s) * factor)
        _label(axes, f"{number}: {format_size(transfer.size_bytes)}", whole, LANES["all-reduces"], end)
    for (lane, fill), spans in bars.items():
        _bars(axes, spans, lane, fill)
    ready = [transfer.ready_s * factor for transfer in line.transfers]
    axes.plot(ready, [0.5] * len(ready), "v", color=READY, markersize=5, clip_on=False)
    axes.set_yticks([*LANES.values()], [*LANES])
    axes.set_ylim(-0.5, len(LANES) - 0.5)
    axes.grid(axis="x", **GRID)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _drawn_phases(line: TimeLine, end_s: float) -> Iterable[Phase]:
    """Return the phases, merged if of one kind and their gaps are invisible: the parts between ready gradients.

    `end_s` is the end of the axis.
    """
    drawn: list[Phase] = []
    for phase in line.phases:
        former = drawn[-1] if drawn else None
        if former and former.kind == phase.kind and phase.start_s - former.end_s < LEAST_GAP * end_s:
            drawn[-1] = former._replace(end_s=phase.end_s)
        else:
            drawn.append(phase)
    return drawn


def _bars(axes: Axes, spans: Sequence[Span], lane: float, fill: str) -> None:
    """Draw bars; a white edge separates neighbours, but would hide a bar as narrow as itself."""
    least = LEAST_EDGED * axes.get_xlim()[1]
    edges = ["white" if length > least else fill for _, length in spans]
    axes.broken_barh(spans, (lane - BAR / 2, BAR), facecolor=fill, edgecolor=edges, linewidth=0.7)


def _label(axes: Axes, words: str, span: Span, lane: float, end: float) -> None:
    start, length = span
    if length >= max(LEAST_LABEL, 0.009 * len(words)) * end:
        dark = words == "forward" or ":" in words
        colour = "black" if dark else "white"
        axes.text(start + length / 2, lane, words, ha="center", va="center", **{**NOTE, "color": colour})


def _legend(shown: Sequence[TimeLine]) -> list[Patch | Line2D]:
    kinds = dict.fromkeys(phase.kind for line in shown for phase in line.phases)
    marker = {"marker": "v", "color": READY, "linestyle": "none"}
    return [
        *(Patch(color=FILLS[kind], label=kind) for kind in kinds),
        Patch(color=SENT, label="all-reduce beside computation"),
        Patch(color=EXPOSED, label="exposed all-reduce"),
        Line2D([], [], label="gradients of a bucket are ready", **marker),  # type: ignore[arg-type]
    ]
