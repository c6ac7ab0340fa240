"""One clock for all ranks: how far each one's own is from that of rank 0, and how wrong that may be.

In the manner of HCA3 (Hunold and Carpen-Amarie, CLUSTER'18): in ceil(log2 p) rounds each rank asks a parent whose clock
is common already. A question that left at `asked` and whose answer, the parent's `reading`, came at `answered` proves
that the offset lay in [reading - answered, reading - asked]; the parent's own error is added. The tightest of several
such windows is kept. Windows are taken again all through a launch. Those of the last seconds decide which drifts and
offsets are possible: the straight lines through all of them. Nothing is regressed over a few milliseconds, where the
windows would give a slope worse than none: drift is taken as 0 until they exclude it, and counts as error until they
bound it.
"""

from collections.abc import Callable
from functools import partial
from math import inf, nan
from time import perf_counter, sleep
from typing import NamedTuple, Protocol

import numpy as np
from mpi4py import MPI

from ..executing import CommonStart
from ..units import format_time
from ..watching.whereabouts import doing

METHOD = "binomial tree of ping-pong windows, lines through all of them (after HCA3)"
ONE_CLOCK = "all ranks read the clock of one kernel, confirmed by ping-pongs"
DRIFT = 1e-3  # seconds a second between two clocks at most: NTP steers a clock by up to 500 ppm
EXCHANGES, FEWEST, ENOUGH_S = 20, 3, 1e-3  # questions of one comparison, and fewer where they take longer
DUE_S = 1.0  # after so long a new comparison precedes a cell
HISTORY_S, MOST_WINDOWS = 10.0, 32  # what is older says less of the drift than the temperature has changed it
STEPS, READINGS = 10, 100_000  # of a clock, to know its tick
TAG = 1  # schedules use 0: a rank may compare while another is in its last step


class Window(NamedTuple):
    """At `time` of the own clock, the clock of rank 0 was ahead by `low` to `high`; seconds."""

    time: float
    low: float
    high: float


class ClockLine(NamedTuple):
    """The common time of a reading of the own clock: reading + offset + slope * (reading - origin); seconds."""

    origin: float
    offset: float
    slope: float
    error_s: float  # at most; of readings in the span that the line was made for

    def common(self, reading):
        """The common time of a reading, or of an array of them."""
        return reading + self.offset + self.slope * (reading - self.origin)


class Clock:
    """The common clock of the ranks of `comm`, on each of them; `now` reads the own one, in seconds."""

    def __init__(self, comm: MPI.Comm, now: Callable[[], float] = perf_counter, shared: bool = False):
        """Compare for the first time; all ranks must.

        `shared`: this rank is on the node of rank 0, where one kernel's clock serves both. It is believed as long as no
        window says otherwise, which those of containers with times of their own do.
        """
        self.comm, self.now, self.shared, self.tick_s = comm, now, shared, tick_of(now)
        self.round_trip_s, self._beside = inf, shared  # least round trip of a question; on the node of rank 0
        self.jumps = 0  # times that no straight line led from the windows before to a new one
        self._windows: list[Window] = []
        self._first: Window | None = None
        self._line = ClockLine(now(), 0.0, 0.0, self.tick_s if comm.rank == 0 else nan)
        self._slope_error = 0.0
        self.compare()

    @property
    def ready(self) -> bool:
        """Whether this rank knows the common time at all."""
        return self._line.error_s < inf  # not of nan either

    @doing("comparing clocks")
    def compare(self) -> None:
        """Take a new window on each rank; all ranks must."""
        rank, size = self.comm.rank, self.comm.size
        if rank:
            self._take(self._ask(rank - (1 << (rank.bit_length() - 1))))
        for bit in range(rank.bit_length(), size.bit_length()):
            if rank + (1 << bit) < size:
                self._answer(rank + (1 << bit))
        self._compared = perf_counter()

    def compare_if_due(self) -> None:
        """Before a cell: the same where the last comparison is long ago by rank 0's clock; all ranks must.

        What is old is forgotten here only: of a long cell the windows before it are needed at its end.
        """
        now = self.now()
        self._windows[:-1] = [window for window in self._windows[:-1] if now - window.time < HISTORY_S]
        if self.comm.bcast(perf_counter() - self._compared > DUE_S):
            self.compare()

    def common(self, reading: float) -> float:
        """The common time of a reading of now, by the last comparison; rank 0's own is the common one."""
        return self._line.common(reading)

    def reading_at(self, common: float) -> float:
        """What the own clock will show at a common time."""
        line = self._line
        return line.origin + (common - line.origin - line.offset) / (1 + line.slope)

    def error_s(self) -> float:
        """By how much `common` may be wrong now; nan or inf: nothing is known."""
        return self._line.error_s + self._slope_error * abs(self.now() - self._line.origin)

    def line(self, first: float, last: float) -> ClockLine | None:
        """The common time of readings from `first` to `last`, by the windows before, between and after them.

        None where nothing is known. Whether the clock jumped in between, `jumps` tells.
        """
        if self.comm.rank == 0 or self.shared or not self.ready:
            return self._line if self.ready else None
        (low, high), (low_end, high_end) = self._bounds(first), self._bounds(last)
        offset, end = (low + high) / 2, (low_end + high_end) / 2
        error_s = max(high - low, high_end - low_end) / 2 + self.tick_s  # a line is furthest from another at an end
        return ClockLine(first, offset, (end - offset) / (last - first) if last > first else 0.0, error_s)

    def facts(self) -> dict | None:
        """{"method", "error_s": over all ranks now, "drift_ppm", "drift_error_ppm": of the rank that drifts most since
        its first window, "round_trip_s": the least of those who ask rank 0, from other nodes if there are some}; None
        on all but rank 0. What is not known is None. All ranks must ask.
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
        """The tightest window; None: the own clock or the parent's is of no use."""
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
            if asked <= answered and high - low < width:  # no comparison with nan is true
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
        """A number to be sent to `partner`, one to be received from it, and the calls that send and receive."""
        outgoing, incoming = np.zeros(1), np.zeros(1)
        send = partial(self.comm.Send, [outgoing, 1, MPI.DOUBLE], partner, TAG)
        return outgoing, incoming, send, partial(self.comm.Recv, [incoming, 1, MPI.DOUBLE], partner, TAG)

    def _take(self, window: Window | None) -> None:
        """Keep a window, drop those to which no straight line leads, and point the line ahead."""
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
        """The least and the greatest slope of the lines through all windows; the least is greater: there is none."""
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
        """Between what the offset lies at a reading: no line through all windows is outside."""
        time, low, high = np.array(self._windows).T
        least, most = self._slopes()
        distance = reading - time
        flattest, steepest = least * distance, most * distance
        lowest = np.max(low + np.minimum(flattest, steepest))
        return float(lowest), float(np.min(high + np.maximum(flattest, steepest)))


