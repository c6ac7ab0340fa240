"""The kernel: runs a table of rows and times it, in machine code that numba makes, without the interpreter.

Sums and products, and the greatest and least integers, are loops of its own: over 2^20 float32 MPICH 5.0.2's
MPI_Reduce_local takes twice as long. The greatest and least floats are left to MPI_Reduce_local, since libraries differ
in what they make of zeros of both signs and of what is no number. 16-bit elements: see `sixteen_bits`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload

from . import sixteen_bits as bits16
from . import symbols as mpi
from .program import INPUT, SCRATCH
from .table import COPY, DIVIDE, EXCHANGE, POST_RECEIVE, POST_SEND, REDUCE, WAIT, Row

COMM, DATATYPE, OP, SYNC_COMM, DOUBLE = range(5)  # handles
BY_LIBRARY, SUM, PROD, MAX, MIN = range(5)  # how to reduce; BY_LIBRARY: MPI_Reduce_local
STATUS, REQUESTS, NAMED, TIMESPEC = range(SCRATCH + 1, SCRATCH + 5)  # addresses, after those of the buffers
CALL, ROW = range(2)  # counters: the call, and the row in it
OUTSIDE = -1  # of all rows: in the common start
NO_START, BARRIER, ROUND_TIME = range(3)  # the common start of a call
SLACK, ORIGIN, READING, RATE = range(4)  # see `_begin`
CLOCK_MONOTONIC = 1  # of Linux: what perf_counter reads
LOOKS = 10_000_000  # at a clock that stands still: less than a second
TAG = 0
REQUEST_NBYTES = mpi.HANDLE.itemsize
KIND, DEST, BUFFER, OFFSET, LENGTH, SOURCE, INTO, INTO_OFFSET, INTO_LENGTH, REQUEST, STEP = range(len(Row._fields))


class Bound(NamedTuple):
    """An all-reduce with its buffers, as the kernel takes it. Buffers are of one type, 16-bit elements as uint16."""

    rows: np.ndarray  # int64 [row, column], see `table`; partners as MPI numbers them
    buffers: tuple[np.ndarray, np.ndarray, np.ndarray]  # INPUT, OUTPUT, SCRATCH
    divisor: np.ndarray  # one element: the number of ranks
    handles: np.ndarray  # HANDLE, by COMM and so on
    addresses: np.ndarray  # int64, of the buffers, then by STATUS, REQUESTS, NAMED, TIMESPEC
    requests: np.ndarray  # HANDLE
    status: np.ndarray  # room for one
    named: np.ndarray  # float64, one: the common time of a start
    timespec: np.ndarray  # int64 [2], of clock_gettime
    counters: np.ndarray  # int64, by CALL and ROW, for who watches
    how: int  # how to reduce
    halves: bool  # of 16-bit elements: they are float16, not bfloat16


class Start(NamedTuple):
    """The common start, as the kernel takes it."""

    kind: int
    leads: bool  # this rank names the time of ROUND_TIME
    line: np.ndarray  # float64, by SLACK and so on


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


@njit
def _message(rows, number, out, into, bound):
    """Run a row that is a call of MPI, between two addresses; its error code."""
    handles, addresses, kind = bound.handles, bound.addresses, rows[number, KIND]
    comm, datatype, status = handles[COMM], handles[DATATYPE], addresses[STATUS]
    request = addresses[REQUESTS] + rows[number, REQUEST] * REQUEST_NBYTES
    dest, source, sent, received = (
        rows[number, DEST],
        rows[number, SOURCE],
        rows[number, LENGTH],
        rows[number, INTO_LENGTH],
    )
    if kind == EXCHANGE:
        return mpi.sendrecv(out, sent, datatype, dest, TAG, into, received, datatype, source, TAG, comm, status)
    if kind == POST_RECEIVE:
        return mpi.irecv(into, received, datatype, source, TAG, comm, request)
    if kind == POST_SEND:
        return mpi.isend(out, sent, datatype, dest, TAG, comm, request)
    if kind == WAIT:
        return mpi.wait(request, status)
    if kind == REDUCE:
        return mpi.reduce_local(out, into, sent, datatype, handles[OP])
    return mpi.allreduce(out, into, sent, datatype, handles[OP], comm)


@njit(error_model="numpy")
def _run(bound):
    """One all-reduce; the code of the MPI error that ended it, or 0."""
    rows, nbytes = bound.rows, bound.buffers[INPUT].itemsize
    for number in range(len(rows)):
        bound.counters[ROW] = number
        kind, count, buffer, into = rows[number, KIND], rows[number, LENGTH], rows[number, BUFFER], rows[number, INTO]
        offset, into_offset = rows[number, OFFSET], rows[number, INTO_OFFSET]
        out, inward = bound.addresses[buffer] + offset * nbytes, bound.addresses[into] + into_offset * nbytes
        if kind == COPY:
            mpi.memcpy(inward, out, count * nbytes)
        elif kind == REDUCE and bound.how != BY_LIBRARY:
            arrived = bound.buffers[buffer][offset : offset + count]
            total = bound.buffers[into][into_offset : into_offset + count]
            _combine(arrived, total, bound.how, bound.halves)
        elif kind == DIVIDE:
            _divide(bound.buffers[into], bound.divisor[0], bound.halves)
        else:
            code = _message(rows, number, out, inward, bound)
            if code:
                return code
    return 0


@njit
def _now(bound):
    """What perf_counter reads, in seconds."""
    mpi.clock_gettime(CLOCK_MONOTONIC, bound.addresses[TIMESPEC])
    return (bound.timespec[0] * 1_000_000_000 + bound.timespec[1]) / 1e9


@njit
def _begin(bound, start):
    """Wait for the common start of a call; whether this rank was on time.

    `start.line`: [SLACK] seconds ahead, named by the rank that leads; at the common time [ORIGIN] the own clock reads
    [READING], and goes on at [RATE]; a rate of 0: the own clock is of no use.
    """
    handles, line = bound.handles, start.line
    if start.kind == NO_START:
        return True
    mpi.barrier(handles[SYNC_COMM])
    if start.kind == BARRIER:
        return True
    if start.leads:
        bound.named[0] = _now(bound) + line[SLACK]
    mpi.bcast(bound.addresses[NAMED], 1, handles[DOUBLE], 0, handles[SYNC_COMM])
    reading = line[READING] + (bound.named[0] - line[ORIGIN]) * line[RATE]
    if line[RATE] == 0 or _now(bound) >= reading:
        return False
    for _ in range(LOOKS):  # noqa: SIM110 - a generator would not become a plain loop
        if _now(bound) >= reading:
            return True
    return False


@njit(nogil=True, error_model="numpy")
def loop(bound, start, stamps):
    """Make as many calls as `stamps`, float64 [3, call], has columns for entry, exit and whether it was on time.

    Gives back the code of the MPI error that ended it, or 0. Without a common start only the first entry and the last
    exit are taken: a look at the clock takes 20 ns.
    """
    last = stamps.shape[1] - 1
    for call in range(last + 1):
        bound.counters[CALL], bound.counters[ROW] = call, OUTSIDE
        stamps[2, call] = _begin(bound, start)
        if start.kind != NO_START or call == 0:
            stamps[0, call] = _now(bound)
        code = _run(bound)
        if start.kind != NO_START or call == last:
            stamps[1, call] = _now(bound)
        if code:
            return code
    bound.counters[ROW] = OUTSIDE
    return 0
