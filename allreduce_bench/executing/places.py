"""Where vectors lie: how buffers are placed, and which messages and copies of a call join places that are slow.

On some processors `rep movsb`, with which glibc, MPI libraries and the kernel copy, takes 5 to 9 times as long where
0 < (destination - source) mod 4096 < 32 (glibc bug 30994: AMD Zen 3 and 4). numpy allocates multiples of 16 bytes, so
that this happens by chance. Buffers at pages, inputs, outputs and scratch a quarter of a page apart, never have such
differences, within a rank or between two.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..machine import PAGE_NBYTES
from ..runs.schema import NUMPY, PAGE, STAGGER, UNKNOWN_PLACEMENT
from ..watching.whereabouts import doing
from . import Footprint, Place, Prepared
from .program import Copy, Exchange, PostReceive, PostSend, View

CLOSE = range(1, 32)  # differences in bytes, modulo a page, that are slow on some processors
VARIES = "varies"  # of offsets that differ from place to place
UNKNOWN = -1  # in place of an offset: a message of several ranges, which the MPI library packs and unpacks

Allocate = Callable[[int, Any], np.ndarray]  # elements, dtype -> an array, not initialised


class Memory(NamedTuple):
    """How the buffers of an all-reduce are allocated; each makes an array of so many elements of a dtype."""

    sendbuf: Allocate
    recvbuf: Allocate
    scratch: Allocate


def at_offset(offset: int) -> Allocate:
    """Allocates at `offset` bytes, a multiple of the element's size, behind the beginning of a page."""

    def allocate(count: int, dtype) -> np.ndarray:
        itemsize = np.dtype(dtype).itemsize
        block = np.empty(count * itemsize + 2 * PAGE_NBYTES, np.uint8)  # large: huge pages, as numpy's own have
        first = (offset - block.ctypes.data) % PAGE_NBYTES
        return block[first : first + count * itemsize].view(dtype)

    return allocate


def shifted(delta: int) -> Memory:
    """Outputs `delta` bytes behind the offset of inputs, and scratch as far behind that of outputs."""
    return Memory(at_offset(0), at_offset(delta), at_offset(2 * delta))


PAGES = Memory(at_offset(0), at_offset(STAGGER), at_offset(2 * STAGGER))
BY_NUMPY = Memory(np.empty, np.empty, np.empty)


def memory_of(placement: str) -> Memory:
    """How buffers of a placement, as `--placement` names it, are allocated; of runs that knew of none by numpy."""
    if placement == PAGE:
        return PAGES
    return BY_NUMPY if placement in (NUMPY, UNKNOWN_PLACEMENT) else shifted(int(placement))


def filled(allocate: Allocate, count: int, dtype, value: object) -> np.ndarray:
    """A vector that holds `value` everywhere, so that all of its memory is there."""
    vector = allocate(count, dtype)
    vector[:] = value
    return vector


def offset_of(array: np.ndarray) -> int:
    """Bytes from the beginning of its page to that of `array`."""
    return array.ctypes.data % PAGE_NBYTES


def page_of(dtype: np.dtype) -> int:
    """How many elements of `dtype` a page has."""
    return PAGE_NBYTES // dtype.itemsize


class Ends(NamedTuple):
    """The own ends of a rank's messages: the partner, and where in its page the message begins, in bytes.

    In the order in which they are posted: between two ranks messages do not overtake each other.
    """

    sent: list[tuple[int, int]]
    received: list[tuple[int, int]]


@doing("comparing where vectors lie")
def places_of(calls: Sequence[Place], comm: MPI.Comm) -> dict:
    """Columns of CELLS, the same on all ranks of `comm`, which call this together.

    Of calls in several places, as cold ones are, the most of one; `offsets` is then VARIES where they differ.
    """
    of_calls = [_of_call(*place, comm) for place in calls]
    offsets = {offsets for offsets, _, _ in of_calls}
    close, unknown = (max(counts) for counts in list(zip(*of_calls))[1:])
    return {"offsets": offsets.pop() if len(offsets) == 1 else VARIES, "close_moves": close, "unknown_moves": unknown}


def _of_call(call: Prepared, sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm) -> tuple[str, int, int]:
    """Its offsets rank by rank, and its close and its unknown moves over all ranks; the same on all ranks."""
    footprint = call.footprint() if call.footprint else None
    buffers = footprint.buffers if footprint else (sendbuf, recvbuf)
    own = "/".join(str(offset_of(buffer)) if buffer.size else "-" for buffer in buffers)
    close, unknown = int(is_close(offset_of(sendbuf), offset_of(recvbuf))), 0
    if footprint:
        ends = ends_of(footprint)
        close, unknown = close_messages(ends, comm.alltoall(begins_by_dest(ends, comm.size)))
        close += close_copies(footprint)
    texts, counts, unknowns = zip(*comm.allgather((own, close, unknown)))
    return texts[0] if len(set(texts)) == 1 else " ".join(texts), sum(counts), sum(unknowns)


def ends_of(footprint: Footprint) -> Ends:
    """The own ends of the messages of a call."""
    ends = Ends([], [])
    for operation in footprint.program.operations:
        if isinstance(operation, Exchange):
            _add(ends.sent, operation.dest, operation.send, footprint)
            _add(ends.received, operation.source, operation.recv, footprint)
        elif isinstance(operation, PostSend):
            _add(ends.sent, operation.dest, operation.send, footprint)
        elif isinstance(operation, PostReceive):
            _add(ends.received, operation.source, operation.recv, footprint)
    return ends


def _add(ends: list[tuple[int, int]], partner: int | None, view: View | None, footprint: Footprint) -> None:
    if partner is not None and view is not None:
        ends.append((partner, _offset(view, footprint)))


def _offset(view: View, footprint: Footprint) -> int:
    if len(view.ranges) != 1:
        return UNKNOWN
    array = footprint.buffers[view.buffer]
    return (array.ctypes.data + view.ranges[0].start * array.itemsize) % PAGE_NBYTES


def begins_by_dest(own: Ends, size: int) -> list[list[int]]:
    """Of each of `size` ranks where the messages to it begin: what is exchanged to call `close_messages`."""
    begins: list[list[int]] = [[] for _ in range(size)]
    for dest, offset in own.sent:
        begins[dest].append(offset)
    return begins


def close_messages(own: Ends, begins_by_source: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Count the received messages of a call that join slow places, and those of which that is unknown.

    `begins_by_source`: where each source's messages begin. Unknown: one end has several ranges, or, of steps that
    nobody verified, nobody sends it.
    """
    arriving = [iter(begins) for begins in begins_by_source]
    pairs = [(next(arriving[source], UNKNOWN), into) for source, into in own.received]
    known = [pair for pair in pairs if UNKNOWN not in pair]
    return sum(is_close(*pair) for pair in known), len(pairs) - len(known)


def close_copies(footprint: Footprint) -> int:
    """How many local copies of a call join slow places."""
    copies = [operation for operation in footprint.program.operations if isinstance(operation, Copy)]
    return sum(is_close(_offset(copy.view, footprint), _offset(copy.into, footprint)) for copy in copies)


def is_close(source: int, destination: int) -> bool:
    """Whether the difference of two offsets in their pages is slow on some processors."""
    return (destination - source) % PAGE_NBYTES in CLOSE