def tick_of(now: Callable[[], float]) -> float:
    """The smallest step in which the clock counts, seconds, as far as can be seen; inf: it stands or runs backwards."""
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


# How the ranks enter a call together: two ways of one shape, and which of them holds here.
#
# `begin` is called right before each timed call; whether this rank was on time is what it gives back.


FIRST_SLACK = 4  # barriers: a broadcast and its spread, generously
MOST_SLACK_S = 10e-3  # whoever is late by more was not on a processor
LOOKS = range(1_000_000)  # at a clock that stands still or runs backwards: less than a second, then the start is missed
TRIALS, CALLS = 5, 20  # of round_time, each with twice the slack of the one before
LATE, LATE_BEFORE = 0.1, 0.5  # share of late starts: to choose round_time, and to keep what an earlier launch chose
LARGEST_ERROR = 1.0  # small all-reduces: with a worse clock, nobody knows whether ranks enter together


class Sync(Protocol):
    """A way to enter a call together."""

    name: str  # one of schema.SYNCS

    def begin(self) -> bool:
        """Wait for the common start of a call; all ranks must. Whether this rank was there in time."""

    def common_start(self) -> CommonStart:
        """The same for a loop that is not Python's, up to the next comparison of clocks."""

    def learn(self, late: float) -> None:
        """Take in the share of the last calls to which some rank was late; rank 0 only is told."""


class Barrier:
    """MPI_Barrier: ranks leave it about as far apart as it takes."""

    name = "barrier"

    def __init__(self, comm: MPI.Comm):
        self._comm, self._barrier = comm, comm.Barrier

    def begin(self) -> bool:
        """Wait for all ranks; True."""
        self._barrier()
        return True

    def common_start(self) -> CommonStart:
        """A barrier."""
        return CommonStart(self._comm)

    def learn(self, late: float) -> None:
        """Nobody is late to a barrier."""


class RoundTime:
    """After a barrier rank 0 names a time a little ahead, on which all enter by the common clock.

    As in ReproMPI (Hunold and Carpen-Amarie, CLUSTER'18). The slack ahead grows while many are late.
    """

    name = "round_time"

    def __init__(self, comm: MPI.Comm, clock: Clock, slack_s: float):
        self.slack_s, self._clock, self._now = min(slack_s, MOST_SLACK_S), clock, clock.now
        self._comm, self._barrier, self._leads, self._start = comm, comm.Barrier, comm.rank == 0, np.zeros(1)
        self._tell = partial(comm.Bcast, [self._start, 1, MPI.DOUBLE], 0)

    def begin(self) -> bool:
        """Spin until the start; False: it was over when this rank heard of it, or its clock is of no use."""
        now = self._now
        self._barrier()
        if self._leads:
            self._start[0] = now() + self.slack_s
        self._tell()
        if not self._clock.ready:
            return False
        start = self._clock.reading_at(self._start.item())
        if now() >= start:
            return False
        for _ in LOOKS:  # noqa: SIM110 - a generator would look less often
            if now() >= start:
                return True
        return False

    def common_start(self) -> CommonStart:
        """The slack, and two points of the line from the common clock to the own one."""
        if not self._clock.ready:
            return CommonStart(self._comm, self.slack_s)
        common_s = self._clock.common(self._now())
        reading_s = self._clock.reading_at(common_s)
        rate = self._clock.reading_at(common_s + 1) - reading_s
        return CommonStart(self._comm, self.slack_s, common_s, reading_s, rate)

    def learn(self, late: float) -> None:
        """Twice the slack where too many were late."""
        if late > LATE:
            self.slack_s = min(2 * self.slack_s, MOST_SLACK_S)


