"""Execution of steps as MPI calls: a schedule is bound to buffers and a communicator once, and called many times.

In: the steps of a rank, its vectors, a communicator. Out: `Prepared`, a call. Read in this order: `program` (the
operations of a rank, without MPI), `memory` (where buffers are allocated, and lie), `sendrecv` (each operation a call
from Python), `native` (the library's own all-reduce); `call_numbers` (what shows that a call was made); then `pipeline`
(messages posted ahead: program and executor); `mockups` (the library's other collectives), `forced` by `mpi_t`, `gloo`;
`recovery` (what survivors of a lost rank do together); then, loaded only for compiled executors, `table` (a program as
integers), `sixteen_bits` (arithmetic), `symbols` (the functions of MPI), `kernel` (the compiled loop that runs a
table), `compiled` (a table bound to its buffers).
"""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..machine.mpi import library_name
from .call_numbers import CallNumbers

TAG = 0  # one tag on a communicator of its own: MPI keeps the order of messages between two ranks
DATATYPES = {"float32": MPI.FLOAT, "float64": MPI.DOUBLE, "int32": MPI.INT32_T, "int64": MPI.INT64_T}
CARRIERS = {"float16": MPI.UINT16_T, "bfloat16": MPI.UINT16_T}  # types that carry the bits of those that MPI may lack
OPERATIONS = {"sum": MPI.SUM, "avg": MPI.SUM, "prod": MPI.PROD, "max": MPI.MAX, "min": MPI.MIN}
LARGEST_COUNT = 2**31 - 1  # elements of one message before MPI 4


class Unsupported(ValueError):
    """Something this MPI library cannot do: a message that is too large, a type that it does not have."""


def message_datatype(dtype: str) -> MPI.Datatype:
    """Return the type in which messages carry elements of `dtype`, a key of DATATYPES or CARRIERS."""
    return CARRIERS.get(dtype) or DATATYPES[dtype]


def native_datatype(dtype: str) -> MPI.Datatype | None:
    """Return the type with which the library itself reduces `dtype`, or None if mpi4py offers none.

    MPICH 5.0.2 has a bfloat16 that mpi4py 4.1 does not know; it sums it, but a product ends the process.
    """
    if dtype != "float16":
        return DATATYPES.get(dtype)
    extension = getattr(MPI, "FLOAT16_T", MPI.DATATYPE_NULL)  # since mpi4py 4.1; MPI_SHORT_FLOAT, MPIX_C_FLOAT16
    return extension if extension != MPI.DATATYPE_NULL else None


class CommonStart(NamedTuple):
    """The common entry of the ranks of `comm` into a call: after a barrier or, with `slack_s`, at a common time.

    Rank 0 names that time after the barrier, `slack_s` ahead. At the common time `common_s` this rank's perf_counter
    reads `reading_s`, and advances at `rate`; a rate of 0 means that its clock is not known.
    """

    comm: MPI.Comm
    slack_s: float | None = None
    common_s: float = 0.0
    reading_s: float = 0.0
    rate: float = 0.0


class Prepared(NamedTuple):
    """An all-reduce bound to its buffers: `run` does it once, `close` frees the MPI objects it holds.

    `timed_calls` makes that many calls without the interpreter, each after a common start, and returns float64 [3,
    call]: entry and exit as perf_counter reads them, and whether the rank was on time. Without a start only the first
    entry and the last exit are taken; with `CallNumbers` each call has a number. None: the loop runs in Python.
    `buffers` are the vectors that a call reads and writes: INPUT, OUTPUT, SCRATCH; None: only the library knows.
    `set_input`, of a call in place, puts its input where it reduces it; None: input and output are two buffers.
    """

    run: Callable[[], object]
    close: Callable[[], None]
    timed_calls: Callable[[int, CommonStart | None, CallNumbers | None], np.ndarray] | None = None
    buffers: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    set_input: Callable[[], object] | None = None

    def prepare_call(self) -> Callable[[], object]:
        """Set the input of a call in place, and return the call to time; call this before the common start."""
        if self.set_input:
            self.set_input()
        return self.run


class Place(NamedTuple):
    """An all-reduce bound to buffers of its own."""

    call: Prepared
    sendbuf: np.ndarray
    recvbuf: np.ndarray


def _late(module: str, name: str) -> Callable[..., Prepared]:
    """Return a function of a module of this room that is loaded at first use: few ranks run it."""

    def bind(*bound, **scratch) -> Prepared:
        return getattr(import_module(f"{__name__}.{module}"), name)(*bound, **scratch)

    return bind


EXECUTORS: dict[str, Callable[..., Prepared]] = {  # of the same steps
    "sendrecv": _late("sendrecv", "sendrecv"),
    "pipelined": _late("pipeline", "pipelined"),
    "compiled": _late("compiled", "compiled"),
    "compiled-pipelined": _late("compiled", "compiled_pipelined"),
}
NATIVES = {  # of the library's own all-reduce
    "native": _late("native", "native"),
    "native@compiled": _late("compiled", "native"),
}


def refuse_above_limit(count: int, what: str = "a message of {} elements") -> None:
    """Raise Unsupported if a count exceeds 32 bits and the library lacks the large-count functions of MPI 4."""
    if count > LARGEST_COUNT and MPI.Get_version() < (4, 0):
        mpi = f"{own_library()} (MPI {MPI.VERSION}.{MPI.SUBVERSION})"
        raise Unsupported(f"{what.format(count)}; {mpi} counts to {LARGEST_COUNT}: use smaller --sizes, or an MPI 4")


def own_library() -> str:
    """Return the name and version of the MPI library of this process."""
    return library_name(MPI.Get_library_version())
