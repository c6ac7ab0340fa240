"""What messages cost between nodes, from a few exchanges, and what a schedule would take by that: for first calls.

Over slow links one call of an algorithm that does not fit costs more than all that is gained later. So where ranks lie
on several nodes, the first long call goes by the model: alpha for each message, beta for each byte.
"""

import time
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..schedule.algorithm import Cost

LONG_NBYTES = 256 * 1024  # a vector: of shorter ones a wrong guess costs less than the exchanges
PROBE_NBYTES = 64 * 1024
SLOW_S_PER_BYTE = 1e-9  # a link of less than 1 GB/s: what is sent over it is cut into short segments
TAG = 1


class Links(NamedTuple):
    """What a message costs on the slowest link, the same on all ranks."""

    alpha_s: float
    s_per_byte: float

    @property
    def are_slow(self) -> bool:
        """Whether the bytes are what takes the time."""
        return self.s_per_byte > SLOW_S_PER_BYTE


def measured(comm: MPI.Comm) -> Links:
    """Exchanges of all ranks of `comm` around a ring: 8 bytes, then PROBE_NBYTES."""
    rank, size = comm.rank, comm.size
    times = np.empty(3)
    for number, nbytes in enumerate((8, 8, PROBE_NBYTES)):  # the first one connects
        sent, received = np.zeros(nbytes, np.uint8), np.empty(nbytes, np.uint8)
        comm.Barrier()
        begun = time.perf_counter()
        comm.Sendrecv(sent, (rank + 1) % size, TAG, received, (rank - 1) % size, TAG)
        times[number] = time.perf_counter() - begun
    comm.Allreduce(MPI.IN_PLACE, times, MPI.MAX)
    _, alpha_s, long_s = times.tolist()
    return Links(alpha_s, max(0.0, long_s - alpha_s) / PROBE_NBYTES)


def price_s(cost: Cost, itemsize: int, links: Links) -> float:
    """Seconds of what an algorithm declares: its messages one after the other."""
    return cost.messages * links.alpha_s + cost.elements * itemsize * links.s_per_byte
