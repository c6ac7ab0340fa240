"""The counts of a rank: a file that is mapped into memory, so that it outlives a rank that is killed; and who fills it.

`count_allreduces.c` writes the same file, from C. Standard library only: the program's interpreter may have nothing
else, and starts no slower.
"""

import contextlib
import ctypes
import functools
import gc
import mmap
import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

MAGIC = b"ARCOUNT1"
HEAD = struct.Struct("=8sq48x")  # MAGIC, calls for which there was no row
ROW = struct.Struct("=qqiibb6x32s16s")  # bytes, calls, ranks, bytes of an element, in place, kind, dtype, op
CALLS_AT, LEFT_OUT_AT = 8, 8  # in a row, in the head
GAP = struct.Struct("=I")  # calls with a gap of a class; after the row
ROWS, GAPS = 512, 320  # rows of a file; classes of gaps: eight to each power of two of nanoseconds
ROW_NBYTES = ROW.size + GAPS * GAP.size
NEARBY = 32  # rows of which a new one takes that of the fewest calls if there is no free one
FILE_NBYTES = HEAD.size + ROWS * ROW_NBYTES
KINDS = ("blocking", "nonblocking", "persistent")
OPS = ("SUM", "MAX", "MIN", "PROD", "LAND", "BAND", "LOR", "BOR", "LXOR", "BXOR", "MAXLOC", "MINLOC")
UNKNOWN_NBYTES = -1  # of a Python object

Key = tuple[int, int, int, bool, int, str, str]  # bytes, ranks, bytes of an element, in place, kind, dtype, op


class Counts:
    """The counts of this process in a new file of `folder`."""

    def __init__(self, folder: str):
        """Map the file; its blocks are taken at once, as a full disk would end the program later. Raises OSError."""
        path = os.path.join(folder, f"{socket.gethostname()}-{os.getpid()}")
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if hasattr(os, "posix_fallocate"):  # not on macOS
                os.posix_fallocate(handle, 0, FILE_NBYTES)
            else:
                os.write(handle, bytes(FILE_NBYTES))
            self._map = mmap.mmap(handle, FILE_NBYTES)
        finally:
            os.close(handle)
        HEAD.pack_into(self._map, 0, MAGIC, 0)
        self._places: dict[Key, int] = {}
        self._keys: list[Key] = []  # of each row
        self._turn = 0
        self._lock, self._of_thread = threading.Lock(), threading.local()
        self._is_counting = True
        os.register_at_fork(after_in_child=self._stop)

    def _stop(self) -> None:
        self._is_counting = False

    def add(self, key: Key, begin_ns: int) -> None:
        """Count a call that began then and has ended."""
        if not self._is_counting:
            return
        with self._lock:
            place = self._place_of(key)
            self._add_to(place + CALLS_AT, "=q", 1)
            if last_ns := getattr(self._of_thread, "end_ns", 0):
                self._add_to(place + ROW.size + GAP.size * class_of(max(0, begin_ns - last_ns)), "=I", 1)
        self._of_thread.end_ns = time.monotonic_ns()

    def _add_to(self, place: int, kind: str, number: int) -> None:
        struct.pack_into(kind, self._map, place, struct.unpack_from(kind, self._map, place)[0] + number)

    def _calls_in(self, row: int) -> int:
        return struct.unpack_from("=q", self._map, HEAD.size + row * ROW_NBYTES + CALLS_AT)[0]

    def _place_of(self, key: Key) -> int:
        """Return where the row of such calls begins; a new one may take that of others."""
        if key not in self._places:
            row = self._new_row(key)
            self._places[key] = place = HEAD.size + row * ROW_NBYTES
            nbytes, ranks, itemsize, in_place, kind, dtype, op = key
            self._map[place : place + ROW_NBYTES] = bytes(ROW_NBYTES)
            ROW.pack_into(self._map, place, nbytes, 0, ranks, itemsize, in_place, kind, dtype.encode(), op.encode())
        return self._places[key]

    def _new_row(self, key: Key) -> int:
        """Return a free row, or of the next ones that with the fewest calls."""
        if len(self._keys) < ROWS:
            self._keys.append(key)
            return len(self._keys) - 1
        row = min(range(self._turn, self._turn + NEARBY), key=self._calls_in)
        self._turn = (self._turn + NEARBY) % ROWS
        self._add_to(LEFT_OUT_AT, "=q", self._calls_in(row))
        del self._places[self._keys[row]]
        self._keys[row] = key
        return row


