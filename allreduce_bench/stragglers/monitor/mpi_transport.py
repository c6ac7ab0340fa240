"""StepMonitor's messages over mpi4py, on a duplicate of the program's communicator."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from mpi4py import MPI

from ...executing.recovery import is_loss
from .transport import Gathering, Lost, StepMonitorError, Transport


class MpiGathering(Gathering):
    """An MPI_Iallgather in progress."""

    def __init__(self, comm: MPI.Comm, row: np.ndarray):
        self._comm = comm
        self._row, self._rows = row, np.empty((comm.size, len(row)))  # kept alive: MPI reads and writes them
        with _losses_told(comm):
            self._request = comm.Iallgather([row, MPI.DOUBLE], [self._rows, MPI.DOUBLE])

    def is_done(self) -> bool:
        """Return whether `rows` returns at once; also drives progress."""
        with _losses_told(self._comm):
            return self._request.Test()

    def rows(self) -> np.ndarray:
        """Wait; return float64 [rank, value]."""
        with _losses_told(self._comm):
            self._request.Wait()
        return self._rows


class MpiTransport(Transport):
    """See `Transport`. Raises StepMonitorError for an unusable communicator; constructed on all its ranks."""

    def __init__(self, comm: MPI.Comm):
        if not MPI.Is_initialized() or MPI.Is_finalized():
            raise StepMonitorError("StepMonitor needs MPI between MPI.Init() and MPI.Finalize()")
        if comm == MPI.COMM_NULL:
            raise StepMonitorError(
                "StepMonitor needs a communicator; this one is MPI.COMM_NULL: it was freed, or was none"
            )
        if comm.Is_inter():
            raise StepMonitorError("StepMonitor needs one group of ranks; this communicator is between two groups")
        with _losses_told(comm):
            self._of_program, self._comm = comm, comm.Dup()
        self.rank, self.size = self._comm.rank, self._comm.size

    def exchange(self, value: Any) -> list:
        """Allgather a small Python value; called on all ranks."""
        with _losses_told(self._comm):
            return self._comm.allgather(value)

    def send(self, values: np.ndarray, partner: int) -> None:
        """Send float64 values; they may be reused on return."""
        with _losses_told(self._comm):
            self._comm.Send([values, MPI.DOUBLE], partner)

    def receive(self, values: np.ndarray, partner: int) -> None:
        """Receive as many float64 values as `partner` sends."""
        with _losses_told(self._comm):
            self._comm.Recv([values, MPI.DOUBLE], partner)

    def gather(self, row: np.ndarray) -> MpiGathering:
        """Begin an allgather of a float64 row, on all ranks, in the same order. The row must not change."""
        return MpiGathering(self._comm, row)

    def is_usable(self) -> bool:
        """Return False once the program has freed its communicator or has called MPI.Finalize()."""
        return self._of_program != MPI.COMM_NULL and not MPI.Is_finalized()

    def free(self) -> None:
        """Free the duplicate; only after all operations have ended, on all ranks."""
        if not MPI.Is_finalized():
            self._comm.Free()


@contextmanager
def _losses_told(comm: MPI.Comm) -> Iterator[None]:
    """Turn the errors of ULFM into Lost, on all ranks that communicate on `comm`."""
    try:
        yield
    except MPI.Exception as error:
        if not is_loss(error):
            raise
        comm.Revoke()  # else others wait for this rank
        raise Lost from None
