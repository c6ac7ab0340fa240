"""The compiled kernel: runs a table of rows and times it, in machine code that numba compiles, without the interpreter.

Sums and products, and maxima and minima of integers, are loops of its own: over 2^20 float32 MPICH 5.0.2's
MPI_Reduce_local takes twice as long. Maxima and minima of floats are left to MPI_Reduce_local, since libraries differ
in what they make of signed zeros and NaN. 16-bit elements: see `sixteen_bits`.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import carray, njit, types
from numba.extending import intrinsic, overload

from .call_numbers import PARTS, part_of
from .program import INPUT, OUTPUT
from .sixteen_bits import (
    add_brains,
    add_halves,
    divide_brains,
    divide_halves,
    max_brains,
    max_halves,
    min_brains,
    min_halves,
    multiply_brains,
    multiply_halves,
)
from .symbols import (
    HANDLE,
    allreduce,
    barrier,
    bcast,
    clock_gettime,
    irecv,
    isend,
    memcpy,
    reduce_local,
    sendrecv,
    wait,
)
from .table import (
    BUFFER,
    COLUMNS,
    COPY,
    DEST,
    DIVIDE,
    EXCHANGE,
    INTO,
    INTO_LENGTH,
    INTO_OFFSET,
    KIND,
    LENGTH,
    OFFSET,
    POST_RECEIVE,
    POST_SEND,
    REDUCE,
    REQUEST,
    SOURCE,
    WAIT,
)

BY_LIBRARY, SUM, PROD, MAX, MIN = range(5)  # kinds of reduction; BY_LIBRARY: MPI_Reduce_local
CALL, ROW = range(2)  # counters: the call, and the row in it
OUTSIDE = -1  # instead of a row: in the common start
NO_START, BARRIER, ROUND_TIME = range(3)  # the common start of a call
SLACK, ORIGIN, READING, RATE = range(4)  # see `_begin`
CLOCK_MONOTONIC = 1  # of Linux: what perf_counter reads
LOOKS = 10_000_000  # most readings of a clock that stands still: less than a second
TAG = 0
REQUEST_NBYTES = HANDLE.itemsize


class Bound(NamedTuple):
    """An all-reduce with its buffers, as the kernel takes it: numbers only, handles as HANDLE.

    Arrays are passed as addresses, since numba counts references: with ten arrays an empty call took 215 ns, not 20.
    """

    rows: int  # of int64 [row, column], see `table`; partners as MPI numbers them
    buffers: int  # of int64 [3]: the addresses of INPUT, OUTPUT, SCRATCH
    counters: int  # of int64 [2]: CALL and ROW, for the monitor
    requests: int  # of handles
    status: int
    timespec: int  # of int64 [2], for clock_gettime
    comm: np.integer  # handles
    datatype: np.integer
    op: np.integer
    row_count: int
    element_nbytes: int
    divisor: np.generic  # the number of ranks, as an element; of 16-bit elements the bits, uint16
    how: int  # kind of reduction
    halves: bool  # of 16-bit elements: they are float16, not bfloat16


class Start(NamedTuple):
    """The common start, as the kernel takes it."""

    kind: int
    leads: bool  # this rank names the time of ROUND_TIME
    line: int  # address of float64, by SLACK and so on
    named: int  # of float64 [1], the common time of a start
    comm: np.integer  # handles
    double: np.integer


class Numbers(NamedTuple):
    """Numbers of calls, as the kernel takes them: addresses, see `call_numbers`."""

    blocks: int
    wait: int  # 1: for all ranks after each call
    rank: int
    size: int
    first: int  # number of the first call
    known: int  # elements of `given` and `result`
    starts: int
    spans: int
    given: int
    result: int
    neutral: int
    at: int
    kept: int
    wrong: int


def _combine(arrived, total, how, halves):
    """Combine into total, of arrays of one type: total = arrived, total."""


def _divide(total, divisor, halves):
    """Divide in place: total = total / divisor."""


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
        add_halves(arrived, total) if halves else add_brains(arrived, total)
    elif how == PROD:
        multiply_halves(arrived, total) if halves else multiply_brains(arrived, total)
    elif how == MAX:
        max_halves(arrived, total) if halves else max_brains(arrived, total)
    elif how == MIN:
        min_halves(arrived, total) if halves else min_brains(arrived, total)


def _divide_wide(total, divisor, halves):
    for i in range(total.size):
        total[i] = total[i] / divisor


def _divide_16_bits(total, divisor, halves):
    divide_halves(total, divisor) if halves else divide_brains(total, divisor)


def _pointer_at(typing_context, address, like):
    """Return a pointer at `address` to values of the type of `like`."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(like)(address, like), generate


