"""Programs that use `Allreduce` roughly, and go on afterwards. Run it with

    mpirun -n 3 python misused_allreduce.py

Prints `N checks, 0 failed`; a failed one ends all ranks with status 1.
"""

import os
import traceback

import numpy as np
from called_allreduce import COMM, PYTHON, check, refusal
from mpi4py import MPI

from allreduce_bench.programs.prepared import PreparedAllreduces


def changed_in_place() -> None:
    """Arrays of the call before, of another length and then read-only."""
    ones, total = np.ones(8000), np.zeros(8000)
    with PreparedAllreduces(COMM, "ring", PYTHON) as allreduce:
        allreduce(ones, total)
        for array in (ones, total):
            array.resize(4000, refcheck=False)
        total[:] = 0
        allreduce(ones, total)
        check((total == COMM.size).all(), "shorter")
        total.flags.writeable = False
        refusal("read-only", lambda: allreduce(ones, total))
        check({shape.count for shape in allreduce.calls_of_trials()} == {8000, 4000}, "lengths")


def main() -> None:
    """All of it."""
    changed_in_place()
    COMM.Barrier()
    if COMM.rank == 0:
        from called_allreduce import checked

        print(f"{checked} checks, 0 failed", flush=True)


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        MPI.COMM_WORLD.Abort(1)
        os._exit(1)
