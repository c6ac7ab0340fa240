"""Where the parts of the gallery's pictures stand, in pixels: maps of winners, and times over ranks.

Pictures are as wide as a phone, so that no letter is below 11 pixels there.
"""

from collections.abc import Callable, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from ...units import format_size, format_time
from .claims import Line
from .machines import WinnerMap

WIDTH = 350  # pixels: of a phone, without its margins
LEFT, TOP = 42, 6  # of a map: room for its numbers of ranks
ROW, LABELS = 22, 34  # height of a row, and of the sizes below
PLOT_LEFT, PLOT_RIGHT, PLOT_HEIGHT, PLOT_BOTTOM = 56, 328, 190, 202  # of a figure with lines
NAMED_RANKS = (2, 16, 128, 1024, 16384)


class Label(NamedTuple):
    """A text at a place."""

    x: float
    y: float
    text: str


class Cell(NamedTuple):
    """A field of a map."""

    x: float
    y: float
    width: float
    height: float
    winner: str
    text: str  # what a pointer is told


class MapChart(NamedTuple):
    """A map of winners: ranks down, sizes across."""

    width: int
    height: int
    cells: tuple[Cell, ...]
    labels: tuple[Label, ...]  # of the rows
    below: tuple[Label, ...]  # of the columns


class Curve(NamedTuple):
    """The line of one algorithm, as the points of an SVG polyline."""

    name: str
    points: str


class LineChart(NamedTuple):
    """Times over ranks at one size, both logarithmic."""

    title: str
    width: int
    height: int
    curves: tuple[Curve, ...]
    labels: tuple[Label, ...]  # of the times
    below: tuple[Label, ...]  # of the ranks


def map_chart(won: WinnerMap) -> MapChart:
    """Lay out a map of winners."""
    width = (WIDTH - LEFT) / len(won.sizes)
    bottom = TOP + ROW * len(won.ranks)
    cells = [
        Cell(LEFT + column * width, TOP + row * ROW, width, ROW, winner or "", _told(winner, ranks, nbytes))
        for row, (ranks, winners) in enumerate(zip(won.ranks, won.winners))
        for column, (nbytes, winner) in enumerate(zip(won.sizes, winners))
    ]
    labels = [Label(LEFT - 6, TOP + (row + 0.7) * ROW, str(ranks)) for row, ranks in enumerate(won.ranks)]
    below = [
        Label(LEFT + (column + 0.5) * width, bottom + 14, short_size(size)) for column, size in enumerate(won.sizes)
    ]
    return MapChart(WIDTH, bottom + LABELS, tuple(cells), tuple(labels), tuple(below))


def line_chart(title: str, lines: Sequence[Line]) -> LineChart:
    """Lay out the lines of one size."""
    times = [time_s for line in lines for time_s in line.times_s]
    lowest, highest = floor(log10(min(times))), ceil(log10(max(times)))
    ranks = sorted({number for line in lines for number in line.ranks})
    x = _scale(log10(ranks[0]), log10(ranks[-1]), PLOT_LEFT, PLOT_RIGHT)
    y = _scale(lowest, highest, PLOT_HEIGHT, 12)
    curves = [
        Curve(
            line.algorithm,
            " ".join(f"{x(number):.1f},{y(time_s):.1f}" for number, time_s in zip(line.ranks, line.times_s)),
        )
        for line in lines
    ]
    labels = [Label(PLOT_LEFT, y(10.0**power), _decade(power)) for power in range(lowest, highest + 1)]
    below = [Label(x(number), PLOT_BOTTOM, f"{number:,}") for number in NAMED_RANKS if ranks[0] <= number <= ranks[-1]]
    return LineChart(title, WIDTH, PLOT_BOTTOM + LABELS, tuple(curves), tuple(labels), tuple(below))


def codes(names: Sequence[str]) -> dict[str, str]:
    """Two letters or three for each name, to be told apart without colours: `rd` for recursive_doubling, `ri` for ring.

    The initials of several words, the beginning of one; where that is taken, with a number.
    """
    code_of: dict[str, str] = {}
    for name in names:
        words = [word for word in name.split("_") if word]
        code = "".join(word[0] for word in words) if len(words) > 1 else name[:2]
        number = 2
        while code in code_of.values():
            code = f"{code.rstrip('0123456789')}{number}"
            number += 1
        code_of[name] = code
    return code_of


def short_size(nbytes: int) -> str:
    """`32K` for 32 KiB: what stands below a narrow column."""
    number, unit = format_size(nbytes).split()
    return number + unit[0].replace("B", "")


def _told(winner: str | None, ranks: int, nbytes: int) -> str:
    return f"{winner or 'none'}: {ranks} ranks, {format_size(nbytes)}"


def _decade(power: int) -> str:
    """`10 us`, without the digits that a power of ten does not need."""
    number, unit = format_time(10.0**power).split()
    return f"{float(number):g} {unit}"


def _scale(low: float, high: float, start: float, stop: float) -> Callable[[float], float]:
    """From a value to pixels, where `low` and `high` are the logarithms of the values at `start` and `stop`."""
    return lambda value: start + (log10(value) - low) / ((high - low) or 1) * (stop - start)
