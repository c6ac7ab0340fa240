"""Ranks that run a pipelined ring while the last one stays away: each prints where it is, as JSON, and all are ended.

mpirun -n 3 python hanging_pipeline.py
"""

import json
import os
import sys
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
STUCK_AFTER_S, OTHERS_S = 1.5, 1.5


def say_where(rank: int) -> None:
    """Once everybody is where they stay; whoever ends first ends all."""
    time.sleep(STUCK_AFTER_S)
    sys.stdout.write(json.dumps({"rank": rank, **where()}) + "\n")
    sys.stdout.flush()
    time.sleep(OTHERS_S)
    os._exit(1)


def main() -> None:
    """Bind on all ranks, run on all but the last."""
    comm = MPI.COMM_WORLD.Dup()
    whole = builtin()["ring"].steps(comm.rank, comm.size, Topology.one_node(comm.size), COUNT, COUNT)
    sendbuf, recvbuf = np.ones(COUNT), np.empty(COUNT)
    call = EXECUTORS["pipelined"](cut(list(whole), SEGMENT), sendbuf, recvbuf, comm, "sum", WINDOW)
    comm.Barrier()
    threading.Thread(target=say_where, args=[comm.rank], daemon=True).start()
    if comm.rank < comm.size - 1:
        call.run()
    time.sleep(STUCK_AFTER_S + 2 * OTHERS_S)


if __name__ == "__main__":
    main()
