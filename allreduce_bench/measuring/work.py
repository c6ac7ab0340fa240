"""Action of ranks before they enter a call: a phase of work, or an injected delay.

A phase of work before each call is as in a program: its end shows which rank is late. Ranks are stamped when they begin
and when they are ready, before the common start of the call, which hides lateness. Work that spins is the same number
of operations on every rank, so that a slow core takes longer. A delay comes after the common start of a call. For such
calls the completion is compared, last exit - last entry: the work left when the last rank arrives.
"""

from collections.abc import Callable
from functools import partial
from itertools import cycle, repeat
from time import perf_counter, sleep
from zlib import crc32

import numpy as np
from mpi4py import MPI

from ..executing import Unsupported
from ..executing.memory import PAGES, filled
from ..executing.native import native
from ..runs.cell import Cell, splitmix64
from ..runs.injected import (
    HALF_LATE,
    ONE_LATE,
    RAMP,
    RANDOM,
    TRACE,
    TraceError,
    factor_of,
    late_by_of,
    trace_for,
)
from ..runs.plan import Plan
from ..watching.whereabouts import doing
from .calls import Approach
from .context import Context
from .sync import LOOKS

# Work
ELEMENTS = 2048  # float64 per operation: two vectors stay in the first cache
TRIALS, TRIAL_S = 5, 1e-3  # repetitions, and least duration, of timing operations to fill a phase
_rates: list[float] = []  # operations per second of the median rank of this launch


# Delays
MEDIAN_OF = 15  # calls of the library's own all-reduce
SLEEPS_FROM_S, WAKES_BEFORE_S = 1e-3, 5e-4  # a long delay sleeps, except near its end
DRAWN = 1000  # calls with random delays before they repeat: as many as an unlimited cell has
_native_s: dict[int, float] = {}  # size_bytes -> median time in this launch


def work_of(comm: MPI.Comm, plan: Plan) -> Approach:
    """Return the work of this rank before each call; collective."""
    seconds = plan.compute_s * factor_of(plan.inject_slowdown, comm.rank)
    if plan.work == "sleep":
        return Approach(partial(rest, seconds))
    if not _rates:
        _rates.append(_median_rate(comm))
    return Approach(partial(spin, _operation(), max(1, round(seconds * _rates[0]))))


@doing("in its phase of work", polls=True)
def rest(seconds: float) -> None:
    """Sleep, leaving the core to others."""
    sleep(seconds)


@doing("in its phase of work", polls=True)
def spin(operation: Callable[[], object], times: int) -> None:
    """Repeat the operation `times` times."""
    for _ in repeat(None, times):
        operation()


def _operation() -> Callable[[], object]:
    values = np.ones(ELEMENTS)
    return partial(np.multiply, values, np.ones(ELEMENTS), values)


def _median_rate(comm: MPI.Comm) -> float:
    """Return operations per second of the median rank, regardless of a slow or a fast core."""
    rates = sorted(comm.allgather(_own_rate()))
    return rates[len(rates) // 2]


@doing("finding out how much work fills a phase")
def _own_rate() -> float:
    """Return operations per second of this rank, in its least disturbed trial."""
    operation, times = _operation(), 64
    while _seconds_of(operation, times) < TRIAL_S:
        times *= 2
    return times / min(_seconds_of(operation, times) for _ in range(TRIALS))


def _seconds_of(operation: Callable[[], object], times: int) -> float:
    begun = perf_counter()
    spin(operation, times)
    return perf_counter() - begun


class NoPattern(Unsupported):
    """Error: a cell cannot be delayed; raised on all ranks."""


def late_by_turns(delays_s: np.ndarray) -> Approach:
    """Return the delays of this rank, float64 [call], one after the other, over and over."""
    turns = cycle(delays_s.tolist())

    def delay(begin: float, now: Callable[[], float]) -> None:
        if delay_s := next(turns):
            _wait(begin + delay_s, delay_s, now)

    return Approach(delay=delay)


@doing("in its injected delay", polls=True)
def _wait(until: float, delay_s: float, now: Callable[[], float]) -> None:
    """Wait until the own clock shows `until`."""
    if delay_s > SLEEPS_FROM_S:
        sleep(delay_s - WAKES_BEFORE_S)
    for _ in LOOKS:
        if now() >= until:
            return


def late_entry(context: Context, cell: Cell) -> Approach:
    """Return the delays of this rank in the calls of `cell`; collective. Raises NoPattern."""
    comm, plan = context.comm, context.plan
    if comm.size == 1:
        raise NoPattern("a single rank waits for nobody, so that it cannot be late")
    if plan.arrival.endswith(TRACE):
        delays_s = _trace(context)
    else:
        size_bytes = cell.size_bytes
        late_by = late_by_of(plan.late_by)
        late_by_s = late_by.seconds or (late_by.factor or 0.0) * _median_of_native_s(comm, size_bytes)
        seed = crc32(f"{plan.seed} {context.launch.name} {size_bytes}".encode())
        delays_s = pattern_delays_s(plan.arrival, late_by_s, comm.size, seed)
    return late_by_turns(delays_s[:, comm.rank])._replace(late_by_s=float(delays_s.max()))


def pattern_delays_s(pattern: str, late_by_s: float, size: int, seed: int) -> np.ndarray:
    """Return the delay of each rank in each call, seconds, float64 [call, rank]; one call if all are alike."""
    ranks = np.arange(size)
    if pattern == RANDOM:
        numbers = splitmix64(seed, np.arange(DRAWN * size)) / 2.0**64
        return late_by_s * numbers.reshape(DRAWN, size)
    shares = {
        ONE_LATE: ranks == size - 1,
        RAMP: ranks / max(1, size - 1),
        HALF_LATE: ranks >= (size + 1) // 2,
    }
    return late_by_s * shares[pattern].astype(float)[np.newaxis]


@doing("timing the library's all-reduce")
def _median_of_native_s(comm: MPI.Comm, size_bytes: int) -> float:
    """Return the median over MEDIAN_OF calls of the maximum over ranks, seconds; float32, which every MPI supports."""
    if size_bytes not in _native_s:
        count = max(1, size_bytes // 4)
        send, recv = filled(PAGES.sendbuf, count, np.float32, 0), PAGES.recvbuf(count, np.float32)
        run, spent_s = native(send, recv, comm, "sum").run, np.empty(MEDIAN_OF)
        for call in range(-1, MEDIAN_OF):  # the first one is not timed
            comm.Barrier()
            begun = perf_counter()
            run()
            spent_s[max(0, call)] = perf_counter() - begun
        comm.Allreduce(MPI.IN_PLACE, spent_s, MPI.MAX)
        _native_s[size_bytes] = float(np.sort(spent_s)[MEDIAN_OF // 2])
    return _native_s[size_bytes]


def _trace(context: Context) -> np.ndarray:
    """Read the plan's trace on rank 0 and broadcast it. Raises NoPattern."""
    plan, comm = context.plan, context.comm
    found: np.ndarray | str = ""
    if comm.rank == 0:
        try:
            found = trace_for(plan.arrival, plan.arrival_digest, [comm.size])
        except TraceError as error:
            found = str(error)
    found = comm.bcast(found)
    if isinstance(found, str):
        raise NoPattern(found)
    return found
