"""Placement of vectors: page-aligned, each kind of buffer at an offset of its own; or wherever numpy puts them.

On some processors `rep movsb`, with which glibc, MPI libraries and the kernel copy, takes 5 to 9 times as long where
0 < (destination - source) mod 4096 < 32 (glibc bug 30994: AMD Zen 3 and 4). numpy aligns to 16 bytes only, so that this
happens by chance. Inputs, outputs and scratch whose offsets in a page are a quarter of a page apart never have such
differences, within a rank or between two.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..machine import PAGE_NBYTES
from ..runs.schema import NUMPY, PAGE, STAGGER, UNKNOWN_PLACEMENT
from ..watching.whereabouts import doing
from . import Place, Prepared

VARIES = "varies"  # offsets that differ between calls
Allocate = Callable[[int, Any], np.ndarray]  # elements, dtype -> an array, not initialised


class Memory(NamedTuple):
    """Allocators of the buffers of an all-reduce; each makes an array of so many elements of a dtype."""

    sendbuf: Allocate
    recvbuf: Allocate
    scratch: Allocate


def at_offset(offset: int) -> Allocate:
    """Return an allocator of arrays that begin `offset` bytes, a multiple of the element's size, into a page."""

    def allocate(count: int, dtype) -> np.ndarray:
        itemsize = np.dtype(dtype).itemsize
        block = np.empty(count * itemsize + 2 * PAGE_NBYTES, np.uint8)  # large: huge pages, as numpy's own have
        first = (offset - block.ctypes.data) % PAGE_NBYTES
        return block[first : first + count * itemsize].view(dtype)

    return allocate


PAGES = Memory(at_offset(0), at_offset(STAGGER), at_offset(2 * STAGGER))
BY_NUMPY = Memory(np.empty, np.empty, np.empty)


def memory_of(placement: str) -> Memory:
    """Return the allocators of a placement as `--placement` names it; numpy's for runs that recorded none."""
    if placement == PAGE:
        return PAGES
    return BY_NUMPY if placement in (NUMPY, UNKNOWN_PLACEMENT) else shifted(int(placement))


def shifted(delta: int) -> Memory:
    """Return allocators with outputs `delta` bytes behind the offset of inputs, and scratch `delta` behind outputs."""
    return Memory(at_offset(0), at_offset(delta), at_offset(2 * delta))


def filled(allocate: Allocate, count: int, dtype, value: object) -> np.ndarray:
    """Return a vector filled with `value`, so that all of its pages are mapped."""
    vector = allocate(count, dtype)
    vector[:] = value
    return vector


def offset_of(array: np.ndarray) -> int:
    """Return the bytes from the beginning of its page to that of `array`."""
    return array.ctypes.data % PAGE_NBYTES


def page_of(dtype: np.dtype) -> int:
    """Return the number of elements of `dtype` in a page."""
    return PAGE_NBYTES // dtype.itemsize


@doing("comparing where vectors lie")
def offsets_of(calls: Sequence[Place], comm: MPI.Comm) -> str:
    """Return the column `offsets` of CELLS, the same on all ranks of `comm`; collective.

    Of calls in several places, as cold ones are, VARIES where they differ.
    """
    offsets = {_format_offsets(*place, comm) for place in calls}
    return offsets.pop() if len(offsets) == 1 else VARIES


def _format_offsets(call: Prepared, sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm) -> str:
    """Return offsets, rank by rank if they differ; the same on all ranks."""
    own = "/".join(str(offset_of(buffer)) if buffer.size else "-" for buffer in call.buffers or (sendbuf, recvbuf))
    texts = comm.allgather(own)
    return texts[0] if len(set(texts)) == 1 else " ".join(texts)
