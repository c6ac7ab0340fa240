"""Clock of all ranks: offsets from rank 0's clock with error bounds.

As in HCA3 (Hunold and Carpen-Amarie, CLUSTER'18): in ceil(log2 p) rounds each rank asks a parent whose clock is already
common. A question sent at `asked`, whose answer, the parent's `reading`, came at `answered`, proves that the offset lay
in [reading - answered, reading - asked]; the parent's own error is added. The tightest of several such windows is kept.
Windows are taken throughout a launch. Those of the last seconds bound drift and offset: by the straight lines through
all of them. There is no regression over a few milliseconds, which would give a slope worse than none: drift is taken as
0 until the windows exclude it, and counts as error until they bound it.
"""

from collections.abc import Callable
from functools import partial
from math import inf, nan
from time import perf_counter
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..watching.whereabouts import doing

METHOD = "binomial tree of ping-pong windows, lines through all of them (after HCA3)"
ONE_CLOCK = "all ranks read the clock of one kernel, confirmed by ping-pongs"
DRIFT = 1e-3  # most seconds per second between two clocks: NTP steers a clock by up to 500 ppm
EXCHANGES, FEWEST, ENOUGH_S = 20, 3, 1e-3  # questions per comparison; fewer if they take longer
DUE_S = 1.0  # seconds since the last comparison after which a cell is preceded by one
HISTORY_S, MOST_WINDOWS = 10.0, 32  # temperature changes the drift over longer times
STEPS, READINGS = 10, 100_000  # of a clock, to determine its tick
TAG = 1  # schedules use 0: a rank may compare while another is in its last step


class Window(NamedTuple):
    """Bounds at `time` of the own clock on the lead of rank 0's clock: from `low` to `high`; seconds."""

    time: float
    low: float
    high: float


class ClockLine(NamedTuple):
    """Map from the own clock to common time: reading + offset + slope * (reading - origin); seconds."""

    origin: float
    offset: float
    slope: float
    error_s: float  # at most, for readings in the span of the line

    def common(self, reading):
        """Return the common time of a reading, or of an array of them."""
        return reading + self.offset + self.slope * (reading - self.origin)


