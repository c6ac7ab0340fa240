"""What does a call of ours cost beside the same call of mpi4py? Half a minute: `python call_cost.py [RANKS]`.

8 bytes in shared memory; for each way to call, the least over rounds of the time of a call in a row of them,
microseconds, and over that of mpi4py's own. Exit status 1: a call through `wrap` took more than MOST times as long.
"""

import os
import sys
import time
from math import inf

ROUNDS, CALLS = 201, 512
MOST = 1.5  # times mpi4py's own call
INSIDE = "CALL_COST_INSIDE"  # a variable: this process is a rank


def rank() -> None:
    """Call in all ways, in turn; rank 0 prints the table."""
    import numpy as np
    from mpi4py import MPI

    from allreduce_bench import Allreduce, wrap
    from allreduce_bench.programs.prepared import PreparedAllreduces

    comm = MPI.COMM_WORLD
    (send, recv), (other, total) = ((np.ones(2, "f4"), np.empty(2, "f4")) for _ in range(2))
    auto = PreparedAllreduces(comm, trial_share=inf)
    while not auto.choices():
        auto(send, recv)

    wrapped, fixed = wrap(comm.Dup()), wrap(comm.Dup(), algorithm="native")

    def in_turn() -> None:
        fixed.Allreduce(send, recv)
        fixed.Allreduce(other, total)

    ways = {
        "mpi4py": (1, lambda: comm.Allreduce(send, recv)),
        "mpi4py, in place": (1, lambda: comm.Allreduce(MPI.IN_PLACE, recv)),
        "wrap, auto, not tried yet": (1, lambda: wrapped.Allreduce(send, recv)),
        "wrap, native": (1, lambda: fixed.Allreduce(send, recv)),
        "wrap, native, two pairs of arrays in turn": (2, in_turn),
        "wrap, in place": (1, lambda: wrapped.Allreduce(MPI.IN_PLACE, recv)),
        "wrap, a buffer named as a list": (1, lambda: fixed.Allreduce([send, MPI.FLOAT], recv)),
        "Allreduce, auto, not tried yet": (1, lambda: Allreduce(send, recv, MPI.SUM, comm)),
        f"auto, which has settled on {auto.choices()[0].candidate.name}": (1, lambda: auto(send, recv)),
    }
    taken = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, (calls, call) in ways.items():
            comm.Barrier()
            begun = time.perf_counter()
            for _ in range(CALLS // calls):
                call()
            taken[name].append((time.perf_counter() - begun) / CALLS * 1e6)
    if comm.rank == 0:
        own_us = min(taken["mpi4py"])
        for name, times_us in taken.items():
            print(f"{name:45s} {min(times_us):6.2f} us  {min(times_us) / own_us:5.2f} of mpi4py's")
        plain = [name for name in ways if name.startswith("wrap") and "list" not in name]
        sys.exit(int(max(min(taken[name]) for name in plain) > MOST * own_us))


def main() -> None:
    """Become the mpirun of this interpreter."""
    if os.environ.get(INSIDE):
        rank()
        return
    from allreduce_bench.launching.find import find_launcher, mpirun_command
    from allreduce_bench.runs.start import Start

    start = Start()
    command = mpirun_command(find_launcher(start), int(*sys.argv[1:] or [2]), start, [sys.executable, __file__])
    os.environ[INSIDE] = "yes"
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
