"""StepMonitor's messages over mpi4py, on a duplicate of the program's communicator."""

from typing import Any

import numpy as np
from mpi4py import MPI

from .transport import StepMonitorError


class MpiGathering:
    """An MPI_Iallgather that is under way."""

    def __init__(self, comm: MPI.Comm, row: np.ndarray):
        self._row, self._rows = row, np.empty((comm.size, len(row)))  # kept: MPI reads and writes them
        self._request = comm.Iallgather([row, MPI.DOUBLE], [self._rows, MPI.DOUBLE])

    def is_done(self) -> bool:
        """Return whether `rows` returns at once; also moves the messages on."""
        return self._request.Test()

    def rows(self) -> np.ndarray:
        """Float64 [rank, value]; waits."""
        self._request.Wait()
        return self._rows


class MpiTransport:
    """See `Transport`. Raises StepMonitorError where the communicator is of no use; all its ranks must make one."""

    def __init__(self, comm: MPI.Comm):
        if not MPI.Is_initialized() or MPI.Is_finalized():
            raise StepMonitorError("stragglers.stepmonitor_needs_mpi_between")
        if comm == MPI.COMM_NULL:
            raise StepMonitorError("stragglers.stepmonitor_needs_communicator_mpi")
        if comm.Is_inter():
            raise StepMonitorError("stragglers.stepmonitor_needs_group_ranks")
        self._of_program, self._comm = comm, comm.Dup()
        self.rank, self.size = self._comm.rank, self._comm.size

    def exchange(self, value: Any) -> list:
        """A small Python value of each rank; all ranks must call it."""
        return self._comm.allgather(value)

    def send(self, values: np.ndarray, partner: int) -> None:
        """Send float64 values; returns when they may be changed again."""
        self._comm.Send([values, MPI.DOUBLE], partner)

    def receive(self, values: np.ndarray, partner: int) -> None:
        """Receive as many float64 values as `partner` sends."""
        self._comm.Recv([values, MPI.DOUBLE], partner)

    def gather(self, row: np.ndarray) -> MpiGathering:
        """Begin an allgather of a float64 row; all ranks must, in the same order. The row must not change."""
        return MpiGathering(self._comm, row)

    def is_usable(self) -> bool:
        """False once the program has freed its communicator or has called MPI.Finalize()."""
        return self._of_program != MPI.COMM_NULL and not MPI.Is_finalized()

    def free(self) -> None:
        """Free the duplicate; only after all that was begun has ended, on all ranks."""
        if not MPI.Is_finalized():
            self._comm.Free()
