"""The calls that this package reduces: calls with plain arrays of numpy, and of PyTorch's tensors on the CPU.

All other buffers, types and operations are left to mpi4py. All ranks pass the same kind of buffers.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..executing import OPERATIONS
from ..runs.dtypes import DTYPES, DtypeError, teach_numpy

# Types and operations
PLAIN_DTYPES = frozenset(map(np.dtype, ("float32", "float64", "int32", "int64", "float16")))
NAME_OF_ID = {id(MPI.SUM): "sum", id(MPI.PROD): "prod", id(MPI.MAX): "max", id(MPI.MIN): "min"}  # never freed


class Vectors(NamedTuple):
    """The operands of a rank: 1-d arrays of one length and dtype; the same array if it reduces in place."""

    send: np.ndarray
    recv: np.ndarray


def vectors_of(sendbuf: Any, recvbuf: Any) -> Vectors | None:
    """Return the vectors of a call, sharing memory with its buffers; None if they are left to mpi4py.

    Raises ValueError for arrays that differ in length, type or order, overlap, are not contiguous, not writable, or on
    a device.
    """
    if type(sendbuf) is np.ndarray is type(recvbuf) and _is_plain(sendbuf, recvbuf):
        return Vectors(sendbuf, recvbuf)
    recv = _vector(recvbuf, "recvbuf")
    if is_in_place(sendbuf):
        return None if recv is None else Vectors(_writeable(recv), recv)
    send = _vector(sendbuf, "sendbuf")
    if send is None or recv is None:
        return None
    if send.dtype != recv.dtype:
        raise ValueError(f"Allreduce: sendbuf is {send.dtype.name}, recvbuf {recv.dtype.name}; expected one type")
    if send.size != recv.size:
        raise ValueError(f"Allreduce: sendbuf has {send.size} elements, recvbuf {recv.size}; expected as many")
    orders = _order(sendbuf), _order(recvbuf)
    if {*orders} == {"C", "Fortran"}:  # each is contiguous, but their elements do not correspond
        found = f"sendbuf is in the order of {orders[0]}, recvbuf in that of {orders[1]}"
        raise ValueError(f"Allreduce: {found}; expected the same; copy one of them")
    if np.may_share_memory(send, recv) and send.size:  # their bounds overlap: both are contiguous
        raise ValueError("Allreduce: sendbuf and recvbuf overlap; to reduce in place, pass MPI.IN_PLACE as sendbuf")
    return Vectors(send, _writeable(recv))


def is_in_place(sendbuf: Any) -> bool:
    """Return whether a call reduces in place: None says so, too, as in mpi4py."""
    return sendbuf is None or sendbuf is MPI.IN_PLACE


def operation_of(op: Any) -> str | None:
    """Return the key of `op` in OPERATIONS; None for another operation of MPI. Raises ValueError for anything else."""
    if name := NAME_OF_ID.get(id(op)):
        return name
    if isinstance(op, str) and op in OPERATIONS:
        return op
    if not isinstance(op, MPI.Op):
        raise ValueError(f"Allreduce: operation {op!r:.40} is not known; expected one of MPI, or 'avg'")
    return next((name for name, known in OPERATIONS.items() if op == known), None)


def _is_plain(send: np.ndarray, recv: np.ndarray) -> bool:
    """Return whether both can be reduced as they are; kept cheap: at a few bytes each further test is measurable."""
    sent, received = send.flags, recv.flags
    return (
        send.ndim == 1 == recv.ndim
        and send.size == recv.size
        and send.dtype == recv.dtype
        and send.dtype in PLAIN_DTYPES
        and sent.c_contiguous
        and received.c_contiguous
        and received.writeable
        and not np.may_share_memory(send, recv)
    )


def _order(buffer: Any) -> str:
    """Return the order of an array in memory, C or Fortran; empty where it has one dimension only."""
    if sum(size > 1 for size in buffer.shape) < 2:
        return ""
    return (
        "C" if (buffer.flags.c_contiguous if isinstance(buffer, np.ndarray) else buffer.is_contiguous()) else "Fortran"
    )


def _writeable(recv: np.ndarray) -> np.ndarray:
    if not recv.flags.writeable:
        raise ValueError("Allreduce: recvbuf is read-only; expected a buffer that can be written")
    return recv


def _vector(buffer: Any, name: str) -> np.ndarray | None:
    """Return the memory of an array or tensor as a 1-d array; None for another buffer, or another type."""
    if isinstance(buffer, np.ndarray):
        array = np.asarray(buffer)  # the memory of a subclass: a masked array would keep masked elements
        if (array.dtype not in PLAIN_DTYPES and array.dtype.name not in DTYPES) or not array.dtype.isnative:
            return None
    elif (tensor := getattr(sys.modules.get("torch"), "Tensor", None)) is not None and isinstance(buffer, tensor):
        if str(buffer.dtype).removeprefix("torch.") not in DTYPES:
            return None
        try:
            array = view_tensor(buffer)
        except ValueError as error:
            raise ValueError(f"Allreduce: {name}: {error}") from None
    else:
        return None
    if not array.flags.forc:
        raise ValueError(f"Allreduce: {name} is not contiguous; pass a contiguous copy of it")
    return array if array.ndim == 1 else array.ravel(order="K")


def view_tensor(tensor: Any) -> np.ndarray:
    """Return the memory of a tensor of PyTorch, of a type of DTYPES.

    Raises ValueError unless it is dense, in host memory, and of a type that numpy can be taught.
    """
    if tensor.device.type != "cpu":
        raise ValueError(f"on {tensor.device.type}; expected memory of the processor: copy it there")
    dtype = str(tensor.dtype).removeprefix("torch.")
    try:
        if dtype != "bfloat16":
            return tensor.numpy()
        teach_numpy(dtype)
        return tensor.view(sys.modules["torch"].int16).numpy().view(dtype)
    except DtypeError as error:
        raise ValueError(str(error)) from None
    except (RuntimeError, TypeError) as error:  # sparse, lazily negated, or part of a graph of gradients
        raise ValueError(f"{str(error).splitlines()[0]} Expected a dense, detached tensor") from None


def pass_on(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, op: Any, vectors: Vectors | None) -> None:
    """Call mpi4py's own `comm.Allreduce`, with its results and errors; `vectors`: not None if their type is supported.

    Raises TypeError, in one sentence, for a type that neither side supports, and for 'avg', which mpi4py does not have.
    """
    if vectors is not None and vectors.recv.dtype.name == "bfloat16":
        raise TypeError(
            "Allreduce: bfloat16 has SUM, PROD, MAX, MIN and 'avg' here, and nothing in mpi4py; use float32"
        )
    if op == "avg":
        raise TypeError("Allreduce: 'avg' is of arrays of floating point; of others, use MPI.SUM and divide")
    operation = OPERATIONS[op] if isinstance(op, str) else op
    try:
        MPI.Comm.Allreduce(comm, sendbuf, recvbuf, operation)  # not that of a subclass, which may call this
    except (KeyError, BufferError) as error:  # before anything is sent
        reason = str(error.args[0] if error.args else error).splitlines()[0]
        raise TypeError(f"Allreduce: neither this package nor mpi4py reduces these buffers: {reason}") from error
