"""The MPI functions of this process, which compiled code calls by name.

Their addresses are those that mpi4py itself uses, found through its module, whatever library that was linked with.
Cached code names functions, not addresses, so that a later process may use it. Handles are pointers in Open MPI and
integers in MPICH and Intel MPI: the type of the array of them is part of the key of numba's cache.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding
import numpy as np
from mpi4py import MPI
from numba import types
from numba.core.typing import signature

from . import Unsupported

HANDLE_NBYTES = {MPI._sizeof(kind) for kind in (MPI.Comm, MPI.Datatype, MPI.Op, MPI.Request)}
KNOWN_NBYTES = ({4}, {8})  # all handles of a library are alike: integers of 32 bits, or pointers
HANDLE = np.dtype("i4" if max(HANDLE_NBYTES) == 4 else "i8")

_INT, _POINTER, _HANDLE = types.int32, types.uintp, types.int32 if HANDLE.itemsize == 4 else types.int64
_END = (_POINTER, _INT, _HANDLE, _INT, _INT)  # one end of a message: buffer, count, datatype, partner, tag
SIGNATURES = {
    "MPI_Sendrecv": (*_END, *_END, _HANDLE, _POINTER),
    "MPI_Irecv": (*_END, _HANDLE, _POINTER),
    "MPI_Isend": (*_END, _HANDLE, _POINTER),
    "MPI_Wait": (_POINTER, _POINTER),
    "MPI_Allreduce": (_POINTER, _POINTER, _INT, _HANDLE, _HANDLE, _HANDLE),
    "MPI_Reduce_local": (_POINTER, _POINTER, _INT, _HANDLE, _HANDLE),
    "MPI_Barrier": (_HANDLE,),
    "MPI_Bcast": (_POINTER, _INT, _HANDLE, _INT, _HANDLE),
}


def load_symbols(**instead: str) -> None:
    """Tell the linker where this process has its MPI functions. Raises Unsupported.

    `instead` names functions that take the place of others, as MPI_Isend="MPI_Issend".
    """
    if HANDLE_NBYTES not in KNOWN_NBYTES:
        found = ", ".join(map(str, sorted(HANDLE_NBYTES)))
        raise Unsupported(f"compiled code cannot call this MPI library: handles of {found} bytes, expected 4 or 8")
    module = ctypes.CDLL(MPI.__file__)  # loaded already; the search continues in the libraries that it was linked with
    for name in SIGNATURES:
        try:
            function = getattr(module, instead.get(name, name))
        except AttributeError as error:
            raise Unsupported(f"compiled code cannot call this MPI library: {error}") from None
        llvmlite.binding.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)


def handle_of(handle: MPI.Comm | MPI.Datatype | MPI.Op | MPI.Request) -> int:
    """Return the value of an MPI handle in C."""
    kind = ctypes.c_int32 if HANDLE.itemsize == 4 else ctypes.c_int64
    return kind.from_address(MPI._addressof(handle)).value


def _function(name: str) -> Callable[..., Any]:
    return types.ExternalFunction(name, signature(_INT, *SIGNATURES[name]))


sendrecv, irecv, isend, wait = (_function(f"MPI_{name}") for name in ("Sendrecv", "Irecv", "Isend", "Wait"))
allreduce, reduce_local = _function("MPI_Allreduce"), _function("MPI_Reduce_local")
barrier, bcast = _function("MPI_Barrier"), _function("MPI_Bcast")
clock_gettime: Callable[..., Any] = types.ExternalFunction("clock_gettime", signature(_INT, _INT, _POINTER))
memcpy: Callable[..., Any] = types.ExternalFunction("memcpy", signature(_POINTER, _POINTER, _POINTER, types.uintp))
