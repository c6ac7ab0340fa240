"""Ranks that run a pipelined ring while the last one stays away."""

import threading
import time

import numpy as np
from mpi4py import MPI

from allreduce_bench.algorithms import builtin
from allreduce_bench.executing import EXECUTORS
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.cut import cut
from allreduce_bench.watching.whereabouts import where

COUNT, SEGMENT, WINDOW = 3 * 400_000, 100_000, 2  # 4 pieces a block, too long to be sent without a receiver
STUCK_AFTER_S = 0.8


def hang(comm: MPI.Comm) -> dict:
    """Bind on all ranks, run on all but the last, and return where this rank is once everybody is where they stay."""
    whole = builtin()["ring"].steps(comm.rank, comm.size, Topology.one_node(comm.size), COUNT, COUNT)
    sendbuf, recvbuf = np.ones(COUNT), np.empty(COUNT)
    call = EXECUTORS["pipelined"](cut(list(whole), SEGMENT), sendbuf, recvbuf, comm, "sum", WINDOW)
    places: list[dict] = []
    comm.Barrier()
    threading.Timer(STUCK_AFTER_S, lambda: places.append(where())).start()
    if comm.rank == comm.size - 1:
        time.sleep(2 * STUCK_AFTER_S)
    call.run()
    call.close()
    return places[0]
