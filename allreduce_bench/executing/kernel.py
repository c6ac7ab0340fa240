"""The MPI functions of this process for compiled code, which calls them by their names.

Their addresses are those that mpi4py uses itself, found through its own module, whatever library that was linked with.
Compiled code that is kept names functions, not addresses, so that a later process may use it. Handles are pointers in
Open MPI and integers in MPICH and Intel MPI: the type of the array of them is part of what numba keys its cache by.
"""

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

import llvmlite.binding
import numpy as np
from mpi4py import MPI
from numba import carray, njit, types
from numba.core.typing import signature
from numba.extending import intrinsic, overload

from . import Unsupported
from . import sixteen_bits as bits16
from .program import INPUT, OUTPUT
from .table import COPY, DIVIDE, EXCHANGE, POST_RECEIVE, POST_SEND, REDUCE, WAIT, Row

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
    module = ctypes.CDLL(MPI.__file__)  # loaded already; the search goes on in what it was linked with
    for name in SIGNATURES:
        try:
            function = getattr(module, instead.get(name, name))
        except AttributeError as error:
            raise Unsupported(f"compiled code cannot call this MPI library: {error}") from None
        llvmlite.binding.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)


def handle_of(handle: MPI.Comm | MPI.Datatype | MPI.Op | MPI.Request) -> int:
    """What C calls an MPI object."""
    kind = ctypes.c_int32 if HANDLE.itemsize == 4 else ctypes.c_int64
    return kind.from_address(MPI._addressof(handle)).value


def _function(name: str) -> Callable[..., Any]:
    return types.ExternalFunction(name, signature(_INT, *SIGNATURES[name]))


sendrecv, irecv, isend, wait = (_function(f"MPI_{name}") for name in ("Sendrecv", "Irecv", "Isend", "Wait"))
allreduce, reduce_local = _function("MPI_Allreduce"), _function("MPI_Reduce_local")
barrier, bcast = _function("MPI_Barrier"), _function("MPI_Bcast")
clock_gettime: Callable[..., Any] = types.ExternalFunction("clock_gettime", signature(_INT, _INT, _POINTER))
memcpy: Callable[..., Any] = types.ExternalFunction("memcpy", signature(_POINTER, _POINTER, _POINTER, types.uintp))


# The kernel: runs a table of rows and times it, in machine code that numba makes, without the interpreter.
#
# Sums and products, and the greatest and least integers, are loops of its own: over 2^20 float32 MPICH 5.0.2's
# MPI_Reduce_local takes twice as long. The greatest and least floats are left to MPI_Reduce_local, since libraries
# differ in what they make of zeros of both signs and of what is no number. 16-bit elements: see `sixteen_bits`.


BY_LIBRARY, SUM, PROD, MAX, MIN = range(5)  # how to reduce; BY_LIBRARY: MPI_Reduce_local
CALL, ROW = range(2)  # counters: the call, and the row in it
OUTSIDE = -1  # of all rows: in the common start
NO_START, BARRIER, ROUND_TIME = range(3)  # the common start of a call
SLACK, ORIGIN, READING, RATE = range(4)  # see `_begin`
CLOCK_MONOTONIC = 1  # of Linux: what perf_counter reads
LOOKS = 10_000_000  # at a clock that stands still: less than a second
TAG = 0
REQUEST_NBYTES = HANDLE.itemsize
COLUMNS = len(Row._fields)
KIND, DEST, BUFFER, OFFSET, LENGTH, SOURCE, INTO, INTO_OFFSET, INTO_LENGTH, REQUEST, STEP = range(COLUMNS)


class Bound(NamedTuple):
    """An all-reduce with its buffers, as the kernel takes it: numbers only, handles as of `symbols.HANDLE`.

    Arrays are addresses, since numba counts who uses an array: with ten of them an empty call took 215 ns, not 20.
    """

    rows: int  # of int64 [row, column], see `table`; partners as MPI numbers them
    buffers: int  # of int64 [3]: the addresses of INPUT, OUTPUT, SCRATCH
    counters: int  # of int64 [2]: CALL and ROW, for who watches
    requests: int  # of handles
    status: int
    timespec: int  # of int64 [2], for clock_gettime
    comm: np.integer  # handles
    datatype: np.integer
    op: np.integer
    row_count: int
    element_nbytes: int
    divisor: np.generic  # the number of ranks, as an element; of 16-bit elements the bits, uint16
    how: int  # how to reduce
    halves: bool  # of 16-bit elements: they are float16, not bfloat16


class Start(NamedTuple):
    """The common start, as the kernel takes it."""

    kind: int
    leads: bool  # this rank names the time of ROUND_TIME
    line: int  # address of float64, by SLACK and so on
    named: int  # of float64 [1], the common time of a start
    comm: np.integer  # handles
    double: np.integer


