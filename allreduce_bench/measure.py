"""One cell: check it, warm it up, repeat it; raw times come out."""

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from . import exact
from .execute import Prepared, native, native_datatype

Turn = Callable[[], Callable[[], None]]
MIN_REPETITIONS, MAX_REPETITIONS = 5, 100  # where a time budget decides


class Budget(NamedTuple):
    """How long to repeat a cell."""

    warmups: int
    iterations: int | None  # exactly so many; None: as many as fit `time_s`, 5 to 100
    time_s: float
    min_time_s: float = 0.0  # however many calls that takes
    deadline_s: float | None = None  # on rank 0's perf_counter; None: none


class Times(NamedTuple):
    """The time of every call, warm-ups first: float64 [call], seconds; all but rank 0 get empty arrays."""

    time_s: np.ndarray  # the maximum over ranks of exit - entry
    slowest_rank: np.ndarray
    warmups: int


class Check(NamedTuple):
    """What one checked call gave."""

    wrong: int  # elements over all ranks
    time_s: float  # of the call on rank 0, not a measurement: the others may have entered later


def check(call: Prepared, sendbuf, recvbuf, comm: MPI.Comm, op: str) -> Check:
    """Run `call` once on exact inputs; count the wrong elements over all ranks, inputs that it changed included.

    The result is held against the one computed without MPI, and that against the library's `MPI_Allreduce` where it has
    this type.
    """
    dtype, count = sendbuf.dtype.name, sendbuf.size
    sendbuf[:] = exact.operand(comm.rank, count, dtype, op)
    recvbuf[:] = exact.POISON
    comm.Barrier()
    entry = perf_counter()
    call.run()
    time_s = perf_counter() - entry
    reference = exact.expected(comm.size, count, dtype, op)
    wrong = np.count_nonzero(recvbuf != reference)
    if native_datatype(dtype) is not None:
        native(sendbuf, reference, comm, op).run()
        wrong += np.count_nonzero(recvbuf != reference)
    wrong += np.count_nonzero(sendbuf != exact.operand(comm.rank, count, dtype, op))
    return Check(comm.allreduce(wrong), time_s)


def repeat(run: Callable[[], None], comm: MPI.Comm, budget: Budget, turn: Turn | None = None) -> Times:
    """Warm up and time `run` on all ranks, each call after a barrier, until the budget of rank 0 is used.

    `turn` gives another call to time each time; it is asked before the barrier.
    """
    turn = turn or (lambda: run)
    blocks = [_timed(turn, comm, min(1, budget.warmups))]
    if budget.warmups > 1:
        blocks.append(_timed(turn, comm, _agree(comm, _warmups_left(budget))))
    warmups = sum(map(len, blocks))
    done, start = 0, perf_counter()
    while batch := _agree(comm, _next_batch(budget, done, perf_counter() - start)):
        blocks.append(_timed(turn, comm, batch))
        done += batch
    return _over_ranks(np.concatenate(blocks), comm, warmups)


def _agree(comm: MPI.Comm, number: int) -> int:
    return comm.bcast(number)


def _warmups_left(budget: Budget) -> int:
    """After the first: all of them, or none where the time of the launch has run out."""
    return 0 if budget.deadline_s is not None and perf_counter() > budget.deadline_s else budget.warmups - 1


def _next_batch(budget: Budget, done: int, spent_s: float) -> int:
    """The number of calls until the clock is looked at again; 0 ends the cell."""
    if budget.deadline_s is not None and done and perf_counter() > budget.deadline_s:
        return 0
    if budget.iterations is not None:
        return min(budget.iterations - done, 10)
    if done == 0:
        return 1
    left, needed = (int((time_s - spent_s) / (spent_s / done)) for time_s in (budget.time_s, budget.min_time_s))
    wanted = min(max(left, MIN_REPETITIONS - done), MAX_REPETITIONS - done)
    return max(0, min(max(wanted, needed + (spent_s < budget.min_time_s)), 2 * done))


def _timed(turn: Turn, comm: MPI.Comm, calls: int) -> np.ndarray:
    """exit - entry of each of `calls` calls on this rank: float64 [call], seconds."""
    durations = np.empty(calls)
    clock, barrier = perf_counter, comm.Barrier
    for call in range(calls):
        run = turn()
        barrier()
        entry = clock()
        run()
        durations[call] = clock() - entry
    return durations


def _over_ranks(durations: np.ndarray, comm: MPI.Comm, warmups: int) -> Times:
    everyone = np.empty((comm.size, durations.size)) if comm.rank == 0 else None
    comm.Gather(durations, everyone)
    if everyone is None:
        return Times(np.empty(0), np.empty(0, int), warmups)
    return Times(everyone.max(axis=0), everyone.argmax(axis=0), warmups)
