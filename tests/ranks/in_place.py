"""The library's own all-reduce with MPI_IN_PLACE and out of place, in turn: `python in_place.py SIZE,… [CALLS]`.

Vectors lie at pages, as in cells, and the compiled loop of cells makes the calls, so that mpi4py's look at its
arguments is in neither time. Both ways take turns call by call, in random order, each after a barrier. Rank 0 prints
one JSON object: size in bytes -> [median out of place, median in place], seconds, of the maxima over ranks.
"""

import json
import sys
from time import perf_counter

import numpy as np
from mpi4py import MPI

from allreduce_bench.executing import CommonStart, compiled
from allreduce_bench.executing.memory import PAGES

WARMUPS, LOOKS, MOST_S = 5, 10, 2.0  # calls of a way that do not count; how often the time is looked at; of a size


def times_s(comm: MPI.Comm, size_bytes: int, calls: int) -> list[float]:
    """Both medians; zeros stay zeros, however often they are added up in place."""
    sendbuf, recvbuf = PAGES.sendbuf(size_bytes // 4, "float32"), PAGES.recvbuf(size_bytes // 4, "float32")
    sendbuf[:], recvbuf[:] = 0, 0
    ways = [compiled.native(vector, recvbuf, comm, "sum") for vector in (sendbuf, recvbuf)]
    start, random = CommonStart(comm), np.random.default_rng(1)
    spent_s: list[list[float]] = [[], []]
    begun = perf_counter()
    for _ in range(LOOKS):
        for way in random.permutation(np.tile([0, 1], -(-(calls + WARMUPS) // LOOKS))).tolist():
            entry, exit, _ = ways[way].timed_calls(1, start)
            spent_s[way].append(exit[0] - entry[0])
        if comm.allreduce(perf_counter() - begun, MPI.MAX) > MOST_S and len(spent_s[0]) > 2 * WARMUPS:
            break
    slowest_s = np.array(spent_s)
    comm.Allreduce(MPI.IN_PLACE, slowest_s, MPI.MAX)
    return np.median(slowest_s[:, WARMUPS:], axis=1).tolist()


def main() -> None:
    """Time all sizes."""
    sizes, calls = [int(size) for size in sys.argv[1].split(",")], int((*sys.argv[2:], 300)[0])
    compiled.make_ready("float32")
    found = {size_bytes: times_s(MPI.COMM_WORLD, size_bytes, calls) for size_bytes in sizes}
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