_pointer: Any = intrinsic(_pointer_at)


@njit
def _elements(bound, buffer, offset, count):
    """Return `count` elements of a buffer as an array."""
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
    """Run a row that is an MPI call, between two addresses; return its error code."""
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
    """Run one all-reduce; return the code of the MPI error that ended it, or 0."""
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
            size_bytes = bound.element_nbytes
            out, inward = buffers[buffer] + offset * size_bytes, buffers[into] + into_offset * size_bytes
            if kind == COPY:
                memcpy(inward, out, count * size_bytes)
            else:
                code = _message(row, out, inward, bound)
                if code:
                    return code
    return 0


@njit
def _bytes(address, size_bytes):
    return carray(_pointer(address, np.uint8(0)), size_bytes)


_part_of = njit(part_of)


@njit
def _numbers_at(address):
    f = _int64s(address, 14)
    return Numbers(f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], f[10], f[11], f[12], f[13])


@njit
def _write_number(bound, numbers, number):
    """Restore the elements of the input, and write a number into others, before a call."""
    blocks, size_bytes, vector = numbers.blocks, bound.element_nbytes, _int64s(bound.buffers, 3)[INPUT]
    starts, spans, at = _int64s(numbers.starts, blocks), _int64s(numbers.spans, blocks), _int64s(numbers.at, blocks)
    is_own = (number + number // numbers.size) % numbers.size == numbers.rank
    part = _part_of(number)
    value = numbers.given + number % numbers.known * size_bytes if is_own else numbers.neutral
    for block in range(blocks):
        kept = numbers.kept + block * size_bytes
        memcpy(vector + at[block] * size_bytes, kept, size_bytes)
        at[block] = starts[block] + spans[block] * part // PARTS
        memcpy(kept, vector + at[block] * size_bytes, size_bytes)
        memcpy(vector + at[block] * size_bytes, value, size_bytes)


@njit
def _look(bound, numbers, number):
    """Count elements of the output that are not the number's result."""
    size_bytes, vector = bound.element_nbytes, _int64s(bound.buffers, 3)[OUTPUT]
    at, wrong = _int64s(numbers.at, numbers.blocks), _int64s(numbers.wrong, 1)
    correct = _bytes(numbers.result + number % numbers.known * size_bytes, size_bytes)
    for block in range(numbers.blocks):
        found = _bytes(vector + at[block] * size_bytes, size_bytes)
        for i in range(size_bytes):
            if found[i] != correct[i]:
                wrong[0] += 1
                break


@njit
def _now(bound):
    """Return what perf_counter reads, in seconds."""
    clock_gettime(CLOCK_MONOTONIC, bound.timespec)
    read = _int64s(bound.timespec, 2)
    return (read[0] * 1_000_000_000 + read[1]) / 1e9


@njit
def _begin(bound, start):
    """Wait for the common start of a call; return whether this rank was on time.

    `start.line`: [SLACK] seconds ahead, at which the leading rank sets the start; at the common time [ORIGIN] this
    rank's clock reads [READING], and advances at [RATE]; a rate of 0: its clock is of no use.
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
def loop(bound, start, numbers_address, stamps_address, calls):
    """Make `calls` calls, and fill float64 [3, call] at `stamps_address`: entry, exit, whether the rank was on time.

    Returns the code of the MPI error that ended it, or 0. Without a common start only the first entry and the last exit
    are taken: reading the clock takes 20 ns. A `numbers_address` of 0: calls have no numbers.
    """
    stamps, counters = carray(_pointer(stamps_address, 0.0), (3, calls)), _int64s(bound.counters, 2)
    for call in range(calls):
        counters[CALL], counters[ROW] = call, OUTSIDE
        if numbers_address:
            numbers = _numbers_at(numbers_address)
            _write_number(bound, numbers, numbers.first + call)
        stamps[2, call] = _begin(bound, start)
        if start.kind != NO_START or call == 0:
            stamps[0, call] = _now(bound)
        code = _run(bound)
        if start.kind != NO_START or call == calls - 1:
            stamps[1, call] = _now(bound)
        if code:
            return code
        if numbers_address:
            numbers = _numbers_at(numbers_address)
            if numbers.wait:
                barrier(start.comm)
            _look(bound, numbers, numbers.first + call)
    counters[ROW] = OUTSIDE
    return 0