class Changes(NamedTuple):
    """What changes between calls, as the kernel takes it: addresses, see `executing.Changes`."""

    lines: int
    length: int  # elements of a line
    wait: int  # 1: for all ranks after each call
    first: int
    operand: int
    result: int
    at: int
    source: int
    kept: int
    next_at: int
    next_source: int
    looks: int
    wrong: int


def _combine(arrived, total, how, halves):
    """total = arrived, total combined, of arrays of one type."""


def _divide(total, divisor, halves):
    """total = total / divisor."""


@overload(_combine)
def _(arrived, total, how, halves):
    return _combine_16_bits if total.dtype == types.uint16 else _combine_wide


@overload(_divide)
def _(total, divisor, halves):
    return _divide_16_bits if total.dtype == types.uint16 else _divide_wide


def _combine_wide(arrived, total, how, halves):
    if how == SUM:
        for i in range(total.size):
            total[i] += arrived[i]
    elif how == PROD:
        for i in range(total.size):
            total[i] *= arrived[i]
    elif how == MAX:
        for i in range(total.size):
            total[i] = max(total[i], arrived[i])
    elif how == MIN:
        for i in range(total.size):
            total[i] = min(total[i], arrived[i])


def _combine_16_bits(arrived, total, how, halves):
    if how == SUM:
        bits16.add_halves(arrived, total) if halves else bits16.add_brains(arrived, total)
    elif how == PROD:
        bits16.multiply_halves(arrived, total) if halves else bits16.multiply_brains(arrived, total)
    elif how == MAX:
        bits16.max_halves(arrived, total) if halves else bits16.max_brains(arrived, total)
    elif how == MIN:
        bits16.min_halves(arrived, total) if halves else bits16.min_brains(arrived, total)


def _divide_wide(total, divisor, halves):
    for i in range(total.size):
        total[i] = total[i] / divisor


def _divide_16_bits(total, divisor, halves):
    bits16.divide_halves(total, divisor) if halves else bits16.divide_brains(total, divisor)


