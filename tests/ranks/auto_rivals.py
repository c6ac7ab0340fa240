"""Holds `auto` against each of its candidates, called the same way, one after the other in rounds. Run it with

    mpirun -n 4 python auto_rivals.py SIZES ROUNDS CALLS

SIZES are bytes, comma-separated. Rank 0 prints one line of JSON for each size: the calls until it settled, what it
settled on, and the median times of `auto` and of its candidates, seconds.
"""

import json
import os
import sys
import time
from contextlib import suppress
from math import inf

import mpi4py

from allreduce_bench.measuring.startup import ranks_on_this_node, thread_level

mpi4py.rc.thread_level = thread_level("auto", ranks_on_this_node(os.environ))

import numpy as np  # noqa: E402
from mpi4py import MPI  # noqa: E402

from allreduce_bench.programs.agreement import Shape  # noqa: E402
from allreduce_bench.programs.prepared import PreparedAllreduces  # noqa: E402
from allreduce_bench.programs.settling import MOST_CALLS  # noqa: E402

COMM = MPI.COMM_WORLD


def median_s(call, calls: int) -> float:
    """The median over calls of the slowest rank's time, each after a barrier, seconds."""
    times = np.empty(calls)
    for number in range(calls):
        COMM.Barrier()
        begun = time.perf_counter()
        call()
        times[number] = time.perf_counter() - begun
    COMM.Allreduce(MPI.IN_PLACE, times, MPI.MAX)
    return float(np.median(times))


def compared(auto: PreparedAllreduces, size_bytes: int, rounds: int, calls: int) -> dict:
    """The row of one size; `auto` has settled at it."""
    vector, total = np.ones(size_bytes // 4, "f4"), np.empty(size_bytes // 4, "f4")
    shape = Shape(size_bytes // 4, "float32", "sum")
    rivals = {"auto": lambda: auto(vector, total)}
    for candidate in auto.candidates_of(shape):
        executor = "sendrecv" if candidate.executor == "native" else candidate.executor
        fixed = PreparedAllreduces(COMM, candidate.algorithm, executor)
        with suppress(ValueError):  # on all ranks: it does not run here
            fixed(vector, total)
            rivals[candidate.name] = lambda fixed=fixed: fixed(vector, total)
    found = {name: [] for name in rivals}
    for turn in range(rounds):
        for name in sorted(rivals, key=lambda name: (hash_of(name) + turn) % len(rivals)):
            found[name].append(median_s(rivals[name], calls))
    (chosen,) = [choice.candidate.name for choice in auto.choices() if choice.size_bytes == size_bytes] or ["on trial"]
    medians = {name: float(np.median(times)) for name, times in found.items()}
    return {"size_bytes": size_bytes, "chosen": chosen, "candidates": len(rivals) - 1, "times_s": medians}


def hash_of(name: str) -> int:
    """The same on all ranks."""
    return sum(map(ord, name))


def settle(auto: PreparedAllreduces, size_bytes: int, calls: int) -> int:
    """Call until it is settled, at most so many times more; the number of calls."""
    vector, total = np.ones(size_bytes // 4, "f4"), np.empty(size_bytes // 4, "f4")
    for number in range(1, calls + 1):
        auto(vector, total)
        if any(choice.size_bytes == size_bytes for choice in auto.choices()):
            return number
    return calls


def main() -> None:
    """Print the rows."""
    sizes, rounds, calls = [int(word) for word in sys.argv[1].split(",")], int(sys.argv[2]), int(sys.argv[3])
    with PreparedAllreduces(COMM, trial_share=inf) as auto:
        for size_bytes in sizes:
            settled = settle(auto, size_bytes, 2 * MOST_CALLS)
            say(compared(auto, size_bytes, rounds, calls) | {"settled_after": settled})


def say(row: dict) -> None:
    if COMM.rank == 0:
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
