"""Charts of the gallery, laid out in pixels: maps of winners, and times over ranks.

Maps show three example machines and the fastest algorithm by the declared costs: predictions, not measurements. Charts
are as wide as a phone, so that no letter is below 11 pixels there.
"""

from collections.abc import Callable, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from ...models.crossings import winner_map
from ...models.machine import Prices, bare_machine
from ...models.prediction import BEST, Layout, competing_models
from ...units import format_rate, format_size, format_time
from .facts import PredictedTimes

# Ranges of the maps
MAP_SIZES = tuple(8 << power for power in range(0, 28, 3))  # 8 B to 1 GiB
MAP_RANKS = tuple(sorted([1 << power for power in range(1, 9)] + [3 << power for power in range(8)]))  # 2 to 384

# Layout of maps in pixels: width, left and top margin, height of a row, and of the size labels below
CHART_WIDTH = 350  # of a phone, without its margins; also of line charts
MAP_LEFT, MAP_TOP = 42, 6
MAP_ROW, MAP_LABELS = 22, 34

# Line charts
PLOT_LEFT, PLOT_RIGHT, PLOT_HEIGHT, PLOT_BOTTOM = 56, 328, 190, 202  # pixels
NAMED_RANKS = (2, 16, 128, 1024, 16384)  # below the axis


class ExampleMachine(NamedTuple):
    """Prices of a kind of machine, rounded and typical of it."""

    title: str
    between: Prices
    ranks: tuple[int, ...]
    ranks_per_node: int | None = None
    within: Prices | None = None

    @property
    def prices_text(self) -> str:
        """Return its prices in familiar units: `a message 5.00 us, 100 Gbit/s`."""
        text = f"a message {format_time(self.between.alpha_s)}, {format_rate(1 / self.between.beta_s_per_byte)}"
        if self.within is None:
            return text
        inside = f"a message {format_time(self.within.alpha_s)}, {format_rate(1 / self.within.beta_s_per_byte)}"
        return (
            f"between nodes, whose ranks share the port: {text}; within a node of {self.ranks_per_node} ranks: {inside}"
        )


class WinnerMap(NamedTuple):
    """Fastest algorithms on an example machine: `winners[row][column]` at `ranks[row]` and `sizes[column]`."""

    machine: ExampleMachine
    ranks: tuple[int, ...]
    sizes: tuple[int, ...]  # bytes
    winners: tuple[tuple[str | None, ...], ...]

    def cells_of(self, algorithm: str) -> int:
        """Return the number of cells in which `algorithm` is the fastest."""
        return sum(row.count(algorithm) for row in self.winners)


def _gbit(rate: float) -> float:
    """Return seconds per byte at `rate` Gbit/s."""
    return 8 / (rate * 1e9)


MACHINES = (
    ExampleMachine("one server, ranks in shared memory", Prices(0.5e-6, _gbit(80)), MAP_RANKS[:12]),
    ExampleMachine("servers on Ethernet, one rank each", Prices(30e-6, _gbit(10)), MAP_RANKS),
    ExampleMachine(
        "a cluster of nodes with eight ranks each",
        Prices(5e-6, _gbit(100)),
        tuple(8 * nodes for nodes in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)),
        ranks_per_node=8,
        within=Prices(1e-6, _gbit(400)),
    ),
)


def winners_on(machine: ExampleMachine, sizes: Sequence[int] = MAP_SIZES) -> WinnerMap:
    """Return the fastest built-in algorithm at each of the ranks of `machine` and of `sizes` (bytes).

    Trees use the segment with which they are fastest.
    """
    bare = bare_machine(*machine.between, within=machine.within)
    port = 1 / machine.between.beta_s_per_byte if machine.ranks_per_node else None
    (group,) = competing_models(bare, layout=Layout(machine.ranks_per_node, BEST, nic_bytes_per_s=port))
    winners = winner_map(group, machine.ranks, sizes)
    return WinnerMap(machine, machine.ranks, tuple(sizes), tuple(map(tuple, winners)))


class Label(NamedTuple):
    """Text at a position."""

    x: float
    y: float
    text: str


class Cell(NamedTuple):
    """Cell of a map."""

    x: float
    y: float
    width: float
    height: float
    winner: str
    text: str  # tooltip


class MapChart(NamedTuple):
    """Map of winners: ranks down, sizes across."""

    width: int
    height: int
    cells: tuple[Cell, ...]
    labels: tuple[Label, ...]  # of the rows
    below: tuple[Label, ...]  # of the columns


class Curve(NamedTuple):
    """Line of one algorithm, as the points of an SVG polyline."""

    name: str
    points: str


class LineChart(NamedTuple):
    """Times over ranks at one size, on logarithmic axes."""

    title: str
    width: int
    height: int
    curves: tuple[Curve, ...]
    labels: tuple[Label, ...]  # of the times
    below: tuple[Label, ...]  # of the ranks


def map_chart(won: WinnerMap) -> MapChart:
    """Lay out a map of winners."""
    width = (CHART_WIDTH - MAP_LEFT) / len(won.sizes)
    bottom = MAP_TOP + MAP_ROW * len(won.ranks)
    cells = [
        Cell(
            MAP_LEFT + column * width,
            MAP_TOP + row * MAP_ROW,
            width,
            MAP_ROW,
            winner or "",
            _told(winner, ranks, size_bytes),
        )
        for row, (ranks, winners) in enumerate(zip(won.ranks, won.winners))
        for column, (size_bytes, winner) in enumerate(zip(won.sizes, winners))
    ]
    labels = [Label(MAP_LEFT - 6, MAP_TOP + (row + 0.7) * MAP_ROW, str(ranks)) for row, ranks in enumerate(won.ranks)]
    below = [
        Label(MAP_LEFT + (column + 0.5) * width, bottom + 14, short_size(size)) for column, size in enumerate(won.sizes)
    ]
    return MapChart(CHART_WIDTH, bottom + MAP_LABELS, tuple(cells), tuple(labels), tuple(below))


def line_chart(title: str, lines: Sequence[PredictedTimes]) -> LineChart:
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
    return LineChart(title, CHART_WIDTH, PLOT_BOTTOM + MAP_LABELS, tuple(curves), tuple(labels), tuple(below))


def codes(names: Sequence[str]) -> dict[str, str]:
    """Return a code of two or three characters per name, e.g. `rd` for recursive_doubling, `ri` for ring.

    The initials of several words, or the beginning of one; a number is added where the code is taken.
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


def short_size(size_bytes: int) -> str:
    """Return `32K` for 32 KiB, to fit a narrow column."""
    number, unit = format_size(size_bytes).split()
    return number + unit[0].replace("B", "")


def _told(winner: str | None, ranks: int, size_bytes: int) -> str:
    return f"{winner or 'none'}: {ranks} ranks, {format_size(size_bytes)}"


def _decade(power: int) -> str:
    """Return `10 us`, without the digits that a power of ten does not need."""
    number, unit = format_time(10.0**power).split()
    return f"{float(number):g} {unit}"


def _scale(low: float, high: float, start: float, stop: float) -> Callable[[float], float]:
    """Return a log scale from values to pixels; `low` and `high` are log10 of the values at `start` and `stop`."""
    return lambda value: start + (log10(value) - low) / ((high - low) or 1) * (stop - start)
