"""The compiled kernel: arithmetic of 16-bit floats, the MPI functions it calls, and the loop that runs a table.

First float16 and bfloat16 by their bits, as numpy and ml_dtypes compute them: in float32, rounded to nearest, ties to
even. If both operands are NaN, a sum or a product returns the bits of the second, a quotient, a maximum or a minimum
those of the first, as in the numpy and ml_dtypes from PyPI. All is branch-free, so that loops become vector
instructions.
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
from .call_numbers import PARTS, part_of
from .program import INPUT, OUTPUT
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

HALF_INFINITY, HALF_QUIET, HALF_SIGN = np.uint32(0x7C00), np.uint32(0x0200), np.uint32(0x8000)
BRAIN_INFINITY, BRAIN_NAN = np.uint32(0x7F80), np.uint32(0x7FC0)
MAGNITUDE = np.uint32(0x7FFF)
SINGLE_INFINITY, SINGLE_MAGNITUDE = np.uint32(0x7F800000), np.uint32(0x7FFFFFFF)
OVERFLOW, SMALLEST_NORMAL = (
    np.uint32(143 << 23),
    np.uint32(113 << 23),
)  # 2^16 and 2^-14 in float32: the range of float16
REBIAS = np.float32(2.0**112)  # between the exponents of float16 and float32
ALIGN = np.float32(0.5)  # added, it leaves the bits of a subnormal float16 at the end of a float32, rounded
ALIGN_BITS = np.uint32(126 << 23)
ROUND_HALF = np.uint32((0xFFF - (112 << 23)) & 0xFFFFFFFF)  # rebias, and half of the last place less one
ROUND_BRAIN = np.uint32(0x7FFF)
ONE, THIRTEEN, SIXTEEN = np.uint32(1), np.uint32(13), np.uint32(16)


@njit
def single_of_half(half):
    """Return the float32 equal to a float16; uint32 bits in."""
    scaled = np.uint32((half & MAGNITUDE) << THIRTEEN).view(np.float32) * REBIAS
    bits = np.float32(scaled).view(np.uint32)
    bits = np.uint32(bits | SINGLE_INFINITY) if half & HALF_INFINITY == HALF_INFINITY else bits
    return np.uint32(bits | np.uint32((half & HALF_SIGN) << SIXTEEN)).view(np.float32)


@njit
def half_of_single(single):
    """Return the bits of the float16 nearest to a float32; uint32 out."""
    bits = np.float32(single).view(np.uint32)
    size = np.uint32(bits & SINGLE_MAGNITUDE)
    normal = np.uint32(np.uint32(size + ROUND_HALF + np.uint32((size >> THIRTEEN) & ONE)) >> THIRTEEN)
    subnormal = np.uint32(np.float32(np.uint32(size).view(np.float32) + ALIGN).view(np.uint32) - ALIGN_BITS)
    half = subnormal if size < SMALLEST_NORMAL else normal
    half = half if size < OVERFLOW else HALF_INFINITY
    half = np.uint32(HALF_INFINITY | HALF_QUIET) if size > SINGLE_INFINITY else half
    return np.uint32(half | np.uint32((bits >> SIXTEEN) & HALF_SIGN))


@njit
def single_of_brain(brain):
    """Return the float32 equal to a bfloat16; uint32 bits in."""
    return np.uint32(brain << SIXTEEN).view(np.float32)


@njit
def brain_of_single(single):
    """Return the bits of the bfloat16 nearest to a float32; uint32 out."""
    bits = np.float32(single).view(np.uint32)
    brain = np.uint32(np.uint32(bits + ROUND_BRAIN + np.uint32((bits >> SIXTEEN) & ONE)) >> SIXTEEN)
    nan = np.uint32(BRAIN_NAN | np.uint32((bits >> SIXTEEN) & HALF_SIGN))
    return nan if np.uint32(bits & SINGLE_MAGNITUDE) > SINGLE_INFINITY else brain


@njit
def quiet_half(half):
    """Return the bits of a float16 NaN as an operation returns it: quiet."""
    return np.uint32(half | HALF_QUIET)


@njit
def quiet_brain(brain):
    """Return the bits of a bfloat16 NaN as an operation returns it: only its sign is kept."""
    return np.uint32(BRAIN_NAN | np.uint32(brain & HALF_SIGN))


@njit
def total_of(x, y):
    """Return x + y."""
    return x + y


@njit
def product_of(x, y):
    """Return x y."""
    return x * y


@njit(error_model="numpy")
def quotient_of(x, y):
    """Return x / y."""
    return x / y


def _computing(compute: Callable, single_of: Callable, bits_of: Callable, quiet: Callable, infinity: np.uint32):
    """Return a loop over uint16 arrays: total = compute(arrived, total)."""

    @njit
    def loop(arrived, total):
        for i in range(total.size):
            x, y = np.uint32(arrived[i]), np.uint32(total[i])
            bits = bits_of(compute(single_of(x), single_of(y)))
            bits = quiet(x) if np.uint32(x & MAGNITUDE) > infinity else bits
            total[i] = np.uint16(quiet(y) if np.uint32(y & MAGNITUDE) > infinity else bits)

    return loop


def _dividing(single_of: Callable, bits_of: Callable, quiet: Callable, infinity: np.uint32):
    """Return a loop over a uint16 array: total = total / divisor, a divisor that is not NaN."""

    @njit
    def loop(total, divisor):
        for i in range(total.size):
            x = np.uint32(total[i])
            bits = bits_of(quotient_of(single_of(x), single_of(np.uint32(divisor))))
            total[i] = np.uint16(quiet(x) if np.uint32(x & MAGNITUDE) > infinity else bits)

    return loop


def _choosing(takes_first: Callable, single_of: Callable, infinity: np.uint32):
    """Return a loop over uint16 arrays: total = arrived where that is NaN or `takes_first` holds."""

    @njit
    def loop(arrived, total):
        for i in range(total.size):
            x, y = np.uint32(arrived[i]), np.uint32(total[i])
            first = takes_first(single_of(x), single_of(y)) | (np.uint32(x & MAGNITUDE) > infinity)
            total[i] = np.uint16(x if first else y)

    return loop


HALF = single_of_half, half_of_single, quiet_half, HALF_INFINITY
BRAIN = single_of_brain, brain_of_single, quiet_brain, BRAIN_INFINITY
add_halves, multiply_halves = _computing(total_of, *HALF), _computing(product_of, *HALF)
add_brains, multiply_brains = _computing(total_of, *BRAIN), _computing(product_of, *BRAIN)
divide_halves, divide_brains = _dividing(*HALF), _dividing(*BRAIN)
# Of operands that compare equal, the zeros of both signs, numpy takes the first and ml_dtypes the second
max_halves = _choosing(njit(lambda x, y: x >= y), single_of_half, HALF_INFINITY)
min_halves = _choosing(njit(lambda x, y: x <= y), single_of_half, HALF_INFINITY)
max_brains = _choosing(njit(lambda x, y: x > y), single_of_brain, BRAIN_INFINITY)
min_brains = _choosing(njit(lambda x, y: x < y), single_of_brain, BRAIN_INFINITY)


# The MPI functions of this process, which compiled code calls by name.
#
# Their addresses are those that mpi4py itself uses, found through its module, whatever library that was linked with.
# Cached code names functions, not addresses, so that a later process may use it. Handles are pointers in Open MPI and
# integers in MPICH and Intel MPI: the type of the array of them is part of the key of numba's cache.


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


# The loop: runs a table of rows and times it, in machine code that numba compiles, without the interpreter.
#
# Sums and products, and maxima and minima of integers, are loops of its own: over 2^20 float32 MPICH 5.0.2's
# MPI_Reduce_local takes twice as long. Maxima and minima of floats are left to MPI_Reduce_local, since libraries differ
# in what they make of signed zeros and NaN. 16-bit elements: see above.


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
