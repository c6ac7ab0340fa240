"""Where the buffers of a cell lie on all ranks, and how many of its messages and copies join places that are slow."""

import numpy as np
from mpi4py import MPI

from ..executing import Prepared
from ..executing.closeness import (
    begins_by_dest,
    close_copies,
    close_messages,
    ends_of,
    is_close,
    unknown_messages,
)
from ..executing.memory import offset_of
from ..watching.whereabouts import doing


@doing("comparing where vectors lie")
def places_of(call: Prepared, sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm) -> dict:
    """Columns of CELLS, on rank 0 of `comm`, whose ranks call this together; empty on the others.

    `call` is bound to these buffers.
    """
    footprint = call.footprint
    buffers = footprint.buffers if footprint else (sendbuf, recvbuf)
    offsets = "/".join(str(offset_of(buffer)) for buffer in buffers if buffer.size)
    close, unknown = int(is_close(offset_of(sendbuf), offset_of(recvbuf))), 0
    if footprint:
        ends = ends_of(footprint)
        begins = comm.alltoall(begins_by_dest(ends, comm.size))
        close = close_copies(footprint) + close_messages(ends, begins)
        unknown = unknown_messages(ends)
    of_ranks = comm.gather((offsets, close, unknown))
    if of_ranks is None:
        return {}
    texts = [offsets for offsets, _, _ in of_ranks]
    return {
        "offsets": texts[0] if len(set(texts)) == 1 else " ".join(texts),
        "close_moves": sum(close for _, close, _ in of_ranks),
        "unknown_moves": sum(unknown for _, _, unknown in of_ranks),
    }
