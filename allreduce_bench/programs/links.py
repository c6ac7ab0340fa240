"""What messages cost between nodes, from three exchanges, and what a schedule would take by that: for first calls.

Over slow links one call of an algorithm that does not fit costs more than all that is gained later. So where ranks lie
on several nodes, the first long call goes by the model: alpha for each message, beta for each byte, where two ranks
that send to each other at once may share what a ring has for itself (TCP).
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..schedule import Step, elements

LONG_NBYTES = 256 * 1024  # a vector: of shorter ones a wrong guess costs less than the exchanges
PROBE_NBYTES = 64 * 1024
SLOW_S_PER_BYTE = 1e-9  # a link of less than 1 GB/s: what is sent over it is cut into short segments
TAG = 1


class Links(NamedTuple):
    """What a message costs on the slowest link, the same on all ranks."""

    alpha_s: float
    s_per_byte: float  # of rings: to one rank, from another one
    swapped_s_per_byte: float  # of two ranks that send to each other

    @property
    def are_slow(self) -> bool:
        """Whether the bytes are what takes the time."""
        return self.s_per_byte > SLOW_S_PER_BYTE


def measured(comm: MPI.Comm) -> Links:
    """Three exchanges of all ranks of `comm`: 8 bytes, then PROBE_NBYTES around the ring and in pairs."""
    rank, size = comm.rank, comm.size
    partner = rank ^ 1 if rank ^ 1 < size else MPI.PROC_NULL
    ring = (rank + 1) % size, (rank - 1) % size
    ways = [(8, ring), (8, ring), (PROBE_NBYTES, ring), (PROBE_NBYTES, (partner, partner))]  # the first one connects
    times = np.empty(len(ways))
    for number, (nbytes, (dest, source)) in enumerate(ways):
        sent, received = np.zeros(nbytes, np.uint8), np.empty(nbytes, np.uint8)
        comm.Barrier()
        begun = time.perf_counter()
        comm.Sendrecv(sent, dest, TAG, received, source, TAG)
        times[number] = time.perf_counter() - begun
    comm.Allreduce(MPI.IN_PLACE, times, MPI.MAX)
    _, alpha_s, *long_s = times.tolist()
    per_byte = [max(0.0, time_s - alpha_s) / PROBE_NBYTES for time_s in long_s]
    return Links(alpha_s, per_byte[0], per_byte[1])


def price_s(steps: Sequence[Step], itemsize: int, links: Links) -> float:
    """Seconds of this rank's steps, one after the other."""
    total_s = 0.0
    for step in steps:
        is_swapped = step.dest is not None and step.dest == step.source
        nbytes = max(elements(step.send), elements(step.recv)) * itemsize
        total_s += links.alpha_s + nbytes * (links.swapped_s_per_byte if is_swapped else links.s_per_byte)
    return total_s
