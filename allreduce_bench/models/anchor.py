"""Times anchored at what was measured: priced by the schedule, and scaled by the ratio of measured over priced.

A measured cell gives its time. Elsewhere the ratio is the measured neighbours': between numbers of ranks
interpolated in log p, between sizes in log n; beyond the fewest and the most ranks the last ratio of that size. A
library's own choice is the geometric mean of this time and of the trend of its size, a + b log2 p by least squares on
relative errors, at least half of the least measured time.

Below the measured sizes a time is as at the smallest; above them it grows as the last two do, with an exponent from
0 to 1. A time that was not measured is cut off at the time of a larger size: times do not fall as sizes grow. At other
prices a longer vector takes no less than a shorter one, whose time other links change least. Between two sizes it is at
least the shorter of their times.
"""

from collections.abc import Callable
from math import exp, log
from typing import NamedTuple

import numpy as np

HALF = 0.5  # of the least measured time: no trend is below
SAID = 0.95  # of a time: one that is cut off by less is not told
OUTLIER = 1.8  # times off both neighbouring sizes: such an anchor is named
Price = Callable[[int, int, int], float]  # ranks, nodes (0: not known), bytes -> seconds


class Measured(NamedTuple):
    """Cells of one series; all arrays [cell]."""

    ranks: np.ndarray
    nodes: np.ndarray  # 0: not known
    size_bytes: np.ndarray
    time_s: np.ndarray  # median over launches

    def where(self, rows: np.ndarray) -> "Measured":
        """Return these cells; `rows` bool [cell]."""
        return Measured(*(column[rows] for column in self))


class Timed(NamedTuple):
    """A time in seconds, and how it came about."""

    time_s: float
    is_measured: bool = False
    is_cut: bool = False  # at the time of a larger size


class Curve(NamedTuple):
    """Times of one layout of ranks at the measured sizes; arrays [size]."""

    time_s: np.ndarray
    is_measured: np.ndarray
    is_cut: np.ndarray


