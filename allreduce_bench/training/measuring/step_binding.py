"""An all-reduce of a training step, bound to its vectors: the library's own, or the steps of an algorithm."""

import numpy as np
from mpi4py import MPI

from ...algorithms import builtin
from ...executing import EXECUTORS, NATIVES, Prepared, Unsupported
from ...runs.cell import COMPILED
from ...schedule.cut import cut_schedules
from ...schedule.topology import Topology
from .step_request import NATIVE, Request


def bind(request: Request, sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm, op: str) -> Prepared:
    """By the algorithm and the executor of `request`; no rank waits for another one here.

    Steps are cut and posted ahead by executors that do so where the cut steps are proved. Raises Unsupported,
    AlgorithmError.
    """
    if request.algorithm == NATIVE:
        return NATIVES[request.executor](sendbuf, recvbuf, comm, op)
    algorithm, topology = builtin()[request.algorithm], Topology.one_node(comm.size)
    if not request.executor.endswith("pipelined") or algorithm.segmented:
        steps = algorithm.schedule(comm.rank, comm.size, topology, sendbuf.size, request.segment)
        window = [request.window] if request.executor.endswith("pipelined") else []
        return EXECUTORS[request.executor](steps, sendbuf, recvbuf, comm, op, *window)
    whole = algorithm.schedules(comm.size, topology, sendbuf.size, request.segment)
    schedules, run_whole, _ = cut_schedules(whole, sendbuf.size, request.segment)
    window = [1 if run_whole else request.window]  # whole messages posted ahead would take as many vectors of scratch
    return EXECUTORS[request.executor](schedules[comm.rank], sendbuf, recvbuf, comm, op, *window)


def make_ready(request: Request, comm: MPI.Comm) -> None:
    """Compile what is compiled before it is timed. Raises Unsupported."""
    if request.executor in COMPILED:
        from ...measuring.compiling import compile_in_turns  # late: few ranks compile

        if reason := compile_in_turns(comm, Topology.one_node(comm.size), request.dtype):
            raise Unsupported(reason)
