"""Execution of steps as MPI calls: a schedule is bound to buffers and a communicator once, and called many times.

In: the steps of a rank, its vectors, a communicator. Out: `Prepared`, a call. Read in this order: `program` (the
operations of a rank, without MPI), `memory` (where buffers are allocated), this file (each operation a call from
Python, and the library's own all-reduce); `call_numbers` (what shows that a call was made); then `pipeline` (messages
posted ahead: program and executor); `mockups` (the library's other collectives); `places` (which messages and copies
join slow offsets); `recovery` (what survivors of a lost rank do together); then, loaded only for compiled executors,
`table` (a program as integers), `kernel` (16-bit arithmetic, MPI symbols, and the compiled loop that runs a table),
`compiled` (a table bound to its buffers).
"""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from math import inf
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..machine.mpi import library_name
from ..schedule import Step, elements
from ..watching.whereabouts import Partners, stepping
from .call_numbers import CallNumbers
from .memory import PAGES, Allocate, page_of
from .program import Copy, Exchange, Operation, Program, Reduce, View, exchanges
from .program import floor as floor_program

TAG = 0  # one tag on a communicator of its own: MPI keeps the order of messages between two ranks
DATATYPES = {"float32": MPI.FLOAT, "float64": MPI.DOUBLE, "int32": MPI.INT32_T, "int64": MPI.INT64_T}
CARRIERS = {"float16": MPI.UINT16_T, "bfloat16": MPI.UINT16_T}  # types that carry the bits of those that MPI may lack
OPERATIONS = {"sum": MPI.SUM, "avg": MPI.SUM, "prod": MPI.PROD, "max": MPI.MAX, "min": MPI.MIN}
UFUNCS = {"sum": np.add, "avg": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
NUMPY_FROM = 4096  # elements from which numpy sums as fast as MPI_Reduce_local of either library, or faster
LARGEST_COUNT = 2**31 - 1  # elements of one message before MPI 4


class Unsupported(ValueError):
    """Something this MPI library cannot do: a message that is too large, a type that it does not have."""


def native_datatype(dtype: str) -> MPI.Datatype | None:
    """Return the type with which the library itself reduces `dtype`, or None if mpi4py offers none.

    MPICH 5.0.2 has a bfloat16 that mpi4py 4.1 does not know; it sums it, but a product ends the process.
    """
    if dtype != "float16":
        return DATATYPES.get(dtype)
    extension = getattr(MPI, "FLOAT16_T", MPI.DATATYPE_NULL)  # since mpi4py 4.1; MPI_SHORT_FLOAT, MPIX_C_FLOAT16
    return extension if extension != MPI.DATATYPE_NULL else None


class _Sendrecv(NamedTuple):
    """The arguments of an MPI_Sendrecv, in its order."""

    send: list | None
    dest: int
    send_tag: int
    recv: list | None
    source: int
    recv_tag: int


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

    def turn(self) -> Callable[[], object]:
        """Set the input of a call in place, and return the call to time; call this before the common start."""
        if self.set_input:
            self.set_input()
        return self.run


class Place(NamedTuple):
    """An all-reduce bound to buffers of its own."""

    call: Prepared
    sendbuf: np.ndarray
    recvbuf: np.ndarray


def native(sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm, op: str) -> Prepared:
    """Bind the library's own `MPI_Allreduce` of `sendbuf` into `recvbuf` (1-d arrays of one dtype that it has).

    `op` is a name of OPERATIONS; `avg` is a sum and a division. In place if both are the same. Raises Unsupported.
    """
    datatype = library_datatype(sendbuf)
    recv = [MPI.buffer(recvbuf), recvbuf.size, datatype]
    send = MPI.IN_PLACE if sendbuf is recvbuf else [MPI.buffer(sendbuf), sendbuf.size, datatype]
    allreduce, averaging = partial(comm.Allreduce, send, recv, OPERATIONS[op]), division(recvbuf, comm, op)
    run = in_turn([allreduce, *averaging]) if averaging else allreduce  # at 4 bytes the overhead of a loop would show
    return Prepared(run, lambda: None)


def library_datatype(vector: np.ndarray) -> MPI.Datatype:
    """Return the type with which the library reduces `vector`. Raises Unsupported: no type, too long."""
    datatype = native_datatype(vector.dtype.name)
    if datatype is None:
        raise Unsupported(f"mpi4py offers no {vector.dtype.name} of {_library()}: native cannot be measured")
    _refuse_above_limit(vector.size)
    return datatype


def sendrecv(
    steps: Sequence[Step],
    sendbuf: np.ndarray,
    recvbuf: np.ndarray,
    comm: MPI.Comm,
    op: str,
    scratch: Allocate = PAGES.scratch,
) -> Prepared:
    """Run this rank's `steps` as exactly one blocking `MPI_Sendrecv` each.

    `sendbuf` and `recvbuf` are 1-d arrays of one dtype of DATATYPES or CARRIERS, `op` is a name of OPERATIONS;
    `scratch` allocates what else it needs. Where both arrays are the same one, it is reduced in place. Raises
    Unsupported.
    """
    program = exchanges(steps, sendbuf.size, page_of(sendbuf.dtype), sendbuf is recvbuf)
    binding = Binding(program, sendbuf, recvbuf, comm, op, scratch)
    calls = [*binding.calls(), *division(recvbuf, comm, op)]
    return Prepared(in_turn(calls), binding.close, buffers=binding.buffers)


def floor(name: str, sendbuf: np.ndarray, recvbuf: np.ndarray, op: str) -> Prepared:
    """Bind a floor, which is no all-reduce, as `sendrecv` binds: see `program.floor`. Raises Unsupported."""
    binding = Binding(floor_program(name, sendbuf.size), sendbuf, recvbuf, MPI.COMM_SELF, op)
    return Prepared(in_turn(binding.calls()), lambda: None)


def _late(module: str, name: str) -> Callable[..., Prepared]:
    """Return a function of a module of this room that is loaded at first use: few ranks run it."""

    def bind(*bound, **scratch) -> Prepared:
        return getattr(import_module(f"{__name__}.{module}"), name)(*bound, **scratch)

    return bind


EXECUTORS: dict[str, Callable[..., Prepared]] = {  # of the same steps
    "sendrecv": sendrecv,
    "pipelined": _late("pipeline", "pipelined"),
    "compiled": _late("compiled", "compiled"),
    "compiled-pipelined": _late("compiled", "compiled_pipelined"),
}
NATIVES = {
    "native": native,
    "native@compiled": _late("compiled", "native"),
}  # executors of the library's own all-reduce


def in_turn(calls: Sequence[Callable[[], object]]) -> Callable[[], None]:
    """Return one call that makes all of `calls` in order; the monitor names the one that hangs."""
    frozen = tuple(calls)

    @stepping("frozen", "call", _partners)
    def run() -> None:
        for call in frozen:
            call()

    return run


def _partners(call: partial) -> Partners | None:
    """Return the destination and source of a bound step; None for any other call."""
    if getattr(call.func, "__name__", "") != MPI.Comm.Sendrecv.__name__:
        return None
    arguments = _Sendrecv(*call.args)
    return Partners(arguments.dest, arguments.source)


def division(recvbuf: np.ndarray, comm: MPI.Comm, op: str) -> list[Callable[[], object]]:
    """Return the call that divides a sum into an average; no call for other operations."""
    return [partial(np.divide, recvbuf, comm.size, recvbuf)] if op == "avg" else []


def _refuse_above_limit(count: int, what: str = "a message of {} elements") -> None:
    """Raise Unsupported if a count exceeds 32 bits and the library lacks the large-count functions of MPI 4."""
    if count > LARGEST_COUNT and MPI.Get_version() < (4, 0):
        mpi = f"{_library()} (MPI {MPI.VERSION}.{MPI.SUBVERSION})"
        raise Unsupported(f"{what.format(count)}; {mpi} counts to {LARGEST_COUNT}: use smaller --sizes, or an MPI 4")


def _library() -> str:
    return library_name(MPI.Get_library_version())


class Binding:
    """Binds the operations of a program to buffers and a communicator."""

    def __init__(
        self,
        program: Program,
        sendbuf: np.ndarray,
        recvbuf: np.ndarray,
        comm: MPI.Comm,
        op: str,
        scratch: Allocate = PAGES.scratch,
    ):
        carrier = CARRIERS.get(sendbuf.dtype.name)
        self.program, self.buffers = program, (sendbuf, recvbuf, scratch(program.scratch, sendbuf.dtype))
        self.comm = comm
        self.datatype = carrier or DATATYPES[sendbuf.dtype.name]
        self.op, self.ufunc = OPERATIONS[op], UFUNCS[op]
        self.numpy_from = 0 if carrier else inf if op in ("max", "min") else NUMPY_FROM  # elements
        self.indexed: list[MPI.Datatype] = []  # types of messages of several ranges

    def calls(self) -> list[Callable[[], object]]:
        """Return one call per operation, in order."""
        return [self.call_of(operation) for operation in self.program.operations]

    def close(self) -> None:
        """Free the MPI objects of the calls."""
        for datatype in self.indexed:
            datatype.Free()
        self.indexed.clear()

    def call_of(self, operation: Operation) -> Callable[[], object]:
        """Bind one operation."""
        if isinstance(operation, Exchange):
            return self._sendrecv(operation)
        if isinstance(operation, Copy):
            return partial(np.copyto, self._array(operation.into), self._array(operation.view))
        assert isinstance(operation, Reduce)
        return self.reduction(operation)

    def _sendrecv(self, exchange: Exchange) -> Callable[[], object]:
        send, recv = (self.message(view) if view else None for view in (exchange.send, exchange.recv))
        dest = MPI.PROC_NULL if exchange.dest is None else exchange.dest
        source = MPI.PROC_NULL if exchange.source is None else exchange.source
        return partial(self.comm.Sendrecv, *_Sendrecv(send, dest, TAG, recv, source, TAG))

    def reduction(self, operation: Reduce) -> Callable[[], object]:
        """Bind one reduction: short ones, and all maxima and minima, by `MPI_Reduce_local`.

        Its call costs less, and zeros and NaN are then the library's. Longer sums and products are numpy's: it adds
        2^20 float32 in 0.6 ms, MPICH 5.0.2 in 1.7 ms. 16-bit elements travel as integers, since no MPI standard has
        them, and are numpy's, too: it adds 2^20 float16 in 5.7 ms, where the MPI libraries from PyPI take 18 ms, and
        knows bfloat16.
        """
        total = self._array(operation.into)
        if total.size >= self.numpy_from:
            return partial(self.ufunc, self._array(operation.view), total, out=total)
        return partial(self.op.Reduce_local, self.message(operation.view), self.message(operation.into))

    def _array(self, view: View) -> np.ndarray:
        (span,) = view.ranges
        return self.buffers[view.buffer][span.start : span.stop]

    def message(self, view: View) -> list:
        """Return the elements of `view`, in the order of its ranges, as mpi4py takes them: buffer, count, type."""
        _refuse_above_limit(elements(view.ranges))
        if len(view.ranges) == 1:
            array = self._array(view)
            return [MPI.buffer(array), array.size, self.datatype]
        _refuse_above_limit(max(span.stop for span in view.ranges), "a message of ranges up to element {}")
        lengths, starts = ([len(span) for span in view.ranges], [span.start for span in view.ranges])
        self.indexed.append(self.datatype.Create_indexed(lengths, starts).Commit())
        return [MPI.buffer(self.buffers[view.buffer]), 1, self.indexed[-1]]
