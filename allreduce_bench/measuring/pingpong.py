"""`python -m allreduce_bench.measuring.pingpong`: ranks 0 and 1 send a message to and fro; rank 0 prints times as JSON.

Half a round trip is the time of one message (Hockney, "The communication challenge for MPP", 1994): of a short one the
latency alpha, of a long one nearly its bytes over the rate.
"""

import json
from statistics import median
from time import perf_counter

import numpy as np
from mpi4py import MPI

SHORT, LONG = 8, 1 << 20  # bytes
ROUND_TRIPS = {SHORT: 1000, LONG: 3}
WARM_UP = 3  # round trips


def half_round_trip(comm: MPI.Comm, nbytes: int, round_trips: int) -> float:
    """The median time of a message of `nbytes` between ranks 0 and 1, seconds; both must call it."""
    buffer, times_s = np.zeros(nbytes, np.uint8), []
    for _ in range(WARM_UP + round_trips):
        begun = perf_counter()
        if comm.rank == 0:
            comm.Send([buffer, MPI.BYTE], 1)
            comm.Recv([buffer, MPI.BYTE], 1)
        else:
            comm.Recv([buffer, MPI.BYTE], 0)
            comm.Send([buffer, MPI.BYTE], 0)
        times_s.append((perf_counter() - begun) / 2)
    return median(times_s[WARM_UP:])


def main() -> None:
    """Print `{"8": seconds, "1048576": seconds}`."""
    comm = MPI.COMM_WORLD
    times_s = {nbytes: half_round_trip(comm, nbytes, number) for nbytes, number in ROUND_TRIPS.items()}
    if comm.rank == 0:
        print(json.dumps(times_s), flush=True)


if __name__ == "__main__":
    main()
