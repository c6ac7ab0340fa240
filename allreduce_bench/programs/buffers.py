"""Conversion of mpi4py's buffer arguments to vectors of the supported types; other types are left to mpi4py.

A buffer is an array, an object with the buffer protocol, a tensor of PyTorch, or a list: [buffer, type],
[buffer, count], [buffer, count, type], [buffer, count, displacement, type]. Whether this package or mpi4py handles a
call depends on type and operation alone, which MPI demands to be the same on all ranks, and not on the kinds of
objects.
"""

import sys
from operator import index
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..executing import OPERATIONS
from ..runs.dtypes import DTYPES, DtypeError, teach_numpy

# Types and operations
PLAIN_DTYPES = frozenset(map(np.dtype, ("float32", "float64", "int32", "int64", "float16")))
NAME_OF_ID = {id(MPI.SUM): "sum", id(MPI.PROD): "prod", id(MPI.MAX): "max", id(MPI.MIN): "min"}  # never freed
FLOATS = "FLOAT DOUBLE FLOAT16_T REAL DOUBLE_PRECISION REAL2 REAL4 REAL8"  # of C and Fortran
INTEGERS = "INT LONG LONG_LONG INT32_T INT64_T INTEGER INTEGER4 INTEGER8"
OF_MPI4PY = frozenset(["bool", "int8", "uint8", "int16", "uint16", "uint32", "uint64", "complex64", "complex128"])


class Vectors(NamedTuple):
    """The operands of a rank: 1-d arrays of one length and dtype; the same array if it reduces in place."""

    send: np.ndarray
    recv: np.ndarray


class _Message(NamedTuple):
    """The parts of a buffer argument of mpi4py; None: not given."""

    buffer: Any
    elements: int | None = None
    displacement: int = 0  # elements
    datatype: "MPI.Datatype | str | None" = None


def vectors_of(sendbuf: Any, recvbuf: Any) -> Vectors | None:
    """Return the vectors of a call, sharing memory with its buffers; None if their type is left to mpi4py.

    Raises TypeError for what is no buffer; ValueError for buffers that differ in length, type or order, overlap, are
    not contiguous, not writable, or on a device.
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


def _names_of_handles() -> dict[int, str]:
    """Return handle -> name in DTYPES, for MPI's predefined types that are supported."""
    found: dict[int, str] = {}
    for kind, names in (("float", FLOATS), ("bfloat", "BFLOAT16_T"), ("int", INTEGERS)):
        for datatype in (getattr(MPI, name, MPI.DATATYPE_NULL) for name in names.split()):
            if datatype != MPI.DATATYPE_NULL and f"{kind}{8 * datatype.size}" in DTYPES:
                found[datatype.handle] = f"{kind}{8 * datatype.size}"
    return found


NAME_OF_HANDLE = _names_of_handles()


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


def _order(given: Any) -> str:
    """Return the order of a buffer in memory, C or Fortran; empty where it has one dimension only."""
    buffer = given[0] if isinstance(given, (list, tuple)) else given
    if sum(size > 1 for size in getattr(buffer, "shape", ())) < 2:
        return ""
    is_tensor = hasattr(buffer, "is_contiguous")
    return "C" if (buffer.is_contiguous() if is_tensor else np.asarray(buffer).flags.c_contiguous) else "Fortran"


def _writeable(recv: np.ndarray) -> np.ndarray:
    if not recv.flags.writeable:
        raise ValueError("Allreduce: recvbuf is read-only; expected a buffer that can be written")
    return recv


