"""A common clock for the ranks of a program, and the blocks of steps that they exchange on it.

Every k steps each rank sends a row: its clock (a `Line`), the start of its first step, and the ready times and ends of
k steps by its own clock; NaN if missing. The rows of all ranks make the same block of steps on every rank.
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
DRIFT = 1e-3  # seconds a second between two clocks at most: NTP adjusts a clock by up to 500 ppm
EXCHANGES, MOST_WINDOWS = 10, 16


class ClockLine(NamedTuple):
    """The common time as a linear function of a clock: reading + offset + slope * (reading - origin); seconds."""

    origin: float = 0.0
    offset: float = 0.0
    slope: float = 0.0
    error_s: float = 0.0  # at most, at the origin
    slope_error: float = 0.0  # seconds a second, at most

    def common(self, reading: float) -> float:
        """Return the common time of a reading."""
        return reading + self.offset + self.slope * (reading - self.origin)

    def error_at(self, reading: float) -> float:
        """Return the error bound of `common`, seconds."""
        return self.error_s + self.slope_error * abs(reading - self.origin)


class ClockWindow(NamedTuple):
    """Bounds `low` and `high` of the lead of the common clock at `time` of the own clock; seconds."""

    time: float
    low: float
    high: float


class CommonClock:
    """The line of this rank's clock: its offset from rank 0's clock, and the error bound.

    Ranks that read the clock of one kernel need one comparison, made by the first of them, its leader. The leaders
    query each other in a binomial tree (after HCA3, Hunold and Carpen-Amarie, CLUSTER'18): a question sent at `asked`
    whose answer, a common time, came at `answered` proves that the offset lay in [common - answered, common - asked],
    up to the error of the answering rank. The tightest of EXCHANGES such windows is kept; windows of different moments
    bound the drift.

    `leaders` are the ranks that compare, rank 0 first. Other ranks keep an identity line.
    """

    def __init__(self, transport: Transport, leaders: Sequence[int], now: Callable[[], float] = perf_counter):
        """Compare for the first time; called on all ranks."""
        self.transport, self.leaders, self.now = transport, leaders, now
        self.line = ClockLine()
        self._windows: deque[ClockWindow] = deque(maxlen=MOST_WINDOWS)
        self.compare()

    def compare(self) -> None:
        """Take a new window on each leader; called on all leaders."""
        if self.transport.rank not in self.leaders:
            return
        index = self.leaders.index(self.transport.rank)
        if index:
            self._take(self._ask(self.leaders[index - (1 << (index.bit_length() - 1))]))
        for bit in range(index.bit_length(), len(self.leaders).bit_length()):
            if index + (1 << bit) < len(self.leaders):
                self._answer(self.leaders[index + (1 << bit)])

    def _ask(self, parent: int) -> ClockWindow:
        """Return the tightest window."""
        question, answer = np.zeros(1), np.zeros(2)
        best, width = ClockWindow(self.now(), -inf, inf), inf
        for _ in range(EXCHANGES):
            asked = self.now()
            self.transport.send(question, parent)
            self.transport.receive(answer, parent)
            answered = self.now()
            common, error_s = answer.tolist()
            low, high = common - error_s - answered, common + error_s - asked
            if high - low < width:
                best, width = ClockWindow((asked + answered) / 2, low, high), high - low
        return best

    def _answer(self, child: int) -> None:
        question, answer = np.zeros(1), np.zeros(2)
        for _ in range(EXCHANGES):
            self.transport.receive(question, child)
            reading = self.now()
            answer[:] = self.line.common(reading), self.line.error_at(reading)
            self.transport.send(answer, child)

    def _take(self, window: ClockWindow) -> None:
        """Update the line by a new window; drop earlier windows that no straight line connects to it."""
        least, most = self._slopes(window)
        if least > most:  # a clock jumped
            self._windows.clear()
            least, most = -DRIFT, DRIFT
        self._windows.append(window)
        slope = min(max(least, 0.0), most)  # 0 until the windows exclude it
        middle, half = (window.low + window.high) / 2, (window.high - window.low) / 2
        self.line = ClockLine(window.time, middle, slope, half, max(most - slope, slope - least))

    def _slopes(self, window: ClockWindow) -> tuple[float, float]:
        """Return the least and the greatest drift compatible with the earlier windows and this one."""
        spans = [(window.time - time, low, high) for time, low, high in self._windows if window.time > time]
        least = max([(window.low - high) / span for span, _, high in spans], default=-DRIFT)
        most = min([(window.high - low) / span for span, low, _ in spans], default=DRIFT)
        return max(least, -DRIFT), min(most, DRIFT)


def error_of_two(leader_of: Sequence[int], errors_s: Sequence[float]) -> float:
    """Return the largest error between two ranks' times; ranks with one leader share a clock."""
    error_of: dict[int, float] = {}
    for leader, error_s in zip(leader_of, errors_s):
        error_of[leader] = max(error_s, error_of.get(leader, 0.0))
    return sum(sorted(error_of.values())[-2:]) if len(error_of) > 1 else 0.0


START = len(ClockLine._fields)  # index in a row; before it the line, behind it ready times, then ends
HEAD = START + 1


class Block(NamedTuple):
    """Consecutive steps of all ranks, on the common clock."""

    first_step: int  # counted from 0
    ready_s: np.ndarray  # float64 [step, rank]; NaN: that rank does not say when it is ready
    step_s: np.ndarray  # float64 [step]: from the last rank's end of the step before to its end of this one
    end_s: float  # the last rank's end of the last step
    clock_error_s: float  # two ranks can be compared no better than this

    @property
    def late_s(self) -> np.ndarray:
        """Float64 [step, rank]: ready time behind the first rank's; NaN if not known."""
        return self.ready_s - np.fmin.reduce(self.ready_s, axis=1, keepdims=True)

    @property
    def median_step_s(self) -> float:
        """Median seconds of a step; quicker than numpy for few values."""
        return median(self.step_s.tolist())


def empty_row(every: int) -> np.ndarray:
    """Return an empty row for so many steps."""
    return np.full(HEAD + 2 * every, nan)


def block_of(rows: np.ndarray, leader_of: Sequence[int], first_step: int, last_end_s: float) -> Block:
    """Return the block of the rows of all ranks; `leader_of`: for each rank the one that compares clocks.

    `rows`: float64 [rank, value]; `last_end_s`: the common end of the step before, NaN: none. Steps that some rank has
    not ended are left out.
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
