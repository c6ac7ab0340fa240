"""Offsets of buffers on all ranks, and the number of messages and copies of a call that join slow offsets.

Slow are differences of 1 to 31 bytes modulo a page, on some processors: see `memory`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..machine import PAGE_NBYTES
from ..watching.whereabouts import doing
from . import Footprint, Place, Prepared
from .memory import CLOSE, offset_of
from .program import Copy, Exchange, PostReceive, PostSend, View

VARIES = "varies"  # offsets that differ between calls
UNKNOWN = -1  # instead of an offset: a message of several ranges, which the MPI library packs and unpacks


class Ends(NamedTuple):
    """This rank's ends of messages: the partner, and the offset in its page at which the message begins, in bytes.

    In the order of posting: messages between two ranks do not overtake each other.
    """

    sent: list[tuple[int, int]]
    received: list[tuple[int, int]]


@doing("comparing where vectors lie")
def places_of(calls: Sequence[Place], comm: MPI.Comm) -> dict:
    """Return columns of CELLS, the same on all ranks of `comm`; collective.

    Of calls in several places, as cold ones are, the largest counts; `offsets` is VARIES where they differ.
    """
    of_calls = [_of_call(*place, comm) for place in calls]
    offsets = {offsets for offsets, _, _ in of_calls}
    close, unknown = (max(counts) for counts in list(zip(*of_calls))[1:])
    return {"offsets": offsets.pop() if len(offsets) == 1 else VARIES, "close_moves": close, "unknown_moves": unknown}


def _of_call(call: Prepared, sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm) -> tuple[str, int, int]:
    """Return offsets, rank by rank if they differ, and close and unknown moves over all ranks; the same on all."""
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
    """Return this rank's ends of the messages of a call."""
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
    """Return the offsets of the messages to each of `size` ranks: what ranks exchange for `close_messages`."""
    begins: list[list[int]] = [[] for _ in range(size)]
    for dest, offset in own.sent:
        begins[dest].append(offset)
    return begins


def close_messages(own: Ends, begins_by_source: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Count the received messages of a call that join slow offsets, and those for which that is unknown.

    `begins_by_source`: the offsets of each source's messages. Unknown: one end has several ranges, or, in unverified
    steps, nobody sends it.
    """
    arriving = [iter(begins) for begins in begins_by_source]
    pairs = [(next(arriving[source], UNKNOWN), into) for source, into in own.received]
    known = [pair for pair in pairs if UNKNOWN not in pair]
    return sum(is_close(*pair) for pair in known), len(pairs) - len(known)


def close_copies(footprint: Footprint) -> int:
    """Count the local copies of a call that join slow offsets."""
    copies = [operation for operation in footprint.program.operations if isinstance(operation, Copy)]
    return sum(is_close(_offset(copy.view, footprint), _offset(copy.into, footprint)) for copy in copies)


def is_close(source: int, destination: int) -> bool:
    """Return whether the difference of two offsets is slow on some processors."""
    return (destination - source) % PAGE_NBYTES in CLOSE
