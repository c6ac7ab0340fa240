"""A loop of calls without a common start, as nccl-tests times it: few runs ask for it."""

from collections.abc import Callable

from mpi4py import MPI

from ..executing import Prepared
from ..watching.whereabouts import doing
from .budget import BATCH_S
from .calls import TimedLoop
from .clock import Clock


def back_to_back(call: Prepared, comm: MPI.Comm, clock: Clock, calls: int) -> float | None:
    """Time a loop of `calls` calls without a common start; its mean over ranks, for each call, in seconds on rank 0."""
    comm.Barrier()
    total_s = comm.reduce(_in_loop(call.timed_calls, calls) if call.timed_calls else _in_python(call.run, clock, calls))
    return None if total_s is None else total_s / comm.size / calls


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
        stamps = loop(min(batch, calls - done), None)  # what is between batches is not counted
        spent_s += stamps[1, -1] - stamps[0, 0]
        done += stamps.shape[1]
        batch = max(1, int(BATCH_S * done / max(spent_s, 1e-9)))
    return spent_s
