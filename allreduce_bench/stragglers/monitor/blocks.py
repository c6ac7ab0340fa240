"""One clock for the ranks of a program, and the blocks of steps that they tell each other, on that clock.

Every k steps each rank sends a row: its clock (a `Line`), the start of its first step, and the ready times and ends of
k steps by its own clock; NaN where there is none. The rows of all ranks are the same block of steps on all of them.
"""

from collections import deque
from collections.abc import Callable, Sequence
from math import inf, nan
from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np

from .transport import Transport

# Clocks
DRIFT = 1e-3  # seconds a second between two clocks at most: NTP steers a clock by up to 500 ppm
EXCHANGES, MOST_WINDOWS = 10, 16


class Line(NamedTuple):
    """The common time of a reading of a clock: reading + offset + slope * (reading - origin); seconds."""

    origin: float = 0.0
    offset: float = 0.0
    slope: float = 0.0
    error_s: float = 0.0  # at most, at the origin
    slope_error: float = 0.0  # seconds a second, at most

    def common(self, reading: float) -> float:
        """The common time of a reading."""
        return reading + self.offset + self.slope * (reading - self.origin)

    def error_at(self, reading: float) -> float:
        """Return by how much `common` may be wrong, seconds."""
        return self.error_s + self.slope_error * abs(reading - self.origin)


class Window(NamedTuple):
    """At `time` of the own clock, the common clock was ahead by `low` to `high`; seconds."""

    time: float
    low: float
    high: float


class CommonClock:
    """The line of this rank's clock: how far it is from that of rank 0, and how wrong that may be.

    Ranks that read the clock of one kernel need one comparison: the first of them, its leader, makes it. The leaders
    ask each other in a binomial tree (after HCA3, Hunold and Carpen-Amarie, CLUSTER'18): a question that left at
    `asked` and whose answer, a common time, came at `answered` proves that the offset lay in [common - answered,
    common - asked], give or take the error of whoever answered. The tightest of EXCHANGES such windows is kept; windows
    of different moments bound the drift.

    `leaders` are the ranks that compare, rank 0 first. Others keep a line of none."""

    def __init__(self, transport: Transport, leaders: Sequence[int], now: Callable[[], float] = perf_counter):
        """Compare for the first time; all ranks must."""
        self.transport, self.leaders, self.now = transport, leaders, now
        self.line = Line()
        self._windows: deque[Window] = deque(maxlen=MOST_WINDOWS)
        self.compare()

    def compare(self) -> None:
        """Take a new window on each leader; all leaders must."""
        if self.transport.rank not in self.leaders:
            return
        index = self.leaders.index(self.transport.rank)
        if index:
            self._take(self._ask(self.leaders[index - (1 << (index.bit_length() - 1))]))
        for bit in range(index.bit_length(), len(self.leaders).bit_length()):
            if index + (1 << bit) < len(self.leaders):
                self._answer(self.leaders[index + (1 << bit)])

    def _ask(self, parent: int) -> Window:
        """The tightest window."""
        question, answer = np.zeros(1), np.zeros(2)
        best, width = Window(self.now(), -inf, inf), inf
        for _ in range(EXCHANGES):
            asked = self.now()
            self.transport.send(question, parent)
            self.transport.receive(answer, parent)
            answered = self.now()
            common, error_s = answer.tolist()
            low, high = common - error_s - answered, common + error_s - asked
            if high - low < width:
                best, width = Window((asked + answered) / 2, low, high), high - low
        return best

    def _answer(self, child: int) -> None:
        question, answer = np.zeros(1), np.zeros(2)
        for _ in range(EXCHANGES):
            self.transport.receive(question, child)
            reading = self.now()
            answer[:] = self.line.common(reading), self.line.error_at(reading)
            self.transport.send(answer, child)

    def _take(self, window: Window) -> None:
        """Point the line ahead from a new window; earlier ones that allow no straight line to it are forgotten."""
        least, most = self._slopes(window)
        if least > most:  # a clock jumped
            self._windows.clear()
            least, most = -DRIFT, DRIFT
        self._windows.append(window)
        slope = min(max(least, 0.0), most)  # 0 until the windows exclude it
        middle, half = (window.low + window.high) / 2, (window.high - window.low) / 2
        self.line = Line(window.time, middle, slope, half, max(most - slope, slope - least))

    def _slopes(self, window: Window) -> tuple[float, float]:
        """The least and the greatest drift that the earlier windows and this one allow."""
        spans = [(window.time - time, low, high) for time, low, high in self._windows if window.time > time]
        least = max([(window.low - high) / span for span, _, high in spans], default=-DRIFT)
        most = min([(window.high - low) / span for span, low, _ in spans], default=DRIFT)
        return max(least, -DRIFT), min(most, DRIFT)


def error_of_two(leader_of: Sequence[int], errors_s: Sequence[float]) -> float:
    """Return the largest error of two ranks' times to each other; ranks with one leader read one clock."""
    error_of: dict[int, float] = {}
    for leader, error_s in zip(leader_of, errors_s):
        error_of[leader] = max(error_s, error_of.get(leader, 0.0))
    return sum(sorted(error_of.values())[-2:]) if len(error_of) > 1 else 0.0


START = len(Line._fields)  # index in a row; before it the line, behind it ready times, then ends
HEAD = START + 1


class Block(NamedTuple):
    """Some consecutive steps of all ranks, on the common clock."""

    first_step: int  # counted from 0
    ready_s: np.ndarray  # float64 [step, rank]; NaN: that rank does not say when it is ready
    step_s: np.ndarray  # float64 [step]: from the last rank's end of the step before to its end of this one
    end_s: float  # the last rank's end of the last step
    clock_error_s: float  # two ranks can be compared no better than this

    @property
    def late_s(self) -> np.ndarray:
        """Float64 [step, rank]: ready, after the first rank that was; NaN where it is not known."""
        return self.ready_s - np.fmin.reduce(self.ready_s, axis=1, keepdims=True)

    @property
    def median_step_s(self) -> float:
        """Seconds of a step; for a few values quicker than numpy."""
        return median(self.step_s.tolist())


def empty_row(every: int) -> np.ndarray:
    """A row for so many steps."""
    return np.full(HEAD + 2 * every, nan)


def block_of(rows: np.ndarray, leader_of: Sequence[int], first_step: int, last_end_s: float) -> Block:
    """The block that the rows of all ranks are; `leader_of` is the rank that compares clocks for each.

    `rows`: float64 [rank, value]; `last_end_s`: the common end of the step before, NaN: there is none. Steps that
    some rank has not ended are left out.
    """
    origin, offset, slope, error_s, slope_error = rows[list(leader_of), :START].T
    readings = rows[:, START:]
    common = readings + offset[:, None] + slope[:, None] * (readings - origin[:, None])
    ready_s, end_s = np.split(common[:, 1:].T, 2)
    steps = int(np.cumprod(~np.isnan(end_s).any(axis=1)).sum())
    if steps == 0:
        return Block(first_step, ready_s[:0], np.empty(0), last_end_s, 0.0)
    ends = end_s[:steps].max(axis=1)
    before = common[:, 0].max() if np.isnan(last_end_s) else last_end_s
    furthest = np.fmax.reduce(np.abs(readings - origin[:, None]), axis=1, initial=0.0)
    clock_error_s = error_of_two(leader_of, (error_s + slope_error * furthest).tolist())
    return Block(first_step, ready_s[:steps], np.diff(ends, prepend=before), float(ends[-1]), clock_error_s)
