"""The executors `compiled` and `compiled-pipelined`: a program as a table that a kernel runs. Imported only for them.

The kernel is compiled once and cached: see `make_ready`. Results are bitwise those of the same program from Python,
except that a NaN may be another NaN, whose bits are the processor's choice. Maxima and minima of floats are those of
MPI_Reduce_local: Open MPI's treats signed zeros and NaN by their place in the message, so that there a cut schedule and
a whole one may differ, from Python as well.
"""

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from stat import S_ISDIR
from threading import Thread
from typing import Any, NamedTuple
from zlib import crc32

import numba
import numpy as np
from mpi4py import MPI

from ..schedule import Step
from ..watching.whereabouts import counting, doing
from . import (
    CARRIERS,
    LARGEST_COUNT,
    OPERATIONS,
    CommonStart,
    Prepared,
    Unsupported,
    call_numbers,
    kernel,
    message_datatype,
    sixteen_bits,
    symbols,
    table,
)
from .call_numbers import CallNumbers
from .memory import PAGES, Allocate, page_of
from .native import library_datatype
from .pipeline import pipelined_program
from .program import INPUT, Program, exchanges
from .program import floor as floor_program

HOW = {"sum": kernel.SUM, "avg": kernel.SUM, "prod": kernel.PROD, "max": kernel.MAX, "min": kernel.MIN}
NO_START = kernel.Start(kernel.NO_START, False, 0, 0, symbols.HANDLE.type(0), symbols.HANDLE.type(0))
LOOK_S, MOST_LOOKS = 0.1, 1800  # length and number of waits for the thread that compiles
CACHE = "allreduce-bench"  # the folder of a user's cache
SOURCES = (kernel, symbols, sixteen_bits, table, call_numbers)  # modules that machine code is made of


class _Call(NamedTuple):
    """A bound all-reduce, and the arrays whose addresses it holds."""

    bound: kernel.Bound
    rows: np.ndarray  # int64 [row, column]
    counters: np.ndarray  # int64 [2]
    buffers: tuple[np.ndarray, np.ndarray, np.ndarray]  # INPUT, OUTPUT, SCRATCH
    addresses: np.ndarray  # int64 [3]: theirs
    kept: tuple[np.ndarray, ...]


def compiled(
    steps: Sequence[Step],
    sendbuf: np.ndarray,
    recvbuf: np.ndarray,
    comm: MPI.Comm,
    op: str,
    scratch: Allocate = PAGES.scratch,
) -> Prepared:
    """Bind this rank's `steps` as one blocking `MPI_Sendrecv` each, run by compiled code; the rest as for `sendrecv`.

    Raises Unsupported.
    """
    program = exchanges(steps, sendbuf.size, page_of(sendbuf.dtype), sendbuf is recvbuf)
    return prepare(program, sendbuf, recvbuf, comm, op, scratch)


def compiled_pipelined(
    steps: Sequence[Step],
    sendbuf: np.ndarray,
    recvbuf: np.ndarray,
    comm: MPI.Comm,
    op: str,
    window: int,
    scratch: Allocate = PAGES.scratch,
) -> Prepared:
    """Bind this rank's `steps`, already cut, with up to `window` messages posted ahead, run by compiled code.

    The rest as for `pipelined`. Raises Unsupported.
    """
    program = pipelined_program(steps, sendbuf.size, window, page_of(sendbuf.dtype), sendbuf is recvbuf)
    return prepare(program, sendbuf, recvbuf, comm, op, scratch)


def prepare(
    program: Program,
    sendbuf: np.ndarray,
    recvbuf: np.ndarray,
    comm: MPI.Comm,
    op: str,
    scratch: Allocate = PAGES.scratch,
) -> Prepared:
    """Bind any program of this rank; `scratch` allocates its scratch. Raises Unsupported."""
    made = table.table_of(program, page_of(sendbuf.dtype))
    call = _bind(made, sendbuf, recvbuf, comm, op, scratch=scratch)
    return _prepared(call)._replace(buffers=call.buffers)


def floor(name: str, sendbuf: np.ndarray, recvbuf: np.ndarray, op: str) -> Prepared:
    """Bind a floor of an all-reduce, called from compiled code: see `program.floor`. Raises Unsupported."""
    reduction = "sum" if op == "avg" else op  # a step does not divide
    return prepare(floor_program(name, sendbuf.size), sendbuf, recvbuf, MPI.COMM_SELF, reduction)


def native(sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm, op: str) -> Prepared:
    """Bind the library's own `MPI_Allreduce`, called from compiled code; in place as `sendrecv`. Raises Unsupported."""
    call = _bind(table.table_of_native(sendbuf.size), sendbuf, recvbuf, comm, op, library_datatype(sendbuf))
    if sendbuf is recvbuf:
        call.addresses[INPUT] = int(MPI.IN_PLACE)
    return _prepared(call)


def make_ready(dtype: str) -> None:
    """Compile the kernel for vectors of `dtype`, or load it from the cache of an earlier compilation.

    Compiling takes seconds, loading half a second. Where several ranks share a cache, one of them goes first. Raises
    Unsupported.
    """
    symbols.load_symbols()
    if "NUMBA_CACHE_DIR" not in os.environ:
        numba.config.CACHE_DIR = str(cache_folder())  # type: ignore[attr-defined]
    kernel.loop.enable_caching()
    vector = np.empty(0, dtype)
    _compile(_bind(table.table_of_native(0), vector, vector, MPI.COMM_SELF, "sum"))


