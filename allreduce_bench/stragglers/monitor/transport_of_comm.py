"""The transport for a program's communicator: over mpi4py, over torch, or of one process alone.

Neither mpi4py nor torch is loaded for the other one.
"""

import os
from typing import Any, NamedTuple

import numpy as np

from .transport import Transport


class OwnRow(NamedTuple):
    """The row of the only rank."""

    row: np.ndarray

    def is_done(self) -> bool:
        """Return True."""
        return True

    def rows(self) -> np.ndarray:
        """Return float64 [1, value]."""
        return self.row[None]


class Alone:
    """The transport of a single process not started by torchrun: its step times are kept, nobody is late."""

    rank, size = 0, 1

    def exchange(self, value: Any) -> list:
        """Return the value of the only rank."""
        return [value]

    def send(self, values: np.ndarray, partner: int) -> None:
        """Do nothing: there is no partner."""

    def receive(self, values: np.ndarray, partner: int) -> None:
        """Do nothing: there is no partner."""

    def gather(self, row: np.ndarray) -> OwnRow:
        """See `Transport`."""
        return OwnRow(row)

    def is_usable(self) -> bool:
        """Return True."""
        return True

    def free(self) -> None:
        """Do nothing."""


def transport_of(comm: Any) -> Transport:
    """Return the transport of a communicator of mpi4py, or of a process group of torch (None: the default one).

    Called on all its ranks. Raises StepMonitorError and TypeError, with one sentence.
    """
    origins = {base.__module__.partition(".")[0] for base in type(comm).__mro__}
    if comm is None and _is_alone():
        return Alone()
    if comm is None or "torch" in origins:
        from .torch_transport import TorchTransport

        return TorchTransport(comm)
    if "mpi4py" not in origins:
        raise TypeError(
            f"StepMonitor: expected a communicator of mpi4py or a process group of torch, found {type(comm).__name__}"
        )
    from .mpi_transport import MpiTransport

    return MpiTransport(comm)


def _is_alone() -> bool:
    """Return whether torch is there without a process group, and nothing indicates further processes."""
    try:
        from torch import distributed
    except ImportError:
        return False
    is_initialized = distributed.is_available() and distributed.is_initialized()
    return not is_initialized and os.environ.get("WORLD_SIZE", "1") == "1"
