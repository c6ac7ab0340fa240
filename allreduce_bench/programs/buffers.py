"""Buffers as mpi4py takes them, made vectors: an array, [array, type], [array, count], [array, count, type]."""

from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..executing import OPERATIONS
from ..runs.dtypes import DTYPES

PLAIN = frozenset(map(np.dtype, ("float32", "float64", "int32", "int64", "float16")))
NAME_OF_ID = {id(MPI.SUM): "sum", id(MPI.PROD): "prod", id(MPI.MAX): "max", id(MPI.MIN): "min"}  # they live for ever


class Vectors(NamedTuple):
    """What a rank reduces: 1-d arrays of one length and dtype; both are the same where it reduces in place."""

    send: np.ndarray
    recv: np.ndarray


def vectors_of(sendbuf: Any, recvbuf: Any) -> Vectors:
    """The vectors of a call; they share the memory of its buffers.

    Raises TypeError for what is no buffer or has a type that cannot be reduced, ValueError for buffers of different
    lengths or types, that overlap, are not contiguous or cannot be written.
    """
    if type(sendbuf) is np.ndarray is type(recvbuf) and _is_plain(sendbuf, recvbuf):
        return Vectors(sendbuf, recvbuf)
    recv = _vector(recvbuf, "recvbuf")
    if not recv.flags.writeable:
        raise ValueError("Allreduce: recvbuf is read-only; expected a buffer that can be written")
    if sendbuf is MPI.IN_PLACE or (not isinstance(sendbuf, np.ndarray) and sendbuf == MPI.IN_PLACE):
        return Vectors(recv, recv)
    send = _vector(sendbuf, "sendbuf")
    if send.dtype != recv.dtype:
        raise ValueError(f"Allreduce: sendbuf is {send.dtype.name}, recvbuf {recv.dtype.name}; expected one type")
    if send.size != recv.size:
        raise ValueError(f"Allreduce: sendbuf has {send.size} elements, recvbuf {recv.size}; expected as many")
    if np.may_share_memory(send, recv) and send.size:  # their bounds overlap: both are contiguous
        raise ValueError("Allreduce: sendbuf and recvbuf overlap; to reduce in place, pass MPI.IN_PLACE as sendbuf")
    return Vectors(send, recv)


def operation_of(op: Any) -> str:
    """The name of an operation: a key of OPERATIONS. Raises ValueError for any other."""
    if name := NAME_OF_ID.get(id(op)):
        return name
    if isinstance(op, str) and op in OPERATIONS:
        return op
    for name, known in OPERATIONS.items():
        if isinstance(op, MPI.Op) and op == known:
            return name
    raise ValueError(f"Allreduce: operation {op!r:.40} is not known; expected MPI.SUM, PROD, MAX, MIN or 'avg'")


def _is_plain(send: np.ndarray, recv: np.ndarray) -> bool:
    """Whether they are vectors that can be reduced as they are: at a few bytes each further question would be seen."""
    sent, received = send.flags, recv.flags
    return (
        send.ndim == 1 == recv.ndim
        and send.size == recv.size
        and send.dtype == recv.dtype
        and send.dtype in PLAIN
        and sent.c_contiguous
        and received.c_contiguous
        and received.writeable
        and not np.may_share_memory(send, recv)
    )


def _vector(buffer: Any, name: str) -> np.ndarray:
    count, datatype = None, None
    if isinstance(buffer, (list, tuple)):
        buffer, count, datatype = _parts(buffer, name)
    array = _array(buffer, name)
    if datatype is not None:
        array = _as_type(array, datatype, name)
    if array.dtype not in PLAIN and array.dtype.name not in DTYPES:
        raise TypeError(f"Allreduce: {name} is {array.dtype.name}; expected one of {', '.join(DTYPES)}")
    if not array.dtype.isnative:  # numpy gives it the same name, MPI would add other numbers
        raise TypeError(
            f"Allreduce: {name} has another byte order than this machine; pass {array.dtype.name} of its own"
        )
    if count is None:
        return array
    if not 0 <= count <= array.size:
        raise ValueError(f"Allreduce: {name} has {array.size} elements; a count of {count} does not fit")
    return array[:count]


def _parts(spec: "list | tuple", name: str) -> tuple[Any, int | None, Any]:
    """Buffer, count and type of a list such as [array, count, type]."""
    if len(spec) == 2:
        buffer, second = spec
        return (buffer, int(second), None) if isinstance(second, (int, np.integer)) else (buffer, None, second)
    if len(spec) == 3 and isinstance(spec[1], (int, np.integer)):
        return spec[0], int(spec[1]), spec[2]
    raise TypeError(f"Allreduce: {name} is a list that is no buffer; expected [array, count, type]")


def _array(buffer: Any, name: str) -> np.ndarray:
    """The memory of `buffer` as a 1-d array."""
    if isinstance(buffer, np.ndarray):
        array = buffer
    elif hasattr(buffer, "__array_interface__") or hasattr(buffer, "__array__"):
        array = np.asarray(buffer)
        if array.size and not np.may_share_memory(array, np.asarray(buffer)):  # a result would be lost with the copy
            found = type(buffer).__name__
            raise TypeError(f"Allreduce: {name} is of type {found}, of which numpy makes a copy; expected an array")
    else:
        try:
            array = np.asarray(memoryview(buffer))
        except (TypeError, ValueError):
            found = type(buffer).__name__
            raise TypeError(
                f"Allreduce: {name} is of type {found}; expected an array or [array, count, type]"
            ) from None
    if not array.flags.forc:
        raise ValueError(f"Allreduce: {name} is not contiguous; pass numpy.ascontiguousarray of it")
    return array.ravel(order="K")


def _as_type(array: np.ndarray, datatype: Any, name: str) -> np.ndarray:
    try:
        code = datatype.tocode() if isinstance(datatype, MPI.Datatype) else datatype
        dtype = np.dtype(code)
        return array if dtype == array.dtype else array.view(dtype)
    except (TypeError, ValueError):
        raise TypeError(
            f"Allreduce: {name}: its type {datatype!r:.40} does not fit a {array.dtype.name} array"
        ) from None
