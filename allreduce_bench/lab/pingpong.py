"""`python -m allreduce_bench.lab.pingpong`: times of messages between ranks 0 and 1, as JSON from rank 0.

Half a round trip is the time of one message (Hockney, "The communication challenge for MPP", 1994): for a short one the
latency alpha, for a long one nearly its bytes over the rate. In an exchange both ranks send at once, as in a step of an
algorithm; where that costs more than one message, compare a model's alpha with the exchange.
"""

import json
from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np
from mpi4py import MPI

from ..executing.memory import PAGES, filled

SHORT, LONG = 8, 1 << 20  # bytes
REPETITIONS = {SHORT: 1000, LONG: 3}
WARM_UP = 3  # repetitions


def half_round_trip(comm: MPI.Comm, size_bytes: int) -> float:
    """Return the median one-way time of `size_bytes` between ranks 0 and 1, seconds; collective."""
    message = [filled(PAGES.sendbuf, size_bytes, np.uint8, 0), MPI.BYTE]
    here, there = (comm.Send, comm.Recv) if comm.rank == 0 else (comm.Recv, comm.Send)

    def round_trip() -> None:
        here(message, 1 - comm.rank)
        there(message, 1 - comm.rank)

    return _median_time(round_trip, REPETITIONS[size_bytes]) / 2


def exchange(comm: MPI.Comm, size_bytes: int) -> float:
    """Return the median time of `MPI_Sendrecv` of `size_bytes` both ways between ranks 0 and 1, seconds; collective."""
    sent, received = filled(PAGES.sendbuf, size_bytes, np.uint8, 0), filled(PAGES.recvbuf, size_bytes, np.uint8, 0)
    other = 1 - comm.rank
    return _median_time(
        lambda: comm.Sendrecv([sent, MPI.BYTE], other, 0, [received, MPI.BYTE], other), REPETITIONS[size_bytes]
    )


def _median_time(act: Callable[[], object], repetitions: int) -> float:
    """Return the median time after the warm-up, seconds."""
    times_s = []
    for _ in range(WARM_UP + repetitions):
        begun = perf_counter()
        act()
        times_s.append(perf_counter() - begun)
    return median(times_s[WARM_UP:])


def main() -> None:
    """Print `{"message": {"8": seconds, "1048576": seconds}, "exchange": {"8": seconds}}`."""
    comm = MPI.COMM_WORLD
    times_s = {
        "message": {size_bytes: half_round_trip(comm, size_bytes) for size_bytes in (SHORT, LONG)},
        "exchange": {SHORT: exchange(comm, SHORT)},
    }
    if comm.rank == 0:
        print(json.dumps(times_s), flush=True)


if __name__ == "__main__":
    main()
