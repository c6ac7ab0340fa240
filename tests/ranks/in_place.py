"""The library's own all-reduce with MPI_IN_PLACE and out of place, in turn: `python in_place.py SIZE,… [CALLS]`.

Vectors lie at pages, as in cells. Both ways take turns call by call, in random order, each after a barrier. Rank 0
prints one JSON object: size in bytes -> [median out of place, median in place], seconds, of the maxima over ranks.
"""

import json
import sys
from time import perf_counter

import numpy as np
from mpi4py import MPI

from allreduce_bench.executing.memory import PAGES

WARMUPS, MOST_S = 5, 2.0  # of a size


def times_s(comm: MPI.Comm, nbytes: int, calls: int) -> list[float]:
    """Both medians; zeros stay zeros, however often they are added up in place."""
    sendbuf, recvbuf = PAGES.sendbuf(nbytes // 4, "float32"), PAGES.recvbuf(nbytes // 4, "float32")
    sendbuf[:], recvbuf[:] = 0, 0
    sources = [sendbuf, MPI.IN_PLACE]
    order = np.random.default_rng(1).permutation(np.tile([0, 1], calls + WARMUPS))
    spent_s: list[list[float]] = [[], []]
    begun = perf_counter()
    for way in order.tolist():
        comm.Barrier()
        entry = perf_counter()
        comm.Allreduce(sources[way], recvbuf)
        spent_s[way].append(perf_counter() - entry)
        if min(map(len, spent_s)) > WARMUPS and comm.allreduce(perf_counter() - begun, MPI.MAX) > MOST_S:
            break
    medians = []
    for of_way in spent_s:
        slowest_s = np.array(of_way)
        comm.Allreduce(MPI.IN_PLACE, slowest_s, MPI.MAX)
        medians.append(float(np.median(slowest_s[WARMUPS:])))
    return medians


def main() -> None:
    """Time all sizes."""
    sizes, calls = [int(size) for size in sys.argv[1].split(",")], int((*sys.argv[2:], 300)[0])
    found = {nbytes: times_s(MPI.COMM_WORLD, nbytes, calls) for nbytes in sizes}
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
