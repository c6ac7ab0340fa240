"""Ranks that run a pipelined ring while the last one stays away."""

import threading
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

from allreduce_bench.algorithms import builtin
from allreduce_bench.executing import EXECUTORS
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.cut import cut
from allreduce_bench.watching.whereabouts import where

COUNT, SEGMENT, WINDOW = 3 * 400_000, 100_000, 2  # 4 pieces a block, too long to be sent without a receiver
LOOKS, LOOK_S = 10, 0.05  # that see the same, for a rank to be where it stays


def hang(comm: MPI.Comm, folder: Path) -> dict:
    """Bind on all ranks, run on all but the last, and return where this rank is once everybody is where they stay."""
    is_away = comm.rank == comm.size - 1
    whole = builtin()["ring"].steps(comm.rank, comm.size, Topology.one_node(comm.size), COUNT, COUNT)
    sendbuf, recvbuf = np.ones(COUNT), np.empty(COUNT)
    call = EXECUTORS["pipelined"](cut(list(whole), SEGMENT), sendbuf, recvbuf, comm, "sum", WINDOW)
    seen: list[dict] = []

    def look() -> None:
        while len(seen) < LOOKS or not (is_away or seen[-1]["call"]) or seen[-1]["call"] != seen[-LOOKS]["call"]:
            time.sleep(LOOK_S)
            seen.append(where())
        (folder / str(comm.rank)).touch()

    comm.Barrier()
    looking = threading.Thread(target=look)
    looking.start()
    while is_away and len([*folder.iterdir()]) < comm.size:
        time.sleep(LOOK_S)
    call.run()
    call.close()
    looking.join()
    return seen[-1]