def _pointer_at(typing_context, address, like):
    """A pointer at `address` to values of the type of `like`."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(like)(address, like), generate


_pointer: Any = intrinsic(_pointer_at)


@njit
def _elements(bound, buffer, offset, count):
    """`count` elements of a buffer."""
    address = _int64s(bound.buffers, 3)[buffer] + offset * bound.element_nbytes
    return carray(_pointer(address, bound.divisor), count)


@njit
def _int64s(address, count):
    return carray(_pointer(address, np.int64(0)), count)


@njit
def _float64s(address, count):
    return carray(_pointer(address, np.float64(0)), count)


@njit
def _message(row, out, into, bound):
    """Run a row that is a call of MPI, between two addresses; its error code."""
    comm, datatype, kind, sent, received = bound.comm, bound.datatype, row[KIND], row[LENGTH], row[INTO_LENGTH]
    dest, source, request = row[DEST], row[SOURCE], bound.requests + row[REQUEST] * REQUEST_NBYTES
    if kind == EXCHANGE:
        return sendrecv(out, sent, datatype, dest, TAG, into, received, datatype, source, TAG, comm, bound.status)
    if kind == POST_RECEIVE:
        return irecv(into, received, datatype, source, TAG, comm, request)
    if kind == POST_SEND:
        return isend(out, sent, datatype, dest, TAG, comm, request)
    if kind == WAIT:
        return wait(request, bound.status)
    if kind == REDUCE:
        return reduce_local(out, into, sent, datatype, bound.op)
    return allreduce(out, into, sent, datatype, bound.op, comm)


@njit(error_model="numpy")
def _run(bound):
    """One all-reduce; the code of the MPI error that ended it, or 0."""
    counters, buffers = _int64s(bound.counters, 2), _int64s(bound.buffers, 3)
    for number in range(bound.row_count):
        counters[ROW] = number
        row = _int64s(bound.rows + number * COLUMNS * 8, COLUMNS)
        kind, count, buffer, into, offset, into_offset = (
            row[KIND],
            row[LENGTH],
            row[BUFFER],
            row[INTO],
            row[OFFSET],
            row[INTO_OFFSET],
        )
        if kind == REDUCE and bound.how != BY_LIBRARY:
            arrived, total = _elements(bound, buffer, offset, count), _elements(bound, into, into_offset, count)
            _combine(arrived, total, bound.how, bound.halves)
        elif kind == DIVIDE:
            _divide(_elements(bound, into, into_offset, row[INTO_LENGTH]), bound.divisor, bound.halves)
        else:
            nbytes = bound.element_nbytes
            out, inward = buffers[buffer] + offset * nbytes, buffers[into] + into_offset * nbytes
            if kind == COPY:
                memcpy(inward, out, count * nbytes)
            else:
                code = _message(row, out, inward, bound)
                if code:
                    return code
    return 0


@njit
def _bytes(address, nbytes):
    return carray(_pointer(address, np.uint8(0)), nbytes)


@njit
def _wrong_of_line(found_address, correct_address, count, nbytes):
    """How many of `count` elements of `nbytes` have other bits."""
    found, correct, wrong = _bytes(found_address, count * nbytes), _bytes(correct_address, count * nbytes), 0
    for element in range(count):
        for i in range(element * nbytes, (element + 1) * nbytes):
            if found[i] != correct[i]:
                wrong += 1
                break
    return wrong


@njit
def _changes_at(address):
    f = _int64s(address, 13)
    return Changes(f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], f[10], f[11], f[12])


@njit
def _change(bound, changes, call):
    """Before a call: give the lines of the input back, and change others."""
    lines, nbytes, line_nbytes = changes.lines, bound.element_nbytes, changes.length * bound.element_nbytes
    at, source, vector = _int64s(changes.at, lines), _int64s(changes.source, lines), _int64s(bound.buffers, 3)[INPUT]
    next_at = _int64s(changes.next_at + 8 * call * lines, lines)
    next_source = _int64s(changes.next_source + 8 * call * lines, lines)
    for line in range(lines):
        memcpy(vector + at[line] * nbytes, changes.kept + line * line_nbytes, line_nbytes)
    for line in range(lines):
        at[line], source[line] = next_at[line], next_source[line]
        address = vector + at[line] * nbytes
        memcpy(changes.kept + line * line_nbytes, address, line_nbytes)
        memcpy(address, changes.operand + source[line] * nbytes, line_nbytes)


@njit
def _look(bound, changes):
    """After a call: count wrong elements at the lines of the result, and of the input that it may not change."""
    lines, count, nbytes = changes.lines, changes.length, bound.element_nbytes
    at, source, vectors = _int64s(changes.at, lines), _int64s(changes.source, lines), _int64s(bound.buffers, 3)
    wrong = _int64s(changes.wrong, 1)
    for line in range(lines):
        offset, known = at[line] * nbytes, source[line] * nbytes
        wrong[0] += _wrong_of_line(vectors[OUTPUT] + offset, changes.result + known, count, nbytes)
        wrong[0] += _wrong_of_line(vectors[INPUT] + offset, changes.operand + known, count, nbytes)


@njit
def _now(bound):
    """What perf_counter reads, in seconds."""
    clock_gettime(CLOCK_MONOTONIC, bound.timespec)
    read = _int64s(bound.timespec, 2)
    return (read[0] * 1_000_000_000 + read[1]) / 1e9


@njit
def _begin(bound, start):
    """Wait for the common start of a call; whether this rank was on time.

    `start.line`: [SLACK] seconds ahead, named by the rank that leads; at the common time [ORIGIN] the own clock reads
    [READING], and goes on at [RATE]; a rate of 0: the own clock is of no use.
    """
    if start.kind == NO_START:
        return True
    barrier(start.comm)
    if start.kind == BARRIER:
        return True
    line, named = _float64s(start.line, 4), _float64s(start.named, 1)
    if start.leads:
        named[0] = _now(bound) + line[SLACK]
    bcast(start.named, 1, start.double, 0, start.comm)
    reading = line[READING] + (named[0] - line[ORIGIN]) * line[RATE]
    if line[RATE] == 0 or _now(bound) >= reading:
        return False
    for _ in range(LOOKS):  # noqa: SIM110 - a generator would not become a plain loop
        if _now(bound) >= reading:
            return True
    return False


@njit(nogil=True, error_model="numpy")
def loop(bound, start, changes_address, stamps_address, calls):
    """Make `calls` calls, and fill float64 [3, call] at `stamps_address`: entry, exit, whether it was on time.

    Gives back the code of the MPI error that ended it, or 0. Without a common start only the first entry and the last
    exit are taken: a look at the clock takes 20 ns. A `changes_address` of 0: nothing changes between calls.
    """
    stamps, counters = carray(_pointer(stamps_address, 0.0), (3, calls)), _int64s(bound.counters, 2)
    for call in range(calls):
        counters[CALL], counters[ROW] = call, OUTSIDE
        if changes_address and call >= _changes_at(changes_address).first:
            _change(bound, _changes_at(changes_address), call)
        stamps[2, call] = _begin(bound, start)
        if start.kind != NO_START or call == 0:
            stamps[0, call] = _now(bound)
        code = _run(bound)
        if start.kind != NO_START or call == calls - 1:
            stamps[1, call] = _now(bound)
        if code:
            return code
        if changes_address:
            changes = _changes_at(changes_address)
            if changes.wait:
                barrier(start.comm)
            if _int64s(changes.looks, calls)[call]:
                _look(bound, changes)
    counters[ROW] = OUTSIDE
    return 0
