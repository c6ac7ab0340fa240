"""All-reduces that are left to mpi4py: of types and operations that this package does not have."""

from typing import Any

from mpi4py import MPI

from ..executing import OPERATIONS
from .buffers import Vectors


def pass_on(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, op: Any, vectors: Vectors | None) -> None:
    """`comm.Allreduce` of mpi4py itself, with its results and errors; `vectors`: the buffers are of a type of ours.

    Raises TypeError, in one sentence, for a type that neither side has, and for 'avg', which mpi4py does not have.
    """
    if vectors is not None and vectors.recv.dtype.name == "bfloat16":
        raise TypeError(
            "Allreduce: bfloat16 has SUM, PROD, MAX, MIN and 'avg' here, and nothing in mpi4py; use float32"
        )
    if op == "avg":
        raise TypeError("Allreduce: 'avg' is of types of floating point; of others, use MPI.SUM and divide")
    operation = OPERATIONS[op] if isinstance(op, str) else op
    try:
        MPI.Comm.Allreduce(comm, sendbuf, recvbuf, operation)  # not that of a subclass, which may lead here
    except (KeyError, BufferError) as error:  # before anything is sent
        reason = str(error.args[0] if error.args else error).splitlines()[0]
        raise TypeError(f"Allreduce: neither this package nor mpi4py reduces these buffers: {reason}") from error