@doing("compiling", counts="looks")
def _compile(call: _Call) -> None:
    """Compile in a thread, so that the monitor sees progress, for up to MOST_LOOKS looks."""
    thread = Thread(target=kernel.loop, args=(call.bound, NO_START, 0, 0, 0))
    thread.start()
    for looks in range(MOST_LOOKS):  # noqa: B007 - the monitor reads it
        thread.join(LOOK_S)
        if not thread.is_alive():
            return
    thread.join()


def cache_folder() -> Path:
    """Return the folder of machine code: beside the package if it is writable, else in the user's cache.

    Each version of the sources has its own folder: numba checks the age of one source file only.
    """
    here = Path(__file__).parent
    sources = b"".join(Path(module.__file__ or "").read_bytes() for module in SOURCES)
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / CACHE
    for place in (here / "__pycache__", user):
        with suppress(OSError):
            folder = place / f"kernel-{crc32(sources):08x}"
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            return folder
    return _own_folder(Path(tempfile.gettempdir()) / f"{CACHE}-{os.getuid()}")


def _own_folder(folder: Path) -> Path:
    """Return `folder` if nobody else may write to it, since its contents are run; else a new one of this process."""
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        if S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022:
            return folder
    return Path(tempfile.mkdtemp(prefix=f"{CACHE}-"))


def _bind(
    made: table.Table,
    sendbuf: np.ndarray,
    recvbuf: np.ndarray,
    comm: MPI.Comm,
    op: str,
    datatype=None,
    scratch: Allocate = PAGES.scratch,
) -> _Call:
    """Bind a table to buffers; `datatype` carries the elements, None: that of `sendrecv`."""
    _refuse_above_limit(made.rows)
    made = table.with_division(made, sendbuf.size) if op == "avg" else made
    dtype, name = sendbuf.dtype, sendbuf.dtype.name
    buffers = sendbuf, recvbuf, scratch(made.scratch, dtype)
    requests = np.full(made.requests, symbols.handle_of(MPI.REQUEST_NULL), symbols.HANDLE)
    status, timespec = np.zeros(MPI._sizeof(MPI.Status), np.uint8), np.zeros(2, np.int64)
    rows, counters, addresses = made.with_nobody(MPI.PROC_NULL), np.array([0, kernel.OUTSIDE]), _addresses(*buffers)
    handles = comm, datatype or message_datatype(name), OPERATIONS[op]
    by_library = op in ("max", "min") and name in ("float32", "float64")
    divisor = np.array([comm.size]).astype(dtype).view("uint16" if name in CARRIERS else dtype)[0]
    reduction = divisor, kernel.BY_LIBRARY if by_library else HOW[op], name == "float16"
    places = _addresses(rows, addresses, counters, requests, status, timespec).tolist()
    bound = kernel.Bound._make([*places, *map(_handle, handles), len(rows), dtype.itemsize, *reduction])
    return _Call(bound, rows, counters, buffers, addresses, (requests, status, timespec))


def _handle(of: Any) -> np.integer:
    return symbols.HANDLE.type(symbols.handle_of(of))


def _addresses(*arrays: np.ndarray) -> np.ndarray:
    return np.array([array.ctypes.data for array in arrays])


def _prepared(call: _Call) -> Prepared:
    run = partial(_loop, call, NO_START, 0, np.empty((3, 1)))
    return Prepared(run, lambda: None, partial(_timed_calls, call))


def _timed_calls(call: _Call, calls: int, start: CommonStart | None, numbers: CallNumbers | None = None) -> np.ndarray:
    stamps, fields = np.empty((3, calls)), _fields(numbers, calls)
    address = 0 if fields is None else fields.ctypes.data
    if start is None:
        return _loop(call, NO_START, address, stamps)
    kind = kernel.BARRIER if start.slack_s is None else kernel.ROUND_TIME
    line, named = np.array([start.slack_s or 0.0, start.common_s, start.reading_s, start.rate]), np.zeros(1)
    handles = map(_handle, (start.comm, MPI.DOUBLE))
    known = kernel.Start(kind, start.comm.rank == 0, *_addresses(line, named).tolist(), *handles)
    return _loop(call, known, address, stamps)


def _fields(numbers: CallNumbers | None, calls: int) -> np.ndarray | None:
    """Return the fields of `kernel.Numbers` for the next calls, None without numbers, which keep these arrays."""
    if numbers is None:
        return None
    (place,) = numbers.places
    values, arrays = numbers.values, (place.at, place.kept, numbers.wrong)
    known = len(place.at), numbers.wait is not None, numbers.rank, numbers.size, numbers.next, len(values.given)
    numbers.next += calls
    place.number = numbers.next - 1
    return np.array([*known, *_addresses(numbers.starts, numbers.spans, *values, *arrays).tolist()])


@doing("in the common start of a call")
@counting("counters", "rows", table.partners)
def _loop(call: _Call, start: kernel.Start, numbers: int, stamps: np.ndarray) -> np.ndarray:
    rows, counters = call.rows, call.counters  # noqa: F841 - whoever watches reads them
    code = kernel.loop(call.bound, start, numbers, stamps.ctypes.data, stamps.shape[1])
    if code:
        raise MPI.Exception(code)
    return stamps


def _refuse_above_limit(rows: np.ndarray) -> None:
    longest = rows[:, [table.LENGTH, table.INTO_LENGTH]].max(initial=0)
    if longest > LARGEST_COUNT:
        raise Unsupported(
            f"a message of {longest} elements; compiled code counts to {LARGEST_COUNT}: use --executor sendrecv"
        )