class Anchored:
    """Times of one series on any ranks at any size, from its measured cells and the price of its schedule."""

    def __init__(self, cells: Measured, price: Price, has_trend: bool = False, is_measured: np.ndarray | None = None):
        """`price`: seconds of the schedule. `has_trend`: a library's own choice.

        `is_measured`: bool [cell], of cells at other prices; None: all were measured.
        """
        self.cells, self.price, self.has_trend = cells, price, has_trend
        self.is_repriced = is_measured is not None
        self.sizes = np.unique(cells.size_bytes)
        priced = [price(*cell) for cell in zip(*(column.tolist() for column in cells[:3]))]
        self._ratio_logs = np.log(cells.time_s / np.array(priced))
        known = cells if is_measured is None else cells.where(is_measured)
        keys, times_s = zip(*(column.tolist() for column in known[:3])), known.time_s.tolist()
        self._time_of = dict(zip(keys, times_s))
        self._curves: dict[tuple[int, int], Curve] = {}

    def is_measured(self, ranks: int, nodes: int, size_bytes: int) -> bool:
        """Return whether this very cell was measured."""
        return (ranks, nodes, size_bytes) in self._time_of

    def predict(self, ranks: int, nodes: int, size_bytes: int) -> Timed:
        """Return the time there; `nodes` 0: not known."""
        curve = self.curve(ranks, nodes)
        place = int(np.searchsorted(self.sizes, size_bytes))
        if place < len(self.sizes) and self.sizes[place] == size_bytes:
            return Timed(float(curve.time_s[place]), bool(curve.is_measured[place]), bool(curve.is_cut[place]))
        if place == 0:
            return Timed(float(curve.time_s[0]))
        if place == len(self.sizes):
            return Timed(float(curve.time_s[-1] * (size_bytes / self.sizes[-1]) ** self._growth(curve)))
        low, high = self.sizes[place - 1 : place + 1].tolist()
        share = log(size_bytes / low) / log(high / low)
        ends_log = [
            log(curve.time_s[at] / self.price(ranks, nodes, size))
            for at, size in ((place - 1, low), (place, high))
        ]  # fmt: skip
        time_s = self.price(ranks, nodes, size_bytes) * exp((1 - share) * ends_log[0] + share * ends_log[1])
        time_s = max(time_s, float(curve.time_s[place - 1 : place + 1].min()))
        larger_s = float(curve.time_s[place:].min())
        return Timed(min(time_s, larger_s), is_cut=larger_s < SAID * time_s)

    def _growth(self, curve: Curve) -> float:
        """Return the exponent of the size with which times grow above the measured sizes."""
        if len(self.sizes) < 2:
            return 1.0
        slope = log(curve.time_s[-1] / curve.time_s[-2]) / log(self.sizes[-1] / self.sizes[-2])
        return min(max(slope, 0.0), 1.0)

    def curve(self, ranks: int, nodes: int) -> Curve:
        """Return the times at the measured sizes."""
        if (ranks, nodes) not in self._curves:
            self._curves[ranks, nodes] = self._curve(ranks, nodes)
        return self._curves[ranks, nodes]

    def _curve(self, ranks: int, nodes: int) -> Curve:
        sizes = self.sizes.tolist()
        measured = [self._time_of.get((ranks, nodes, size)) for size in sizes]
        time_s = np.array([
            self._modelled_s(ranks, nodes, size) if known is None else known for size, known in zip(sizes, measured)
        ])  # fmt: skip
        is_measured = np.array([known is not None for known in measured])
        if self.is_repriced:  # other links change the times of short vectors least: longer ones take no less
            return Curve(np.where(is_measured, time_s, np.maximum.accumulate(time_s)), is_measured, is_measured & False)
        least_s = np.minimum.accumulate(time_s[::-1])[::-1]
        return Curve(np.where(is_measured, time_s, least_s), is_measured, ~is_measured & (least_s < SAID * time_s))

    def _modelled_s(self, ranks: int, nodes: int, size_bytes: int) -> float:
        """Return the time at a measured size on other ranks."""
        rows = self.cells.size_bytes == size_bytes
        if nodes:  # cells of as many ranks a node, if there are any
            alike = rows & (self.cells.ranks * nodes == ranks * self.cells.nodes)
            rows = alike if alike.any() else rows
        counts, ratio_log = _means(self.cells.ranks[rows], self._ratio_logs[rows])
        anchored_s = self.price(ranks, nodes, size_bytes) * exp(np.interp(log(ranks), np.log(counts), ratio_log))
        if not self.has_trend or len(counts) < 2:
            return anchored_s
        return float(np.sqrt(anchored_s * trend_s(self.cells.ranks[rows], self.cells.time_s[rows], ranks)))

    def outliers(self) -> list[tuple[int, int]]:
        """Return ranks and bytes of the cells that are OUTLIER times off both neighbouring sizes."""
        found = []
        for count in np.unique(self.cells.ranks):
            rows = self.cells.ranks == count
            sizes, ratio_log = _means(self.cells.size_bytes[rows], self._ratio_logs[rows])
            steps = np.diff(ratio_log)
            is_off = (steps[:-1] * steps[1:] < 0) & (np.minimum(abs(steps[:-1]), abs(steps[1:])) >= log(OUTLIER))
            found += [(int(count), int(size)) for size in sizes[1:-1][is_off]]
        return found


def _means(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys, ascending, and the mean value of each."""
    distinct, places = np.unique(keys, return_inverse=True)
    return distinct, np.bincount(places, values) / np.bincount(places)


def trend_s(counts: np.ndarray, time_s: np.ndarray, ranks: int) -> float:
    """Return the time on `ranks` by a line over log2 of two `counts` or more, fitted to relative errors."""
    slope, base = np.polyfit(np.log2(counts), time_s, 1, w=1 / time_s)
    return max(float(base + slope * np.log2(ranks)), HALF * float(time_s.min()))