def _vector(given: Any, name: str) -> np.ndarray | None:
    """Return a 1-d array of one of DTYPES; None for another type."""
    is_list = isinstance(given, (list, tuple))
    buffer, count, displacement, datatype = _message(given, name) if is_list else _Message(given)
    dtype = None
    if datatype is not None and (dtype := _dtype(datatype, name)) is None:
        return None
    array = _elements(buffer, dtype, name)
    if array is None or (array.dtype not in PLAIN_DTYPES and array.dtype.name not in DTYPES):
        return None
    if not array.dtype.isnative:  # numpy names it alike, MPI would add wrong numbers
        raise TypeError(
            f"Allreduce: {name} has another byte order than this machine; pass {array.dtype.name} of its own"
        )
    if not 0 <= displacement <= array.size:
        raise ValueError(f"Allreduce: {name} has {array.size} elements; a displacement of {displacement} does not fit")
    if count is None:
        return array[displacement:] if displacement else array
    if not 0 <= count <= array.size - displacement:
        from_there = f" from element {displacement} on" if displacement else ""
        raise ValueError(f"Allreduce: {name} has {array.size} elements; a count of {count}{from_there} does not fit")
    return array[displacement : displacement + count]


def _elements(buffer: Any, dtype: np.dtype | None, name: str) -> np.ndarray | None:
    """Return the memory of `buffer` as a 1-d array of `dtype`, or of its own type;
    None if numpy cannot represent it.
    """
    if dtype is not None and (buffer is None or buffer is MPI.BOTTOM):
        return np.empty(0, dtype)
    array = _array(buffer, name)
    if dtype is None or (array is None and hasattr(buffer, "__cuda_array_interface__")):
        return array
    return _as_type(array, dtype, buffer, name)


def _message(given: "list | tuple", name: str) -> _Message:
    """Split a list such as [array, count, type] as mpi4py does."""
    if not 2 <= len(given) <= 4:
        raise TypeError(f"Allreduce: {name} is a list that is no buffer; expected [array, count, type]")
    buffer, *others = given
    displacement, datatype = None, None
    if len(others) == 1 and isinstance(others[0], (MPI.Datatype, str)):
        return _Message(buffer, datatype=others[0])
    if len(others) == 3:
        count, displacement, datatype = others
    else:
        count, datatype = (*others, None)[:2]
        if isinstance(count, (list, tuple)) and len(count) == 2:
            count, displacement = count
    try:
        numbers = [None if number is None else index(number) for number in (count, displacement)]
    except TypeError:
        raise TypeError(f"Allreduce: {name} is a list that is no buffer; expected [array, count, type]") from None
    return _Message(buffer, numbers[0], numbers[1] or 0, datatype)


def _dtype(datatype: Any, name: str) -> np.dtype | None:
    """Return the element type of MPI's `datatype`; None if it is not supported."""
    try:
        known = datatype if isinstance(datatype, MPI.Datatype) else MPI.Datatype.fromcode(datatype)
    except (TypeError, ValueError):
        raise TypeError(
            f"Allreduce: {name}: {datatype!r:.40} is no type of MPI; expected one such as MPI.FLOAT"
        ) from None
    if (own := NAME_OF_HANDLE.get(known.handle)) is None:
        return None
    return _known_to_numpy(own)


def _known_to_numpy(dtype: str) -> np.dtype:
    try:
        teach_numpy(dtype)
    except DtypeError as error:
        raise ValueError(f"Allreduce: {error}") from None
    return np.dtype(dtype)


def _array(buffer: Any, name: str) -> np.ndarray | None:
    """Return the memory of `buffer` as a 1-d array; None if numpy does not know its elements."""
    array: np.ndarray | None
    if isinstance(buffer, np.ndarray):
        array = np.asarray(buffer)  # the memory of a subclass: a masked array would keep masked elements
    elif (tensor := _tensor_type()) is not None and isinstance(buffer, tensor):
        array = _of_tensor(buffer, name)
    elif hasattr(buffer, "__array_interface__") or hasattr(buffer, "__array__"):
        array = np.asarray(buffer)
        if array.size and not np.may_share_memory(array, np.asarray(buffer)):  # a result would be lost with the copy
            raise TypeError(
                f"Allreduce: {name} is of type {type(buffer).__name__}, of which numpy makes a copy; expected an array"
            )
    else:
        array = _of_memory(buffer, name)
    if array is None:
        return None
    if not array.flags.forc:
        raise ValueError(f"Allreduce: {name} is not contiguous; pass a contiguous copy of it")
    return array if array.ndim == 1 else array.ravel(order="K")