class Clock:
    """Common clock of the ranks of `comm`, on each of them; `now` reads the own one, in seconds."""

    def __init__(self, comm: MPI.Comm, now: Callable[[], float] = perf_counter, shared: bool = False):
        """Compare for the first time; collective.

        `shared`: this rank is on the node of rank 0, and both read one kernel's clock. That is assumed until a window
        contradicts it, as between containers with time namespaces.
        """
        self.comm, self.now, self.shared, self.tick_s = comm, now, shared, tick_of(now)
        self.round_trip_s, self._beside = inf, shared  # least round trip of a question; on rank 0's node
        self.jumps = 0  # how often no straight line fitted old and new windows
        self._windows: list[Window] = []
        self._first: Window | None = None
        self._line = ClockLine(now(), 0.0, 0.0, self.tick_s if comm.rank == 0 else nan)
        self._slope_error = 0.0
        self.compare()

    @property
    def ready(self) -> bool:
        """Return whether this rank knows the common time."""
        return self._line.error_s < inf  # false for nan, too

    @doing("comparing clocks")
    def compare(self) -> None:
        """Take a new window on each rank; collective."""
        rank, size = self.comm.rank, self.comm.size
        if rank:
            self._take(self._ask(rank - (1 << (rank.bit_length() - 1))))
        for bit in range(rank.bit_length(), size.bit_length()):
            if rank + (1 << bit) < size:
                self._answer(rank + (1 << bit))
        self._compared = perf_counter()

    def compare_if_due(self) -> None:
        """Compare before a cell if rank 0's last comparison is long ago; collective.

        Old windows are dropped only here: the end of a long cell needs those before it.
        """
        now = self.now()
        self._windows[:-1] = [window for window in self._windows[:-1] if now - window.time < HISTORY_S]
        if self.comm.bcast(perf_counter() - self._compared > DUE_S):
            self.compare()

    def common(self, reading: float) -> float:
        """Return the common time of a current reading, by the last comparison; rank 0's clock is the common one."""
        return self._line.common(reading)

    def reading_at(self, common: float) -> float:
        """Return the reading of the own clock at a common time."""
        line = self._line
        return line.origin + (common - line.origin - line.offset) / (1 + line.slope)

    def error_s(self) -> float:
        """Return the current error bound of `common`; nan or inf: unknown."""
        return self._line.error_s + self._slope_error * abs(self.now() - self._line.origin)

    def line(self, first: float, last: float) -> ClockLine | None:
        """Return the map to common time for readings from `first` to `last`, by the windows before, between and after.

        None if unknown. `jumps` tells whether the clock jumped in between.
        """
        if self.comm.rank == 0 or self.shared or not self.ready:
            return self._line if self.ready else None
        (low, high), (low_end, high_end) = self._bounds(first), self._bounds(last)
        offset, end = (low + high) / 2, (low_end + high_end) / 2
        error_s = max(high - low, high_end - low_end) / 2 + self.tick_s  # a line is furthest from another at an end
        return ClockLine(first, offset, (end - offset) / (last - first) if last > first else 0.0, error_s)

    def facts(self) -> dict | None:
        """Return facts about the clocks on rank 0, else None; collective.

        {"method", "error_s": maximum over ranks now, "drift_ppm", "drift_error_ppm": of the rank with the largest drift
        since its first window, "round_trip_s": least of the ranks that ask rank 0, from other nodes if any}; None:
        unknown.
        """
        own = self.error_s(), self._drift_ppm(), self.shared or self.comm.rank == 0
        facts_of_ranks = self.comm.gather((*own, (self._beside, self.round_trip_s)))
        if facts_of_ranks is None:
            return None
        errors_s, drifts, shared, trips = zip(*facts_of_ranks)
        worst = max(filter(None, drifts), key=lambda drift: abs(drift[0]), default=(None, None))
        error_s = max(errors_s) if all(error_s < inf for error_s in errors_s) else None
        method = ONE_CLOCK if all(shared) else METHOD
        facts = {"method": method, "error_s": error_s, "drift_ppm": worst[0], "drift_error_ppm": worst[1]}
        _, trip_s = min((trips[1 << bit] for bit in range((len(trips) - 1).bit_length())), default=(True, inf))
        return facts | {"round_trip_s": trip_s if trip_s < inf else None}

    def _drift_ppm(self) -> tuple[float, float] | None:
        if self._first is None or not self._windows or self._windows[-1].time <= self._first.time:
            return None
        (since, low, high), (now, low_end, high_end) = self._first, self._windows[-1]
        least, most = (low_end - high) / (now - since), (high_end - low) / (now - since)
        return (least + most) / 2 * 1e6, (most - least) / 2 * 1e6

    def _ask(self, parent: int) -> Window | None:
        """Return the tightest window; None if the own clock or the parent's is unusable."""
        now, state = self.now, np.empty(5)
        self.comm.Recv(state, parent, TAG)
        *parent_line, slope_error = state.tolist()
        line = ClockLine(*parent_line)
        question, answer, send, receive = self._messages(parent)
        best, width, begun = None, inf, perf_counter()
        for number in range(1, EXCHANGES + 1):
            last = number == EXCHANGES or (number >= FEWEST and perf_counter() - begun > ENOUGH_S)
            question[0] = last
            asked = now()
            send()
            receive()
            answered = now()
            self.round_trip_s = min(self.round_trip_s, max(answered - asked, 0.0) or inf)
            reading = answer.item()
            common, error_s = line.common(reading), line.error_s + slope_error * abs(reading - line.origin)
            low, high = common - error_s - answered - self.tick_s, common + error_s - asked
            if asked <= answered and high - low < width:  # comparisons with nan are false
                best, width = Window((asked + answered) / 2, low, high), high - low
            if last:
                break
        return best

    def _answer(self, child: int) -> None:
        """Send the own line, then a reading for every question; converting it first would delay the answer."""
        now, state = self.now, np.array([*self._line, self._slope_error])
        self.comm.Send(state, child, TAG)
        answer, question, send, receive = self._messages(child)
        while not question[0]:
            receive()
            answer[0] = now()
            send()

    def _messages(self, partner: int) -> tuple[np.ndarray, np.ndarray, Callable, Callable]:
        """Return a buffer to send to `partner`, one to receive into, and the calls that send and receive."""
        outgoing, incoming = np.zeros(1), np.zeros(1)
        send = partial(self.comm.Send, [outgoing, 1, MPI.DOUBLE], partner, TAG)
        return outgoing, incoming, send, partial(self.comm.Recv, [incoming, 1, MPI.DOUBLE], partner, TAG)

    def _take(self, window: Window | None) -> None:
        """Keep a window, drop those that no straight line connects with it, and extrapolate the line."""
        if window is None:
            self.jumps += 1
            self._windows.clear()
            self._line = self._line._replace(error_s=nan)
            return
        if self.shared:
            if window.low <= 0 <= window.high:
                self._line = ClockLine(window.time, 0.0, 0.0, self.tick_s)
                return
            self.shared = False
        self._first = self._first or window
        if len(self._windows) >= MOST_WINDOWS:
            del self._windows[: MOST_WINDOWS // 2 : 2]
        self._windows.append(window)
        least, most = self._slopes()
        self.jumps += least > most
        while least > most:
            del self._windows[0]
            least, most = self._slopes()
        slope = min(max(least, 0.0), most)
        low, high = self._bounds(window.time)
        self._line = ClockLine(window.time, (low + high) / 2, slope, (high - low) / 2 + self.tick_s)
        self._slope_error = max(most - slope, slope - least)

    def _slopes(self) -> tuple[float, float]:
        """Return the lower and the upper bound on slopes of lines through all windows; lower > upper: none exists."""
        time, low, high = np.array(self._windows).T
        early, late = np.triu_indices(time.size, 1)
        if early.size == 0:
            return -DRIFT, DRIFT
        span = time[late] - time[early]
        if span.min() <= 0:
            return inf, -inf
        least, most = ((low[late] - high[early]) / span).max(), ((high[late] - low[early]) / span).min()
        return max(-DRIFT, float(least)), min(DRIFT, float(most))

    def _bounds(self, reading: float) -> tuple[float, float]:
        """Return the bounds of the offset at a reading, over all lines through all windows."""
        time, low, high = np.array(self._windows).T
        least, most = self._slopes()
        distance = reading - time
        flattest, steepest = least * distance, most * distance
        lowest = np.max(low + np.minimum(flattest, steepest))
        return float(lowest), float(np.min(high + np.maximum(flattest, steepest)))


def tick_of(now: Callable[[], float]) -> float:
    """Return the smallest observed step of the clock, seconds; inf: it stands still or runs backwards."""
    steps: list[float] = []
    last = now()
    for _ in range(READINGS):
        reading = now()
        if reading > last:
            steps.append(reading - last)
            if len(steps) == STEPS:
                break
        elif reading < last:
            return inf
        last = reading
    return min(steps, default=inf)
