"""What the ranks counted: the files that `count_allreduces.c` and `in_python` write, and their sum."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..runs.dtypes import DTYPES
from ..runs.files import read_kept
from .in_python.mpi4py_allreduce_counts import FILE_NBYTES, GAPS, HEAD, KINDS, MAGIC, ROWS, UNKNOWN_NBYTES
from .profile import CountedAllreduce

ROW = np.dtype(
    [
        ("nbytes", "=i8"),
        ("calls", "=i8"),
        ("ranks", "=i4"),
        ("itemsize", "=i4"),
        ("in_place", "i1"),
        ("kind", "i1"),
        ("unused", "V6"),
        ("dtype", "S32"),
        ("op", "S16"),
        ("gaps", "=u4", (GAPS,)),
    ]
)
FLOATS = ("MPI_FLOAT", "MPI_DOUBLE", "MPI_REAL", "MPI_DOUBLE_PRECISION", "MPI_REAL4", "MPI_REAL8")
WHOLES = ("MPI_INT", "MPI_LONG", "MPI_LONG_LONG", "MPI_LONG_LONG_INT", "MPI_INT32_T", "MPI_INT64_T", "MPI_INTEGER")
HALVES = ("MPI_REAL2", "MPIX_C_FLOAT16", "MPIX_SHORT_FLOAT", "MPI_SHORT_FLOAT")
KIND_OF_NAME = {**dict.fromkeys((*FLOATS, *HALVES), "float"), **dict.fromkeys((*WHOLES, "MPI_INTEGER8"), "int")}


class Sum(NamedTuple):
    """What all processes counted."""

    processes: int
    left_out: int  # calls for which there was no row
    rows: list[CountedAllreduce]  # those with the most bytes first


def sum_of_ranks(folder: Path) -> Sum:
    """Return the sum of the files in a folder; files that were not written to the end are left out. Raises OSError."""
    processes, left_out = 0, 0
    calls: dict[tuple, int] = {}
    gaps: dict[tuple, Any] = {}
    for path in sorted(folder.iterdir()):
        content = read_kept(path)
        if len(content) != FILE_NBYTES or not content.startswith(MAGIC):
            continue
        processes += 1
        left_out += HEAD.unpack_from(content)[1]
        rows = np.frombuffer(content, ROW, ROWS, HEAD.size)
        for row in rows[rows["calls"] > 0]:
            key = _key_of(row)
            calls[key] = calls.get(key, 0) + int(row["calls"])
            gaps[key] = gaps.get(key, 0) + row["gaps"].astype(np.int64)
    found = [_counted(key, number, gaps[key]) for key, number in calls.items()]
    return Sum(processes, left_out, sorted(found, key=lambda one: (-one.total_nbytes, -one.calls, one.dtype, one.op)))


def _key_of(row: Any) -> tuple:
    """Return bytes, ranks, dtype, op, in place and kind of call, as a profile has them."""
    nbytes, name = int(row["nbytes"]), row["dtype"].decode(errors="replace")
    dtype = f"{KIND_OF_NAME.get(name, '')}{8 * int(row['itemsize'])}"
    return (
        None if nbytes == UNKNOWN_NBYTES else nbytes,
        int(row["ranks"]),
        dtype if dtype in DTYPES else name,
        row["op"].decode(errors="replace"),
        bool(row["in_place"]),
        KINDS[row["kind"]],
    )


def _counted(key: tuple, rank_calls: int, gaps: Any) -> CountedAllreduce:
    nbytes, ranks, dtype, op, in_place, call = key
    calls = -(-rank_calls // max(ranks, 1))  # each rank of the communicator has counted it
    return CountedAllreduce(nbytes, ranks, dtype, op, in_place, call, calls, rank_calls, median_gap_s(gaps))


def median_gap_s(gaps: Iterable[int]) -> float | None:
    """Return the median of gaps in classes, as the middle of its class; None: there is none."""
    before = np.cumsum(np.asarray(gaps, dtype=np.int64))
    if not before[-1]:
        return None
    number = int(np.searchsorted(before, (before[-1] + 1) // 2))
    low, high = _begin_ns(number), _begin_ns(number + 1)
    return (low + high) / 2 * 1e-9


def _begin_ns(number: int) -> int:
    """Return the shortest gap of a class: the inverse of `class_of`."""
    return number if number < 8 else (8 + number % 8) << (number // 8 - 1)