def _of_memory(buffer: Any, name: str) -> np.ndarray | None:
    """Return the memory of a buffer; None if numpy does not know its elements, or it is on a device."""
    try:
        memory = memoryview(buffer)
    except (TypeError, BufferError):
        if hasattr(buffer, "__cuda_array_interface__") or hasattr(buffer, "__dlpack__"):
            return None  # only mpi4py and MPI know what to do with it
        found = type(buffer).__name__
        raise TypeError(f"Allreduce: {name} is of type {found}; expected an array or [array, count, type]") from None
    try:
        return np.asarray(memory)
    except (TypeError, ValueError):
        return None


def _tensor_type() -> Any:
    """Return PyTorch's tensor class; None if PyTorch is not imported, so that no tensors exist."""
    return getattr(sys.modules.get("torch"), "Tensor", None)


def _of_tensor(tensor: Any, name: str) -> np.ndarray | None:
    """Return the memory of a tensor of PyTorch; None if its elements are not supported.

    Raises ValueError unless it is dense and in host memory.
    """
    if tensor.device.type != "cpu":
        raise ValueError(
            f"Allreduce: {name} is on {tensor.device.type}; expected memory of the processor: copy it there, or call "
            "mpi4py's own Allreduce where MPI knows the device"
        )
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in DTYPES:
        if dtype in OF_MPI4PY:
            return None
        raise TypeError(f"Allreduce: {name} has elements of {dtype}, which neither this package nor mpi4py reduces")
    try:
        if dtype != "bfloat16":
            return tensor.numpy()
        return tensor.view(sys.modules["torch"].int16).numpy().view(_known_to_numpy(dtype))
    except (RuntimeError, TypeError) as error:  # sparse, lazily negated, or part of a graph of gradients
        reason = str(error).splitlines()[0]
        raise ValueError(f"Allreduce: {name}: {reason} Expected a dense, detached tensor") from None


def _as_type(array: np.ndarray | None, dtype: np.dtype, buffer: Any, name: str) -> np.ndarray:
    """Return the memory of `buffer` as elements of `dtype`; `array` is numpy's view of it, or None."""
    try:
        if array is None:
            array = np.asarray(MPI.buffer.frombuffer(buffer, readonly=name == "sendbuf"))
        return array if dtype == array.dtype else array.view(dtype)
    except (TypeError, ValueError, BufferError):
        found = type(buffer).__name__
        raise TypeError(f"Allreduce: {name}: its type {dtype.name} does not fit the memory of its {found}") from None


def pass_on(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, op: Any, vectors: Vectors | None) -> None:
    """Call mpi4py's own `comm.Allreduce`, with its results and errors; `vectors`: not None if their type is supported.

    Raises TypeError, in one sentence, for a type that neither side supports, and for 'avg', which mpi4py does not have.
    """
    if vectors is not None and vectors.recv.dtype.name == "bfloat16":
        raise TypeError(
            "Allreduce: bfloat16 has SUM, PROD, MAX, MIN and 'avg' here, and nothing in mpi4py; use float32"
        )
    if op == "avg":
        raise TypeError("Allreduce: 'avg' is of types of floating point; of others, use MPI.SUM and divide")
    operation = OPERATIONS[op] if isinstance(op, str) else op
    try:
        MPI.Comm.Allreduce(comm, sendbuf, recvbuf, operation)  # not that of a subclass, which may call this
    except (KeyError, BufferError) as error:  # before anything is sent
        reason = str(error.args[0] if error.args else error).splitlines()[0]
        raise TypeError(f"Allreduce: neither this package nor mpi4py reduces these buffers: {reason}") from error
