"""Offsets of the buffers of a call on all ranks, modulo a page."""

from collections.abc import Sequence

import numpy as np
from mpi4py import MPI

from ..watching.whereabouts import doing
from . import Place, Prepared
from .memory import offset_of

VARIES = "varies"  # offsets that differ between calls


@doing("comparing where vectors lie")
def offsets_of(calls: Sequence[Place], comm: MPI.Comm) -> str:
    """Return the column `offsets` of CELLS, the same on all ranks of `comm`; collective.

    Of calls in several places, as cold ones are, VARIES where they differ.
    """
    offsets = {_of_call(*place, comm) for place in calls}
    return offsets.pop() if len(offsets) == 1 else VARIES


def _of_call(call: Prepared, sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm) -> str:
    """Return offsets, rank by rank if they differ; the same on all ranks."""
    own = "/".join(str(offset_of(buffer)) if buffer.size else "-" for buffer in call.buffers or (sendbuf, recvbuf))
    texts = comm.allgather(own)
    return texts[0] if len(set(texts)) == 1 else " ".join(texts)
