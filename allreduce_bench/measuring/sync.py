"""Common starts of calls: a barrier, or a time on the common clock; and the choice between them.

`begin` is called right before each timed call, and returns whether this rank was on time.
"""

from collections.abc import Callable
from functools import partial
from time import perf_counter, sleep
from typing import NamedTuple, Protocol

import numpy as np
from mpi4py import MPI

from ..executing import CommonStart
from ..machine.findings import FullestNode
from ..runs.schema import BARRIER, ROUND_TIME
from ..watching.whereabouts import doing
from .clock import Clock

FIRST_SLACK = 4  # barriers: a generous estimate of a broadcast and its spread
MOST_SLACK_S = 10e-3  # a rank that is later was not on a processor
LOOKS = range(1_000_000)  # readings of a clock that stands still: less than a second, then the start is missed
CALLS = 20  # barriers timed for that estimate
LATE = 0.1  # share of late calls above which the slack doubles


class Sync(Protocol):
    """Method of entering a call together."""

    name: str  # one of schema.SYNCS

    def begin(self) -> bool:
        """Wait for the common start of a call, and return whether this rank was on time; collective."""

    def common_start(self) -> CommonStart:
        """Return the start for a compiled loop, valid until the next comparison of clocks."""

    def learn(self, late: float) -> None:
        """Learn the share of the last calls with a late rank; called on rank 0 only."""


class Barrier:
    """MPI_Barrier: ranks leave it about as far apart as it takes."""

    name = BARRIER

    def __init__(self, comm: MPI.Comm):
        self._comm, self._barrier = comm, comm.Barrier

    def begin(self) -> bool:
        """Wait for all ranks; return True."""
        self._barrier()
        return True

    def common_start(self) -> CommonStart:
        """Return a barrier."""
        return CommonStart(self._comm)

    def learn(self, late: float) -> None:
        """Do nothing: no rank is late to a barrier."""


class RoundTime:
    """Common start time: after a barrier rank 0 names a time a little ahead, at which all enter by the common clock."""

    name = ROUND_TIME

    def __init__(self, comm: MPI.Comm, clock: Clock, slack_s: float):
        self.slack_s, self._clock, self._now = min(slack_s, MOST_SLACK_S), clock, clock.now
        self._comm, self._barrier, self._leads, self._start = comm, comm.Barrier, comm.rank == 0, np.zeros(1)
        self._tell = partial(comm.Bcast, [self._start, 1, MPI.DOUBLE], 0)

    def begin(self) -> bool:
        """Spin until the start; return False if it had passed when this rank learned it, or its clock is unusable."""
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
        for _ in LOOKS:  # noqa: SIM110 - a generator would read the clock less often
            if now() >= start:
                return True
        return False

    def common_start(self) -> CommonStart:
        """Return the slack, and two points of the line from the common clock to the own one."""
        if not self._clock.ready:
            return CommonStart(self._comm, self.slack_s)
        common_s = self._clock.common(self._now())
        reading_s = self._clock.reading_at(common_s)
        rate = self._clock.reading_at(common_s + 1) - reading_s
        return CommonStart(self._comm, self.slack_s, common_s, reading_s, rate)

    def learn(self, late: float) -> None:
        """Double the slack if too many were late."""
        if late > LATE:
            self.slack_s = min(2 * self.slack_s, MOST_SLACK_S)


class ChosenStart(NamedTuple):
    """How the calls of a launch begin: one of schema.SYNCS, and why."""

    way: str
    why: str


def choose(wanted: str, ranks: int, fullest: FullestNode) -> ChosenStart:
    """Return the start that is `wanted`; for `auto` by the plan and the machine, never by the load of the moment."""
    if wanted != "auto":
        return ChosenStart(wanted, "requested")
    if ranks == 1:
        return ChosenStart(BARRIER, "a single rank")
    if fullest.is_crowded:
        return ChosenStart(BARRIER, f"{fullest.words} cannot all wait for a time")
    return ChosenStart(ROUND_TIME, f"{fullest.words} can all wait for a time")


def make(way: str, comm: MPI.Comm, clock: Clock) -> Sync:
    """Return the start of that name of schema.SYNCS. Collective."""
    if way == BARRIER:
        return Barrier(comm)
    clock.compare()
    error_s = comm.allreduce(clock.error_s() if clock.ready else 0.0, MPI.MAX)  # without a clock a rank is late anyway
    return RoundTime(comm, clock, FIRST_SLACK * _slowest_median_s(comm.Barrier, comm) + 2 * error_s)


@doing("waiting for rank 0", polls=True)
def wait_quietly(comm: MPI.Comm, pause_s: float = 0.001) -> None:
    """Wait for all ranks without spinning, which would take the processor from ranks at work."""
    request = comm.Ibarrier()
    while not request.Test():
        sleep(pause_s)


def _slowest_median_s(collective: Callable[[], object], comm: MPI.Comm) -> float:
    """Return the median time of a call on the rank where it is longest, seconds."""
    spent_s = np.empty(CALLS)
    for i in range(CALLS):
        begun = perf_counter()
        collective()
        spent_s[i] = perf_counter() - begun
    spent_s.sort()
    return comm.allreduce(float(spent_s[CALLS // 2]), MPI.MAX)
