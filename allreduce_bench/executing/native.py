"""The library's own all-reduce, called from Python."""

from functools import partial

import numpy as np
from mpi4py import MPI

from . import OPERATIONS, Prepared, Unsupported, native_datatype, own_library, refuse_above_limit
from .sendrecv import division, join_calls


def native(sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm, op: str) -> Prepared:
    """Bind the library's own `MPI_Allreduce` of `sendbuf` into `recvbuf` (1-d arrays of one dtype that it has).

    `op` is a name of OPERATIONS; `avg` is a sum and a division. In place if both are the same. Raises Unsupported.
    """
    datatype = library_datatype(sendbuf)
    recv = [MPI.buffer(recvbuf), recvbuf.size, datatype]
    send = MPI.IN_PLACE if sendbuf is recvbuf else [MPI.buffer(sendbuf), sendbuf.size, datatype]
    allreduce, averaging = partial(comm.Allreduce, send, recv, OPERATIONS[op]), division(recvbuf, comm, op)
    run = (
        join_calls([allreduce, *averaging]) if averaging else allreduce
    )  # at 4 bytes the overhead of a loop would show
    return Prepared(run, lambda: None)


def library_datatype(vector: np.ndarray) -> MPI.Datatype:
    """Return the type with which the library reduces `vector`. Raises Unsupported: no type, too long."""
    datatype = native_datatype(vector.dtype.name)
    if datatype is None:
        raise Unsupported(f"mpi4py offers no {vector.dtype.name} of {own_library()}: native cannot be measured")
    refuse_above_limit(vector.size)
    return datatype
