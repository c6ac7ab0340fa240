"""Mock-ups: all-reduces made of the library's other collectives, called from Python.

Those of Hunold and Carpen-Amarie, "Autotuning MPI collectives using performance guidelines" (HPC Asia 2018), as in
their PGMPITuneLib, for the guidelines of Träff, Gropp and Thakur (IEEE TPDS 21(5), 2010).
"""

from collections.abc import Callable
from functools import partial
from math import ceil

import numpy as np
from mpi4py import MPI

from ..schedule import split
from . import OPERATIONS, Prepared
from .memory import PAGES, Allocate
from .native import library_datatype
from .sendrecv import division, join_calls

Calls = list[Callable[[], object]]
ROOT = 0


def mockup(
    name: str, sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm, op: str, allocate: Allocate = PAGES.scratch
) -> Prepared:
    """Bind the mock-up `name`, one of `competitor.MOCKUPS`, of `sendbuf` into `recvbuf`, as `native` binds its call.

    In place the first operation reduces into a block of its own, since MPI has the vector as its input.

    `allocate` makes its scratch. Raises Unsupported where `native` does.
    """
    datatype = library_datatype(sendbuf)
    calls = BINDINGS[name](_Bound(sendbuf, recvbuf, comm, op, datatype, allocate))
    return Prepared(join_calls([*calls, *division(recvbuf, comm, op)]), lambda: None)


class _Bound:
    """The vectors, communicator and operation of an all-reduce."""

    def __init__(self, sendbuf, recvbuf, comm: MPI.Comm, op: str, datatype: MPI.Datatype, allocate: Allocate):
        self.sendbuf, self.recvbuf, self.comm = sendbuf, recvbuf, comm
        self.op, self.datatype, self.allocate = OPERATIONS[op], datatype, allocate
        self.in_place = sendbuf is recvbuf

    def message(self, array: np.ndarray) -> list:
        """Return all of `array`, as mpi4py takes it."""
        return [MPI.buffer(array), array.size, self.datatype]

    def blocks(self, array: np.ndarray) -> list:
        """Return `array` as one block per rank: mpi4py then takes the count of one block."""
        return [MPI.buffer(array), array.size // self.comm.size, self.datatype]


def _reduce_bcast(bound: _Bound) -> Calls:
    """Bind MPI_Reduce to rank 0, then MPI_Bcast from there."""
    recv = bound.message(bound.recvbuf)
    is_root = bound.comm.rank == ROOT
    send = MPI.IN_PLACE if bound.in_place and is_root else bound.message(bound.sendbuf)
    return [
        partial(bound.comm.Reduce, send, recv if is_root else None, bound.op, ROOT),
        partial(bound.comm.Bcast, recv, ROOT),
    ]


def _reduce_scatter_allgatherv(bound: _Bound) -> Calls:
    """Bind MPI_Reduce_scatter of nearly equal blocks to their places in the result, then MPI_Allgatherv in place."""
    blocks = split(range(bound.recvbuf.size), bound.comm.size)
    counts, own = [len(block) for block in blocks], blocks[bound.comm.rank]
    into = bound.recvbuf[own.start : own.stop]
    block = bound.message(bound.allocate(len(own), into.dtype) if bound.in_place else into)
    gathered = [MPI.buffer(bound.recvbuf), (counts, [block.start for block in blocks]), bound.datatype]
    return [
        partial(bound.comm.Reduce_scatter, bound.message(bound.sendbuf), block, counts, bound.op),
        partial(bound.comm.Allgatherv, block if bound.in_place else MPI.IN_PLACE, gathered),
    ]


def _reduce_scatter_block_allgather(bound: _Bound) -> Calls:
    """Bind MPI_Reduce_scatter_block to this rank's place in the result, then MPI_Allgather in place.

    Blocks are equal. Where the number of ranks does not divide the count, both work on a padded copy, and copying there
    and back is part of the call.
    """
    vector, comm = bound.recvbuf, bound.comm
    length = ceil(vector.size / comm.size)
    if vector.size % comm.size == 0:
        into = vector[comm.rank * length : (comm.rank + 1) * length]
        block = bound.message(bound.allocate(length, vector.dtype) if bound.in_place else into)
        return [
            partial(comm.Reduce_scatter_block, bound.blocks(bound.sendbuf), block, bound.op),
            partial(comm.Allgather, block if bound.in_place else MPI.IN_PLACE, bound.blocks(vector)),
        ]
    padded, own = (bound.allocate(count, vector.dtype) for count in (length * comm.size, length))
    padded[vector.size :] = 0  # every operation reduces zeros to zeros
    whole, block = bound.blocks(padded), bound.message(own)
    return [
        partial(np.copyto, padded[: vector.size], bound.sendbuf),
        partial(comm.Reduce_scatter_block, whole, block, bound.op),
        partial(comm.Allgather, block, whole),
        partial(np.copyto, vector, padded[: vector.size]),
    ]


BINDINGS: dict[str, Callable[[_Bound], Calls]] = {
    "native:reduce+bcast": _reduce_bcast,
    "native:reduce_scatter_block+allgather": _reduce_scatter_block_allgather,
    "native:reduce_scatter+allgatherv": _reduce_scatter_allgatherv,
}
