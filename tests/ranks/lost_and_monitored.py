"""Steps under StepMonitor, of which a rank is lost in one; those left go on under another one. Run it with

    mpirun --with-ft ulfm -n 3 python lost_and_monitored.py

Each of those left prints `rank R: N steps`.
"""

import os
import signal

import numpy as np
from mpi4py import MPI

from allreduce_bench import RankLost, StepMonitor, survivors, wrap

STEPS, LOST, AT = 60, 1, 25
comm = wrap(MPI.COMM_WORLD.Dup(), on_failure="raise")
rank, done = comm.rank, 0
while done < STEPS:
    around = survivors(comm)
    try:
        with StepMonitor(around, every=10) as step:
            while done < STEPS:
                if (rank, done) == (LOST, AT):
                    os.kill(os.getpid(), signal.SIGKILL)
                step.ready()
                total = np.empty(1)
                comm.Allreduce(np.ones(1), total)
                assert total[0] == around.size
                step()
                done += 1
    except RankLost as lost:
        assert lost.ranks == (LOST,) and done == AT
print(f"rank {rank}: {done} steps", flush=True)