class ChosenSync(NamedTuple):
    """The way of a launch, and why, in a sentence; `unexpected`: one would expect another."""

    sync: Sync
    why: str
    unexpected: bool = False


class EarlierSync(NamedTuple):
    """What an earlier launch of as many ranks chose."""

    launch: str
    way: str


@doing("trying common starts")
def choose(wanted: str, comm: MPI.Comm, clock: Clock, crowded: bool, earlier: EarlierSync | None) -> ChosenSync:
    """The way that is `wanted`; of `auto` what `earlier` chose if that holds here, else round_time or barrier.

    All ranks must call it with the same arguments. `crowded`: some node has more ranks than cores.
    """
    if wanted == "auto" and earlier is not None and earlier.way != RoundTime.name:
        return ChosenSync(make(earlier.way, comm, clock), f"as in launch {earlier.launch}")
    if wanted == "auto" and (comm.size == 1 or crowded):
        why = "a single rank" if comm.size == 1 else "more ranks than cores: ranks cannot all wait for a time"
        return ChosenSync(Barrier(comm), why, unexpected=earlier is not None)
    if wanted not in ("auto", RoundTime.name):
        return ChosenSync(make(wanted, comm, clock), "requested")
    clock.compare()
    barrier_s = _slowest_median_s(comm.Barrier, comm)
    small_s = _slowest_median_s(partial(comm.Allreduce, np.zeros(1), np.zeros(1)), comm)
    error_s = comm.allreduce(clock.error_s(), MPI.MAX) if comm.allreduce(clock.ready, MPI.LAND) else None
    if error_s is None:
        why = "a rank has no common clock"
        return ChosenSync(make(wanted if wanted != "auto" else Barrier.name, comm, clock), why, unexpected=True)
    sync = RoundTime(comm, clock, FIRST_SLACK * barrier_s + 2 * error_s)
    late = _late_share(sync, comm)
    figures = (
        f"{late:.0%} of {CALLS} starts were late, the clock error is at most {format_time(error_s)}, "
        f"a small all-reduce takes {format_time(small_s)}"
    )
    if wanted != "auto":
        return ChosenSync(sync, f"requested; {figures}", unexpected=late > LATE_BEFORE)
    if earlier is not None:
        holds, why = late <= LATE_BEFORE, f"as in launch {earlier.launch}; {figures}"
    else:
        holds, why = late <= LATE and error_s <= LARGEST_ERROR * small_s, figures
    return ChosenSync(sync, why) if holds else ChosenSync(Barrier(comm), f"round_time is not usable: {figures}", True)


def make(way: str, comm: MPI.Comm, clock: Clock) -> Sync:
    """The way of that name of schema.SYNCS; all ranks must ask for the same."""
    if way == RoundTime.name:
        return RoundTime(comm, clock, FIRST_SLACK * _slowest_median_s(comm.Barrier, comm))
    return Barrier(comm)


@doing("waiting for rank 0", polls=True)
def wait_quietly(comm: MPI.Comm, pause_s: float = 0.001) -> None:
    """Wait for all ranks without taking the processor away from those at work; waiting in MPI would spin."""
    request = comm.Ibarrier()
    while not request.Test():
        sleep(pause_s)


def _slowest_median_s(collective: Callable[[], object], comm: MPI.Comm) -> float:
    """The median time of a call on the rank where that is longest, seconds."""
    spent_s = np.empty(CALLS)
    for i in range(CALLS):
        begun = perf_counter()
        collective()
        spent_s[i] = perf_counter() - begun
    spent_s.sort()
    return comm.allreduce(float(spent_s[CALLS // 2]), MPI.MAX)


def _late_share(sync: RoundTime, comm: MPI.Comm) -> float:
    """The share of late starts when its slack has grown as far as helps; all ranks learn the same."""
    late = 1.0
    for _ in range(TRIALS):
        on_time = np.array([sync.begin() for _ in range(CALLS)])
        comm.Allreduce(MPI.IN_PLACE, on_time, MPI.LAND)
        late = 1 - float(np.count_nonzero(on_time)) / CALLS
        if late <= LATE:
            break
        sync.learn(late)
    return late
