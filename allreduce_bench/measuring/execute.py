"""Binds a schedule to memory and a communicator once; what is timed afterwards is a flat loop over bound calls.

Out of place like MPI_Allreduce: the input stays untouched, the output ends right. A range of the output that nothing
was written to yet is sent straight from the input, and what arrives to be reduced into it lands in it and is reduced
with the input there, so that no copy of the whole vector is needed.

MPI reduces with `MPI_Reduce_local`. 16-bit elements travel as integers, since no MPI standard has them, and are reduced
with numpy: it adds 2^20 of float16 in 5.7 ms, where the MPI libraries from PyPI take 18 ms, and knows bfloat16.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..machine.mpi import library_name
from ..schedule import Parts, Ranges, Step, elements
from ..watching.whereabouts import Partners, stepping

TAG = 0  # one tag on a communicator of its own: MPI keeps the order of messages between two ranks
DATATYPES = {"float32": MPI.FLOAT, "float64": MPI.DOUBLE, "int32": MPI.INT32_T, "int64": MPI.INT64_T}
CARRIERS = {"float16": MPI.UINT16_T, "bfloat16": MPI.UINT16_T}  # what carries the bits of types that MPI may not have
OPERATIONS = {"sum": MPI.SUM, "avg": MPI.SUM, "prod": MPI.PROD, "max": MPI.MAX, "min": MPI.MIN}
UFUNCS = {"sum": np.add, "avg": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
LARGEST_COUNT = 2**31 - 1  # elements of one message before MPI 4


class Unsupported(ValueError):
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


class Prepared(NamedTuple):
    """An all-reduce bound to its buffers: `run` does it once, `close` frees what MPI holds for it."""

    run: Callable[[], None]
    close: Callable[[], None]


class Place(NamedTuple):
    """An all-reduce bound to buffers of its own."""

    call: Prepared
    sendbuf: np.ndarray
    recvbuf: np.ndarray


def native(sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm, op: str) -> Prepared:
    """The library's own `MPI_Allreduce` of `sendbuf` into `recvbuf` (1-d arrays of one dtype that the library has).

    `op` is a name of OPERATIONS; `avg` is a sum and a division. Raises Unsupported.
    """
    datatype = native_datatype(sendbuf.dtype.name)
    if datatype is None:
        raise Unsupported(f"mpi4py offers no {sendbuf.dtype.name} of {_library()}: native cannot be measured")
    _refuse_above_limit(sendbuf.size)
    send, recv = ([MPI.buffer(array), array.size, datatype] for array in (sendbuf, recvbuf))
    allreduce, division = partial(comm.Allreduce, send, recv, OPERATIONS[op]), _division(recvbuf, comm, op)
    run = _in_turn([allreduce, *division]) if division else allreduce  # at 4 bytes a loop around it would be seen
    return Prepared(run, lambda: None)


def sendrecv(steps: Sequence[Step], sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm, op: str) -> Prepared:
    """Run this rank's `steps` as exactly one blocking `MPI_Sendrecv` each.

    `sendbuf` and `recvbuf` are 1-d arrays of one dtype of DATATYPES or CARRIERS, `op` is a name of OPERATIONS.
    Raises Unsupported.
    """
    binding = _Binding(steps, sendbuf, recvbuf, comm, op)
    calls = [*binding.calls(), *_division(recvbuf, comm, op)]
    return Prepared(_in_turn(calls), binding.close)


def floor(name: str, sendbuf: np.ndarray, recvbuf: np.ndarray, op: str) -> Prepared:
    """What is no all-reduce, bound in the same way: a name of `schema.FLOORS`, the rest as of `sendrecv`.

    null: no call at all; copy: a local copy of the vector; reduce: its reduction into the output, as a step makes it.
    Raises Unsupported.
    """
    calls: list[Callable[[], object]] = []
    if name == "copy":
        calls = [partial(np.copyto, recvbuf, sendbuf)]
    elif name == "reduce":
        _refuse_above_limit(sendbuf.size)
        vector = range(sendbuf.size)
        calls = [_Binding([], sendbuf, recvbuf, MPI.COMM_SELF, op).reduction(sendbuf, vector, vector)]
    return Prepared(_in_turn(calls), lambda: None)


EXECUTORS = {"sendrecv": sendrecv}  # the ways to run the same steps


def _in_turn(calls: Sequence[Callable[[], object]]) -> Callable[[], None]:
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
    return arguments.dest, arguments.source


def _division(recvbuf: np.ndarray, comm: MPI.Comm, op: str) -> list[Callable[[], object]]:
    return [partial(np.divide, recvbuf, comm.size, recvbuf)] if op == "avg" else []


def _refuse_above_limit(count: int) -> None:
    if count > LARGEST_COUNT and MPI.Get_version() < (4, 0):
        mpi = f"{_library()} (MPI {MPI.VERSION})"
        raise Unsupported(f"a message of {count} elements; {mpi} carries at most {LARGEST_COUNT}")


def _library() -> str:
    return library_name(MPI.Get_library_version())


class _Binding:
    """Turns steps into bound calls, keeping track of what of the output has been written."""

    def __init__(self, steps: Sequence[Step], sendbuf, recvbuf, comm: MPI.Comm, op: str):
        self.steps, self.sendbuf, self.recvbuf, self.comm = steps, sendbuf, recvbuf, comm
        carrier = CARRIERS.get(sendbuf.dtype.name)
        self.datatype = carrier or DATATYPES[sendbuf.dtype.name]
        self.op, self.ufunc = OPERATIONS[op], UFUNCS[op] if carrier else None
        self.parts = Parts([steps], sendbuf.size)
        self.written = [False] * len(self.parts)
        self.indexed: list[MPI.Datatype] = []  # types of messages of several ranges
        scratch = max((elements(step.recv) for step in steps if step.reduce), default=0)
        self.scratch = np.empty(scratch, sendbuf.dtype)

    def calls(self) -> list[Callable[[], object]]:
        calls: list[Callable[[], object]] = []
        for step in self.steps:
            calls += self._calls_of_step(step)
        return calls + self._copies((range(self.sendbuf.size),) if self.sendbuf.size else ())

    def close(self) -> None:
        for datatype in self.indexed:
            datatype.Free()
        self.indexed.clear()

    def _calls_of_step(self, step: Step) -> list[Callable[[], object]]:
        before: list[Callable[[], object]] = []
        after: list[Callable[[], object]] = []
        send = recv = None
        if step.send:
            from_input = step.original or not any(self.written[i] for i in self._parts_of(step.send))
            if not from_input:
                before += self._copies(step.send)
            send = self._message(self.sendbuf if from_input else self.recvbuf, step.send)
        if step.recv and step.reduce and any(self.written[i] for i in self._parts_of(step.recv)):
            before += self._copies(step.recv)
            recv = self._message(self.scratch, (range(elements(step.recv)),))
            after += self._reductions_of_scratch(step.recv)
        elif step.recv:
            recv = self._message(self.recvbuf, step.recv)
            if step.reduce:
                after += [self.reduction(self.sendbuf, span, span) for span in step.recv]
        for part in self._parts_of(step.recv):
            self.written[part] = True
        dest = MPI.PROC_NULL if step.dest is None else step.dest
        source = MPI.PROC_NULL if step.source is None else step.source
        return [*before, partial(self.comm.Sendrecv, *_Sendrecv(send, dest, TAG, recv, source, TAG)), *after]

    def _parts_of(self, ranges: Ranges) -> list[int]:
        return [part for span in ranges for part in range(*self.parts.of.get(span, (0, len(self.parts))))]

    def _copies(self, ranges: Ranges) -> list[Callable[[], object]]:
        """Copy what of `ranges` was not written yet from the input to the output."""
        unwritten = [part for part in self._parts_of(ranges) if not self.written[part]]
        for part in unwritten:
            self.written[part] = True
        spans = [slice(self.parts.cuts[part], self.parts.cuts[part + 1]) for part in unwritten]
        return [partial(np.copyto, self.recvbuf[span], self.sendbuf[span]) for span in spans]

    def _message(self, array: np.ndarray, ranges: Ranges) -> list:
        _refuse_above_limit(elements(ranges))
        if len(ranges) == 1:
            return self._buffer(array, ranges[0])
        datatype = self.datatype.Create_indexed([len(span) for span in ranges], [span.start for span in ranges])
        self.indexed.append(datatype.Commit())
        return [MPI.buffer(array), 1, datatype]

    def _buffer(self, array: np.ndarray, span: range) -> list:
        return [MPI.buffer(array[span.start : span.stop]), len(span), self.datatype]

    def reduction(self, array: np.ndarray, span: range, into: range) -> Callable[[], object]:
        """Reduce `span` of `array` into `into` of the output."""
        if self.ufunc is not None:
            total = self.recvbuf[into.start : into.stop]
            return partial(self.ufunc, array[span.start : span.stop], total, total)
        return partial(self.op.Reduce_local, self._buffer(array, span), self._buffer(self.recvbuf, into))

    def _reductions_of_scratch(self, ranges: Ranges) -> list[Callable[[], object]]:
        calls, start = [], 0
        for span in ranges:
            calls.append(self.reduction(self.scratch, range(start, start + len(span)), span))
            start += len(span)
        return calls
