"""Kernel of compiled executors on all ranks: one of them compiles it, the others load it from the cache.

One rank per node goes before the others, since another processor or file system has another cache.
"""

from mpi4py import MPI

from ..executing import Unsupported
from ..schedule.algorithm import Topology
from .sync import wait_quietly

_ready: set[str] = set()  # dtypes compiled in this process


def compile_in_turns(comm: MPI.Comm, real: Topology, dtype: str) -> str | None:
    """Make the kernel for `dtype` ready on all ranks of `comm`; return why a rank could not, or None. Collective.

    `real` are the nodes of these ranks. Waiting ranks leave the processor to the one that compiles.
    """
    if comm.allreduce(dtype in _ready, MPI.LAND):
        return None
    reason, node = None, real.node_of[comm.rank]
    own_turn = 0 if comm.rank == 0 else 1 if real.node_of.index(node) == comm.rank else 2
    for turn in range(3):
        if turn == own_turn:
            reason = _reason_not_ready(dtype)
        wait_quietly(comm)
    reasons = [reason for reason in comm.allgather(reason) if reason]
    if not reasons:
        _ready.add(dtype)
    return reasons[0] if reasons else None


def _reason_not_ready(dtype: str) -> str | None:
    try:
        from ..executing.compiled import make_ready  # late: it takes a second

        make_ready(dtype)
    except (ImportError, AttributeError) as error:
        return f"compiled code needs numba, with types.ExternalFunction: {error}"
    except Unsupported as error:
        return str(error)
    return None
