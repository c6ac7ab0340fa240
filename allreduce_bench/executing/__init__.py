"""How steps become MPI calls: a schedule is bound to memory and a communicator once, and called many times.

In: the steps of a rank, its vectors, a communicator. Out: `Prepared`, a call. Read in this order: `program` (what a
rank does, in order, without MPI), `memory` (where vectors lie), this file (each operation a call from Python, and the
library's own all-reduce); then `pipeline` (a program whose messages are posted ahead) and `pipelined` (its calls);
`places` (which messages and copies join places that are slow); then, loaded only for compiled executors, `table` (a
program as integers), `symbols` and `kernel` (what runs a table without the interpreter), `sixteen_bits` (its
arithmetic), `compiled` (a table bound to its buffers). `mockups`: the library's other operations.
"""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from math import inf
from typing import NamedTuple, Protocol

import numpy as np
from mpi4py import MPI

from ..machine.mpi import library_name
from ..message import Refused
from ..schedule import Step, elements
from ..watching.whereabouts import Partners, stepping
from .memory import PAGES, Allocate, page_of
from .program import Copy, Exchange, Operation, Program, Reduce, View, exchanges
from .program import floor as floor_program

TAG = 0  # one tag on a communicator of its own: MPI keeps the order of messages between two ranks
DATATYPES = {"float32": MPI.FLOAT, "float64": MPI.DOUBLE, "int32": MPI.INT32_T, "int64": MPI.INT64_T}
CARRIERS = {"float16": MPI.UINT16_T, "bfloat16": MPI.UINT16_T}  # what carries the bits of types that MPI may not have
OPERATIONS = {"sum": MPI.SUM, "avg": MPI.SUM, "prod": MPI.PROD, "max": MPI.MAX, "min": MPI.MIN}
UFUNCS = {"sum": np.add, "avg": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
NUMPY_FROM = 4096  # elements that it sums faster than MPI_Reduce_local of either library, or as fast
LARGEST_COUNT = 2**31 - 1  # elements of one message before MPI 4


class Unsupported(Refused, ValueError):
    """What this MPI library cannot do: a message that is too large, a type that it does not have."""


def native_datatype(dtype: str) -> MPI.Datatype | None:
    """The type with which the library itself reduces `dtype`; None: mpi4py offers none.

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
    """How the ranks of `comm` enter a call together: after a barrier or, with a slack, at a time of a common clock.

    After the barrier rank 0 names the time, `slack_s` ahead. At the common time `common_s` the own perf_counter reads
    `reading_s`, and goes on at `rate`; a rate of 0: nothing is known of it.
    """

    comm: MPI.Comm
    slack_s: float | None = None
    common_s: float = 0.0
    reading_s: float = 0.0
    rate: float = 0.0


class Changes(NamedTuple):
    """What a loop does between its calls: it looks at lines of the result, and changes others of the input.

    A line is so many elements on end, as unsigned integers. Before call c the input gets `kept` back at the lines `at`;
    then these are `next_at[c]`, where it gets the elements of `operand` at `next_source[c]`. After the call, where
    `looks[c]`, wrong elements at these lines are counted in `wrong`: those of the result that are not the ones of
    `result`, and those of the input that are no longer the ones of `operand`.
    """

    wait: bool  # for all ranks after each call
    first: int  # call before which lines change; before it inputs are new
    operand: np.ndarray  # [element], as `result` of numbers whose reduction is known
    result: np.ndarray
    at: np.ndarray  # int64 [line], as `source`
    source: np.ndarray
    kept: np.ndarray  # [line, element]
    next_at: np.ndarray  # int64 [call, line], as `next_source`
    next_source: np.ndarray
    looks: np.ndarray  # int64 [call]
    wrong: np.ndarray  # int64 [1]


class Between(Protocol):
    """What happens between the calls of a loop: by Python, or by a loop that does it itself."""

    def before(self, call: int) -> None:
        """What comes before the common start of a call."""

    def after(self, call: int) -> None:
        """What follows a call."""

    def changes(self) -> Changes:
        """The same, for a loop of its own."""


class Prepared(NamedTuple):
    """An all-reduce bound to its buffers: `run` does it once, `close` frees what MPI holds for it.

    `timed_calls` makes so many calls without the interpreter, each after a common start, and gives back float64 [3,
    call]: entry and exit, as perf_counter reads them, and whether it was on time. Without a start only the first entry
    and the last exit are taken; with nothing between them all calls are on one input. None: the loop is Python's.
    `footprint` says what a call does to which memory; None: the library knows.
    """

    run: Callable[[], object]
    close: Callable[[], None]
    timed_calls: Callable[[int, CommonStart | None, Between | None], np.ndarray] | None = None
    footprint: "Callable[[], Footprint] | None" = None


class Footprint(NamedTuple):
    """A program and its buffers: INPUT, OUTPUT, SCRATCH."""

    program: Program
    buffers: tuple[np.ndarray, np.ndarray, np.ndarray]


class Place(NamedTuple):
    """An all-reduce bound to buffers of its own."""

    call: Prepared
    sendbuf: np.ndarray
    recvbuf: np.ndarray


def native(sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm, op: str) -> Prepared:
    """The library's own `MPI_Allreduce` of `sendbuf` into `recvbuf` (1-d arrays of one dtype that the library has).

    `op` is a name of OPERATIONS; `avg` is a sum and a division. Raises Unsupported.
    """
    datatype = library_datatype(sendbuf)
    send, recv = ([MPI.buffer(array), array.size, datatype] for array in (sendbuf, recvbuf))
    allreduce, averaging = partial(comm.Allreduce, send, recv, OPERATIONS[op]), division(recvbuf, comm, op)
    run = in_turn([allreduce, *averaging]) if averaging else allreduce  # at 4 bytes a loop around it would be seen
    return Prepared(run, lambda: None)


def library_datatype(vector: np.ndarray) -> MPI.Datatype:
    """The type with which the library itself reduces `vector`. Raises Unsupported: it has none, or it is too long."""
    datatype = native_datatype(vector.dtype.name)
    if datatype is None:
        raise Unsupported("executing.mpi_py_offers_no", dtype=vector.dtype.name, library=_library())
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
    `scratch` allocates what else it needs. Raises Unsupported.
    """
    program = exchanges(steps, sendbuf.size, page_of(sendbuf.dtype))
    binding = Binding(program, sendbuf, recvbuf, comm, op, scratch)
    calls = [*binding.calls(), *division(recvbuf, comm, op)]
    return Prepared(in_turn(calls), binding.close, footprint=lambda: binding.footprint)


def floor(name: str, sendbuf: np.ndarray, recvbuf: np.ndarray, op: str) -> Prepared:
    """What is no all-reduce, bound as `sendrecv` binds it: see `program.floor`. Raises Unsupported."""
    binding = Binding(floor_program(name, sendbuf.size), sendbuf, recvbuf, MPI.COMM_SELF, op)
    return Prepared(in_turn(binding.calls()), lambda: None)


def _late(module: str, name: str) -> Callable[..., Prepared]:
    """A function of a module of this room that is loaded at its first use: few ranks run it."""

    def bind(*bound, **scratch) -> Prepared:
        return getattr(import_module(f"{__name__}.{module}"), name)(*bound, **scratch)

    return bind


EXECUTORS: dict[str, Callable[..., Prepared]] = {  # of the same steps
    "sendrecv": sendrecv,
    "pipelined": _late("pipeline", "pipelined"),
    "compiled": _late("compiled", "compiled"),
    "compiled-pipelined": _late("compiled", "compiled_pipelined"),
}
NATIVES = {"native": native, "compiled": _late("compiled", "native")}  # executors of the library's own all-reduce


def in_turn(calls: Sequence[Callable[[], object]]) -> Callable[[], None]:
    """One call that makes all of them, in order; one that hangs is named by the monitor."""
    frozen = tuple(calls)

    @stepping("frozen", "call", _partners)
    def run() -> None:
        for call in frozen:
            call()

    return run


def _partners(call: partial) -> Partners | None:
    """The destination and the source of a bound step; None of another call."""
    if getattr(call.func, "__name__", "") != MPI.Comm.Sendrecv.__name__:
        return None
    arguments = _Sendrecv(*call.args)
    return Partners(arguments.dest, arguments.source)


def division(recvbuf: np.ndarray, comm: MPI.Comm, op: str) -> list[Callable[[], object]]:
    """What makes an average of a sum; no call for any other operation."""
    return [partial(np.divide, recvbuf, comm.size, recvbuf)] if op == "avg" else []


def _refuse_above_limit(count: int, what: str = "a message of {} elements") -> None:
    """Raises Unsupported where a count is beyond 32 bits, and the library's functions with larger ones are missing."""
    if count > LARGEST_COUNT and MPI.Get_version() < (4, 0):
        mpi = f"{_library()} (MPI {MPI.VERSION}.{MPI.SUBVERSION})"
        raise Unsupported(
            "executing.counts_use_smaller_sizes", what=what.format(count), mpi=mpi, largest_count=LARGEST_COUNT
        )


def _library() -> str:
    return library_name(MPI.Get_library_version())


class Binding:
    """Turns the operations of a program into bound calls."""

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
        self.footprint = Footprint(program, (sendbuf, recvbuf, scratch(program.scratch, sendbuf.dtype)))
        self.comm = comm
        self.datatype = carrier or DATATYPES[sendbuf.dtype.name]
        self.op, self.ufunc = OPERATIONS[op], UFUNCS[op]
        self.numpy_from = 0 if carrier else inf if op in ("max", "min") else NUMPY_FROM  # elements
        self.indexed: list[MPI.Datatype] = []  # types of messages of several ranges

    def calls(self) -> list[Callable[[], object]]:
        """One call for each operation, in order."""
        return [self.call_of(operation) for operation in self.footprint.program.operations]

    def close(self) -> None:
        """Free what MPI holds for the calls."""
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
        """Bind one reduction: short ones by `MPI_Reduce_local`, whose call costs less, and all maxima and minima, whose
        zeros and NaN are the library's.

        Longer sums and products are numpy's: it adds 2^20 of float32 in 0.6 ms, MPICH 5.0.2 in 1.7 ms. 16-bit elements
        travel as integers, since no MPI standard has them, and are numpy's, too: it adds 2^20 of float16 in 5.7 ms,
        where the MPI libraries from PyPI take 18 ms, and knows bfloat16.
        """
        total = self._array(operation.into)
        if total.size >= self.numpy_from:
            return partial(self.ufunc, self._array(operation.view), total, out=total)
        return partial(self.op.Reduce_local, self.message(operation.view), self.message(operation.into))

    def _array(self, view: View) -> np.ndarray:
        (span,) = view.ranges
        return self.footprint.buffers[view.buffer][span.start : span.stop]

    def message(self, view: View) -> list:
        """The elements of `view`, in the order of its ranges, as mpi4py takes them: buffer, count, type."""
        _refuse_above_limit(elements(view.ranges))
        if len(view.ranges) == 1:
            array = self._array(view)
            return [MPI.buffer(array), array.size, self.datatype]
        _refuse_above_limit(max(span.stop for span in view.ranges), "a message of ranges up to element {}")
        lengths, starts = ([len(span) for span in view.ranges], [span.start for span in view.ranges])
        self.indexed.append(self.datatype.Create_indexed(lengths, starts).Commit())
        return [MPI.buffer(self.footprint.buffers[view.buffer]), 1, self.indexed[-1]]
