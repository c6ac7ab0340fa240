"""Consistency checks across ranks before they prepare an all-reduce together, and immediate exit of a failed rank."""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

import numpy as np
from mpi4py import MPI

from ..executing import OPERATIONS
from ..measuring.startup import watched
from ..runs.dtypes import DTYPES
from ..units import format_ranges

EXIT_FAILED = 1

# Polling for other ranks: busy for SPIN_S seconds, then with pauses
SPIN_S, PAUSE_S = 1e-3, 1e-3
PATIENCE_S = 60.0


@dataclass(frozen=True, order=True)
class Shape:
    """Length, type and operation that an all-reduce is prepared for."""

    count: int  # elements
    dtype: str  # a name of DTYPES
    op: str  # a name of OPERATIONS

    @property
    def size_bytes(self) -> int:
        """Bytes of the vector."""
        return self.count * DTYPES[self.dtype]

    @property
    def words(self) -> str:
        """Format as `1000 float32 sum`."""
        return f"{self.count} {self.dtype} {self.op}"


class NotTogether(RuntimeError):
    """Not all ranks came to prepare this shape.

    `pending` is memory that MPI may still write to: keep it, and its communicator, until the end of the process.
    """

    def __init__(self, sentence: str, pending: tuple[object, ...] = ()):
        super().__init__(sentence)
        self.pending = pending


def refuse_different(comm: MPI.Comm, shape: Shape, patience_s: float = PATIENCE_S) -> None:
    """Compare `shape` over all ranks of `comm`, which carries nothing else: one all-reduce of 48 bytes.

    Raises ValueError on all ranks where they differ, naming them; NotTogether if not all ranks come within
    `patience_s`: the others are elsewhere, perhaps in a call of another shape, which was prepared before.
    """
    numbers = np.array([shape.count, [*DTYPES].index(shape.dtype), [*OPERATIONS].index(shape.op)], np.int64)
    extremes, agreed = np.concatenate([numbers, -numbers]), np.empty(6, np.int64)
    request = comm.Iallreduce(extremes, agreed, MPI.MAX)
    if not _is_complete(request, patience_s):
        raise NotTogether(
            (
                f"Allreduce: rank {comm.rank} waited {patience_s:g} s to prepare {shape.words} and not all ranks "
                "came; all ranks must call it with the same length, type and operation, in the same order"
            ),
            (request, extremes, agreed),
        )
    if (agreed[:3] == -agreed[3:]).all():
        return
    asked = _asked_by(comm.allgather(shape.words))
    raise ValueError(f"Allreduce: the ranks call it with different lengths, types or operations: {asked}")


def refuse_different_arguments(comm: MPI.Comm, arguments: str) -> None:
    """Compare the arguments, in words, of all ranks. Raises ValueError on all ranks if they differ, naming them."""
    asked = comm.allgather(arguments)
    if len({*asked}) > 1:
        raise ValueError(f"Allreduce: the ranks prepare it with different arguments: {_asked_by(asked)}")


def _asked_by(words: Sequence[str]) -> str:
    """Return `rank 0, 2: 10 float32 sum; rank 1: 20 float32 sum`, given the words of each rank."""
    ranks_of: dict[str, list[int]] = {}
    for rank, said in enumerate(words):
        ranks_of.setdefault(said, []).append(rank)
    return "; ".join(f"rank {format_ranges(ranks)}: {said:.120}" for said, ranks in ranks_of.items())


def refuse_together(comm: MPI.Comm, kind: type[Exception], reason: str) -> None:
    """Raise `kind` on all ranks if any of them gives a non-empty `reason`."""
    if reasons := [reason for reason in comm.allgather(reason) if reason]:
        raise kind(reasons[0])


def _is_complete(request: MPI.Request, patience_s: float) -> bool:
    """Poll until `request` completes, leaving the processor to other ranks; return False after `patience_s`."""
    begun = time.monotonic()
    while not request.Test():
        waited_s = time.monotonic() - begun
        if waited_s > patience_s:
            return False
        if waited_s > SPIN_S:
            time.sleep(PAUSE_S)
    return True


def end_with_errors() -> None:
    """Make an error that nobody catches end this process at once, where `exec` watches it.

    At its usual end MPI would wait for the other ranks, for ever.
    """
    if not watched(os.environ) or getattr(sys.excepthook, "ends_process", False):
        return
    former = sys.excepthook

    def end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        former(kind, error, trace)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(EXIT_FAILED)

    end.ends_process = True  # type: ignore[attr-defined]
    sys.excepthook = end
