"""A phase of work before each call, as a program has one: its end tells which rank is late to the call.

The ranks are stamped when they begin and when they are ready, before the common start of the call: after it lateness
cannot be seen. Work that spins is the same number of operations on every rank, so that a slow core takes longer for it.
"""

from collections.abc import Callable
from functools import partial
from itertools import repeat
from time import perf_counter, sleep

import numpy as np
from mpi4py import MPI

from ..executing import Between
from ..runs.injected import factor_of
from ..runs.plan import Plan
from ..watching.whereabouts import doing
from .calls import Turn
from .sync import Sync

ELEMENTS = 2048  # of an operation, float64: two vectors of them stay in the first cache
TRIALS, TRIAL_S = 5, 1e-3  # how often, and at least how long, operations are timed to know how many fill a phase

_rates: list[float] = []  # operations per second of the median rank of this launch


class Work:
    """A phase of work before each call."""

    is_completion = False
    late_by_s: float | None = None

    def __init__(self, phase: Callable[[], None]):
        """`phase` is the work of this rank."""
        self._phase = phase

    @doing("in the common start of a call", counts="call", times=("entry", "exit"))
    def timed(
        self, turn: Turn, sync: Sync, now: Callable[[], float], calls: int, between: Between | None = None
    ) -> np.ndarray:
        """Of `calls` calls of this rank float64 [5, call]: entry, exit, on time, begin of the work, ready."""
        rows = np.zeros((5, calls))
        phase, enter = self._phase, sync.begin
        for call in range(calls):
            if between:
                between.before(call)
            run = turn()
            begin = now()
            phase()
            ready = now()
            on_time = enter()
            entry = now()
            run()
            exit = now()
            rows[:, call] = entry, exit, on_time, begin, ready
            if between:
                between.after(call)
        return rows


def work_of(comm: MPI.Comm, plan: Plan) -> Work:
    """The work of this rank before each call; all ranks must ask."""
    seconds = plan.compute_s * factor_of(plan.inject_slowdown, comm.rank)
    if plan.work == "sleep":
        return Work(partial(rest, seconds))
    if not _rates:
        _rates.append(_median_rate(comm))
    return Work(partial(spin, _operation(), max(1, round(seconds * _rates[0]))))


@doing("in its phase of work", polls=True)
def rest(seconds: float) -> None:
    """Leave the core to others for so long."""
    sleep(seconds)


@doing("in its phase of work", polls=True)
def spin(operation: Callable[[], object], times: int) -> None:
    """Do the operation so many times."""
    for _ in repeat(None, times):
        operation()


def _operation() -> Callable[[], object]:
    values = np.ones(ELEMENTS)
    return partial(np.multiply, values, np.ones(ELEMENTS), values)


def _median_rate(comm: MPI.Comm) -> float:
    """Operations per second of the rank in the middle: neither a slow core nor a fast one decides for the others."""
    rates = sorted(comm.allgather(_own_rate()))
    return rates[len(rates) // 2]


@doing("finding out how much work fills a phase")
def _own_rate() -> float:
    """Operations per second of this rank, in its least disturbed trial."""
    operation, times = _operation(), 64
    while _seconds_of(operation, times) < TRIAL_S:
        times *= 2
    return times / min(_seconds_of(operation, times) for _ in range(TRIALS))


def _seconds_of(operation: Callable[[], object], times: int) -> float:
    begun = perf_counter()
    spin(operation, times)
    return perf_counter() - begun
