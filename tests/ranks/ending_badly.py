"""A program of a user that ends as it is told: `mpirun -n 3 python ending_badly.py well`, or kill, exit, raise, abort.

Rank 1 does it, or leaves early with `leave`; the others wait for it. With `raise` it has called Allreduce before; with
`error` it raises, too, and has not.
"""

import os
import signal
import sys
import time

from mpi4py import MPI

from allreduce_bench import Allreduce


def main() -> None:
    """All ranks speak first."""
    comm, how = MPI.COMM_WORLD, sys.argv[1]
    print(f"rank {comm.rank} of {comm.size} {' '.join(sys.argv[2:])}", flush=True)
    comm.Barrier()
    if how == "raise":
        import numpy as np

        Allreduce(np.ones(1), np.zeros(1), algorithm="ring", executor="sendrecv")
    if comm.rank == 1:
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "exit":
            os._exit(3)
        if how == "leave":
            os._exit(0)  # without MPI_Finalize
        if how == "abort":
            comm.Abort(7)
        if how in ("raise", "error"):
            raise RuntimeError("nobody catches this")
    if how != "well":
        comm.Barrier()
        time.sleep(600)


if __name__ == "__main__":
    main()
