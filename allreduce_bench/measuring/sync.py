"""How the ranks enter a call together: two ways of one shape, and which of them holds here.

`begin` is called right before each timed call; whether this rank was on time is what it gives back.
"""

from collections.abc import Callable
from functools import partial
from time import perf_counter, sleep
from typing import NamedTuple, Protocol

import numpy as np
from mpi4py import MPI

from ..executing import CommonStart
from ..units import format_time
from ..watching.whereabouts import doing
from .clock import Clock

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
