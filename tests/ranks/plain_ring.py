"""A ring all-reduce as one would write it by hand, to hold the library's schedule `ring` against.

Every rank has a vector, cut into as many blocks as there are ranks. In each of the first p-1 rounds every rank passes
one block to its right neighbour, which adds it to its own: after them every rank owns one finished block. In the
other p-1 rounds the finished blocks go round the ring once more.
"""

from collections.abc import Callable

import numpy as np
from mpi4py import MPI


def plain_ring(vector: np.ndarray, comm: MPI.Comm) -> np.ndarray:
    """The sum of `vector` over all ranks of `comm`."""
    rank, size = comm.Get_rank(), comm.Get_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    result = vector.copy()
    blocks = np.array_split(result, size)  # views: what is written to a block is written to the result

    for hop in range(size - 1):
        mine, arriving = blocks[(rank - hop) % size], blocks[(rank - hop - 1) % size]
        received = np.empty_like(arriving)
        comm.Sendrecv(mine, right, recvbuf=received, source=left)
        arriving += received

    for hop in range(size - 1):
        finished, arriving = blocks[(rank - hop + 1) % size], blocks[(rank - hop) % size]
        comm.Sendrecv(finished, right, recvbuf=arriving, source=left)

    return result


def of_counts(comm: MPI.Comm) -> list[float]:
    """The sum of ten numbers from 0, 100, 200, ... on."""
    return plain_ring(np.arange(10.0) + 100 * comm.rank, comm).tolist()


def prepared_ring(vector: np.ndarray, result: np.ndarray, comm: MPI.Comm) -> Callable[[], None]:
    """The same with all buffers prepared, as a call: the float32 sum of `vector` over all ranks goes to `result`."""
    rank, size = comm.Get_rank(), comm.Get_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    blocks, own = np.array_split(result, size), np.array_split(vector, size)
    received = np.empty(len(blocks[0]), vector.dtype)

    def message(array: np.ndarray) -> list:
        return [MPI.buffer(array), array.size, MPI.FLOAT]

    reduced = []  # what is sent and received, then what is added up and where
    for hop in range(size - 1):
        mine, arriving = blocks[(rank - hop) % size] if hop else own[rank], (rank - hop - 1) % size
        room = received[: len(blocks[arriving])]
        reduced.append((message(mine), message(room), own[arriving], room, blocks[arriving]))
    passed = [
        (message(blocks[(rank - hop + 1) % size]), message(blocks[(rank - hop) % size])) for hop in range(size - 1)
    ]

    def run() -> None:
        for mine, arriving, first, second, total in reduced:
            comm.Sendrecv(mine, right, 0, arriving, left, 0)
            np.add(first, second, total)
        for finished, arriving in passed:
            comm.Sendrecv(finished, right, 0, arriving, left, 0)

    return run
