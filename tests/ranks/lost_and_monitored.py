"""Steps under one StepMonitor, of which two ranks are lost in different ones: those left go on. Run it with

    mpirun --with-ft ulfm -n 4 python lost_and_monitored.py raise|shrink LOG

One rank dies before an all-reduce, the other between an all-reduce and the end of the step. Each of those left prints
`rank R: N steps`.
"""

import os
import signal
import sys

import numpy as np
from mpi4py import MPI

from allreduce_bench import RankLost, StepMonitor, survivors, wrap

STEPS, BEFORE, BEHIND = 60, {0: 25}, {2: 41}  # rank: step
comm = wrap(MPI.COMM_WORLD.Dup(), on_failure=sys.argv[1])
rank, done = comm.rank, 0


def lose(losses: dict[int, int]) -> None:
    if losses.get(rank) == done:
        os.kill(os.getpid(), signal.SIGKILL)


with StepMonitor(comm, every=4, log=sys.argv[2]) as step:
    while done < STEPS:
        lose(BEFORE)
        step.ready()
        total, around = np.empty(1), survivors(comm)
        try:
            comm.Allreduce(np.ones(1), total)
        except RankLost:
            step.go_on(survivors(comm))
            continue
        assert total[0] == survivors(comm).size
        lose(BEHIND)
        step()
        done += 1
        if survivors(comm).size < around.size:  # shrunk, and done again
            step.go_on(survivors(comm))
print(f"rank {rank}: {done} steps", flush=True)