def class_of(gap_ns: int) -> int:
    """Return the class of a gap."""
    if gap_ns < 8:
        return gap_ns
    power = gap_ns.bit_length() - 1
    return min((power - 2) * 8 + (gap_ns >> (power - 3) & 7), GAPS - 1)


def count_calls_of(mpi: Any, folder: str) -> None:
    """Have the all-reduces of the module mpi4py.MPI counted. Raises OSError, and whatever a new mpi4py makes of it.

    The methods of its class are replaced in place, so that every communicator has them and keeps its class.
    """
    counts = Counts(folder)
    methods = gc.get_referents(mpi.Comm.__dict__)[0]
    counted = {
        "Allreduce": functools.partial(key_of_buffers, mpi, 0),
        "Iallreduce": functools.partial(key_of_buffers, mpi, 1),
        "allreduce": functools.partial(key_of_object, mpi),
    }
    for name, key_of in counted.items():
        methods[name] = _counted(methods[name], key_of, counts)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(mpi.Comm))


def _counted(call: Callable[..., Any], key_of: Callable[..., Key], counts: Counts) -> Callable[..., Any]:
    @functools.wraps(call)
    def counted(*values: Any, **named: Any) -> Any:
        begin_ns = time.monotonic_ns()
        result = call(*values, **named)
        with contextlib.suppress(Exception):  # no error of the counting reaches the program
            counts.add(key_of(*values, **named), begin_ns)
        return result

    return counted


def key_of_buffers(mpi: Any, kind: int, comm: Any, sendbuf: Any, recvbuf: Any, op: Any = None) -> Key:
    """Return what tells a call with these arguments from others."""
    in_place = sendbuf is None or isinstance(sendbuf, type(mpi.IN_PLACE))
    nbytes, dtype, itemsize = _described(mpi, recvbuf)
    return nbytes, comm.Get_size(), itemsize, in_place, kind, dtype, _op_name(mpi, op)


def key_of_object(mpi: Any, comm: Any, sendobj: Any, op: Any = None) -> Key:
    """Return the same of an all-reduce of Python objects, which mpi4py sends as messages."""
    nbytes = getattr(sendobj, "nbytes", UNKNOWN_NBYTES)
    return nbytes, comm.Get_size(), 0, False, 0, "object", _op_name(mpi, op)


def _op_name(mpi: Any, op: Any) -> str:
    if op is None:
        return "sum"
    return next((name.lower() for name in OPS if getattr(mpi, name) == op), "user-defined")


def _described(mpi: Any, buffer: Any) -> tuple[int, str, int]:
    """Return bytes, dtype and bytes of an element of a buffer: an array, or a list such as [array, count, type]."""
    data, *parts = buffer if isinstance(buffer, list | tuple) else [buffer]
    parts = [part[0] if isinstance(part, list | tuple) else part for part in parts]  # (count, displacement)
    dtype = next((part for part in parts if isinstance(part, str | mpi.Datatype)), None)
    count = next((part for part in parts if isinstance(part, int)), None)
    if dtype is not None:
        dtype = mpi._typedict[dtype] if isinstance(dtype, str) else dtype
        name, itemsize = dtype.Get_name() if dtype.is_predefined else "derived", dtype.Get_size()
    elif hasattr(data, "dtype"):
        name, itemsize = str(data.dtype).rpartition(".")[2], data.dtype.itemsize
    else:
        view = memoryview(data)
        name, itemsize = mpi._typedict[view.format].Get_name(), view.itemsize
    if count is not None:
        return count * itemsize, name, itemsize
    return (data.nbytes if hasattr(data, "nbytes") else memoryview(data).nbytes), name, itemsize
