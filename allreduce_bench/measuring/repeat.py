"""One cell: check it, warm it up, repeat it; raw times come out."""

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..watching.whereabouts import doing
from .budget import Ahead, Budget, ahead, warmups_left
from .calls import CellTimes, FurtherColumns, TimedCalls, no_columns
from .clock import Clock
from .execute import Prepared, native, native_datatype
from .sync import Barrier, Sync
from .vectors import POISON, exact_operand, expected

Turn = Callable[[], Callable[[], None]]


class CheckedCall(NamedTuple):
    """What one checked call gave."""

    wrong: int  # elements over all ranks
    time_s: float  # of the call on rank 0, not a measurement: the others may have entered later


@doing("checking the result")
def check(call: Prepared, sendbuf, recvbuf, comm: MPI.Comm, op: str, first: int = 0) -> CheckedCall:
    """Run `call` once on exact inputs; count the wrong elements over all ranks, inputs that it changed included.

    The result is held against the one computed without MPI, and that against the library's `MPI_Allreduce` where it has
    this type. `first`: where the inputs begin, see `vectors`.
    """
    dtype, count = sendbuf.dtype.name, sendbuf.size
    sendbuf[:] = exact_operand(comm.rank, count, dtype, op, first)
    recvbuf[:] = POISON
    comm.Barrier()
    entry = perf_counter()
    call.run()
    time_s = perf_counter() - entry
    reference = expected(comm.size, count, dtype, op, first)
    wrong = np.count_nonzero(recvbuf != reference)
    if native_datatype(dtype) is not None:
        native(sendbuf, reference, comm, op).run()
        wrong += np.count_nonzero(recvbuf != reference)
    wrong += np.count_nonzero(sendbuf != exact_operand(comm.rank, count, dtype, op, first))
    return CheckedCall(comm.allreduce(wrong), time_s)


@doing("between calls", counts="done")
def repeat(
    turn: Turn, comm: MPI.Comm, budget: Budget, sync: Sync, clock: Clock, columns: FurtherColumns = no_columns
) -> CellTimes:
    """Warm up and time calls on all ranks, each after a common start, until rank 0 says that it is enough.

    `turn` gives the call to time, and is asked before each start. Where no call began on time it goes on by a barrier.
    `columns`: what else is wanted of every call.
    """
    clock.compare_if_due()
    jumps, calls, done = clock.jumps, TimedCalls(comm, columns), 0
    calls.add(_timed(turn, sync, clock.now, min(1, budget.warmups)), sync)
    if budget.warmups > 1:
        calls.add(_timed(turn, sync, clock.now, _agree(comm, warmups_left(budget, perf_counter()))), sync)
    calls.end_warmups()
    start = perf_counter()
    while (batch := _agree(comm, _ahead(budget, calls, done, start))).calls:
        if batch.fall_back:
            sync, done, start = Barrier(comm), 0, perf_counter()
        calls.add(_timed(turn, sync, clock.now, batch.calls), sync)
        done += batch.calls
    clock.compare()
    return calls.times(clock.line(*calls.span) if clock.jumps == jumps else None, batch.stopped)


@doing("between calls", counts="call")
def back_to_back(run: Callable[[], None], comm: MPI.Comm, clock: Clock, calls: int) -> float | None:
    """Time a loop of `calls` calls without a common start; its mean over ranks, for each call, in seconds on rank 0."""
    comm.Barrier()
    entry = clock.now()
    for call in range(calls):  # noqa: B007 - the monitor reads it
        run()
    total = comm.reduce(clock.now() - entry)
    return None if total is None else total / comm.size / calls


def _ahead(budget: Budget, calls: TimedCalls, done: int, start: float) -> Ahead | None:
    """What comes after the `done` calls since `start`; None on all but rank 0, which decides."""
    if calls.comm.rank:
        return None
    now = perf_counter()
    return ahead(budget, calls.sample(done, now - start), now)


@doing("waiting for rank 0")
def _agree(comm: MPI.Comm, decision):
    return comm.bcast(decision)


@doing("in the common start of a call", counts="call", times=("entry", "exit"))
def _timed(turn: Turn, sync: Sync, now: Callable[[], float], calls: int) -> np.ndarray:
    """Entry, exit (seconds on the own clock) and whether it was on time, of `calls` calls of this rank: [3, call]."""
    entries, exits, on_times = [0.0] * calls, [0.0] * calls, [False] * calls
    begin = sync.begin
    for call in range(calls):
        run = turn()
        on_time = begin()
        entry = now()
        run()
        exit = now()
        entries[call], exits[call], on_times[call] = entry, exit, on_time
    return np.array([entries, exits, on_times], float)
