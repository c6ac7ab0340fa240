"""A loop of calls without a common start, as nccl-tests times it: few runs ask for it.

Its input stays the same: it is checked at its ends, and by its rate.
"""

from collections.abc import Callable

from mpi4py import MPI

from ..executing import CommonStart, Prepared
from ..units import format_time
from ..watching.whereabouts import doing
from .budget import BATCH_S
from .calls import TimedLoop, timed
from .sync import Barrier, Clock

LEAST = 0.25  # of the time that a rank spends in a call alone: warmer caches explain no more
AGAIN, SINGLE = 4, 200  # times, and calls each, that a loop is timed again before it is called impossible


def back_to_back(call: Prepared, comm: MPI.Comm, clock: Clock, calls: int) -> float | None:
    """Time a loop of `calls` calls without a common start; its mean over ranks, for each call, in seconds on rank 0."""
    comm.Barrier()
    total_s = comm.reduce(_in_loop(call.timed_calls, calls) if call.timed_calls else _in_python(call.run, clock, calls))
    return None if total_s is None else total_s / comm.size / calls


def why_impossible(loop_s: float | None, least_s: float, call: Prepared, comm: MPI.Comm, clock: Clock) -> str:
    """Why no loop of all-reduces takes `loop_s` seconds a call, as rank 0 finds with all ranks; empty: it may.

    No rank leaves an all-reduce before the last one has entered it, and that one enters after its exit from the call
    before: so a call of the loop takes at least as long as the last rank to enter spends in one. `least_s`: the least
    of exit - entry over timed calls and ranks. Where the loop seems too quick, both are timed again, one after the
    other: a machine that was busy in one of them only is no fault.
    """
    for _ in range(AGAIN):
        if comm.bcast(loop_s is None or loop_s >= LEAST * least_s):
            return ""
        loop_s, least_s = back_to_back(call, comm, clock, SINGLE), _least_s(call, comm, clock)
    return comm.bcast(
        f"a loop without common starts took {format_time(loop_s or 0.0)} a call, but a rank spends at least "
        f"{format_time(least_s)} in one alone: the loop left out calls"
    )


def _least_s(call: Prepared, comm: MPI.Comm, clock: Clock) -> float:
    """The least of exit - entry over SINGLE calls, each after a barrier, and over ranks."""
    if call.timed_calls:
        entry, exit, _ = call.timed_calls(SINGLE, CommonStart(comm), None)
    else:
        entry, exit, _ = timed(lambda: call.run, Barrier(comm), clock.now, SINGLE)
    return comm.allreduce(float((exit - entry).min()), MPI.MIN)


@doing("between calls", counts="call")
def _in_python(run: Callable[[], object], clock: Clock, calls: int) -> float:
    entry = clock.now()
    for call in range(calls):  # noqa: B007 - the monitor reads it
        run()
    return clock.now() - entry


@doing("between calls", counts="done")
def _in_loop(loop: TimedLoop, calls: int) -> float:
    spent_s, done, batch = 0.0, 0, 1
    while done < calls:
        stamps = loop(min(batch, calls - done), None, None)  # what is between batches is not counted
        spent_s += stamps[1, -1] - stamps[0, 0]
        done += stamps.shape[1]
        batch = max(1, int(BATCH_S * done / max(spent_s, 1e-9)))
    return spent_s
