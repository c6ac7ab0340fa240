"""Action of ranks before they enter a call: a phase of work, or an injected delay.

`Work` is a phase of work before each call, as in a program: its end shows which rank is late. Ranks are stamped when
they begin and when they are ready, before the common start of the call, which hides lateness. Work that spins is the
same number of operations on every rank, so that a slow core takes longer. `LateEntry` delays each rank after the common
start of a call. For such calls the completion is compared, last exit - last entry: the work left when the last rank
arrives.
"""

from collections.abc import Callable
from functools import partial
from itertools import repeat
from time import perf_counter, sleep
from zlib import crc32

import numpy as np
from mpi4py import MPI

from ..executing import Unsupported, native
from ..executing.call_numbers import CallNumbers
from ..executing.memory import PAGES, filled
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
from .calls import Turn
from .context import Context
from .sync import LOOKS, Sync

# Work
ELEMENTS = 2048  # float64 per operation: two vectors stay in the first cache
TRIALS, TRIAL_S = 5, 1e-3  # repetitions, and least duration, of timing operations to fill a phase
_rates: list[float] = []  # operations per second of the median rank of this launch


# Delays
MEDIAN_OF = 15  # calls of the library's own all-reduce
SLEEPS_FROM_S, WAKES_BEFORE_S = 1e-3, 5e-4  # a long delay sleeps, except near its end
DRAWN = 1000  # calls with random delays before they repeat: as many as an unlimited cell has
_native_s: dict[int, float] = {}  # size_bytes -> median time in this launch


class Work:
    """Phase of work before each call."""

    is_completion = False
    late_by_s: float | None = None

    def __init__(self, phase: Callable[[], None]):
        """Take `phase`, the work of this rank."""
        self._phase = phase

    @doing("in the common start of a call", counts="call", times=("entry", "exit"))
    def timed(
        self, turn: Turn, sync: Sync, now: Callable[[], float], calls: int, numbers: CallNumbers | None = None
    ) -> np.ndarray:
        """Time `calls` calls of this rank; return float64 [5, call]: entry, exit, on time, begin of the work, ready."""
        rows = np.zeros((5, calls))
        phase, enter = self._phase, sync.begin
        for call in range(calls):
            if numbers:
                numbers.write()
            run = turn()
            begin = now()
            phase()
            ready = now()
            on_time = enter()
            entry = now()
            run()
            exit = now()
            rows[:, call] = entry, exit, on_time, begin, ready
            if numbers:
                numbers.look()
        return rows


def work_of(comm: MPI.Comm, plan: Plan) -> Work:
    """Return the work of this rank before each call; collective."""
    seconds = plan.compute_s * factor_of(plan.inject_slowdown, comm.rank)
    if plan.work == "sleep":
        return Work(partial(rest, seconds))
    if not _rates:
        _rates.append(_median_rate(comm))
    return Work(partial(spin, _operation(), max(1, round(seconds * _rates[0]))))


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


class LateEntry:
    """Delay of this rank before each call."""

    def __init__(self, delays_s: np.ndarray, is_completion: bool, late_by_s: float | None = None):
        """Take `delays_s` of this rank, float64 [call]; they repeat."""
        self.is_completion, self.late_by_s = is_completion, late_by_s
        self._delays_s, self._done = delays_s.tolist(), 0

    @doing("in the common start of a call", counts="call", times=("entry", "exit"))
    def timed(self, turn: Turn, sync: Sync, now, calls: int, numbers: CallNumbers | None = None) -> np.ndarray:
        """Time `calls` calls of this rank; return float64 [5, call]: entry, exit, on time, the common start, entry."""
        rows = np.zeros((5, calls))
        delays_s, enter = self._delays_s, sync.begin
        for call in range(calls):
            delay_s = delays_s[self._done % len(delays_s)]
            self._done += 1
            if numbers:
                numbers.write()
            run = turn()
            on_time = enter()
            begin = now()
            if delay_s:
                delay(begin + delay_s, delay_s, now)
            entry = now()
            run()
            exit = now()
            rows[:, call] = entry, exit, on_time, begin, entry
            if numbers:
                numbers.look()
        return rows


@doing("in its injected delay", polls=True)
def delay(until: float, delay_s: float, now) -> None:
    """Wait until the own clock shows `until`."""
    if delay_s > SLEEPS_FROM_S:
        sleep(delay_s - WAKES_BEFORE_S)
    for _ in LOOKS:
        if now() >= until:
            return


def late_entry(context: Context, cell: Cell) -> LateEntry:
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
    return LateEntry(delays_s[:, comm.rank], is_completion=True, late_by_s=float(delays_s.max()))


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
