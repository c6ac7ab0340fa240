"""The interface of StepMonitor to the libraries that carry messages between the ranks."""

from typing import Any

import numpy as np


class StepMonitorError(RuntimeError):
    """An invalid use of StepMonitor; one sentence."""


class Lost(Exception):
    """A rank of the communicator is gone, or another one has noticed that: nothing arrives here any more."""


class Gathering:
    """An allgather of rows in progress; this one of a single rank. Its methods raise Lost."""

    def __init__(self, row: np.ndarray):
        self._row = row

    def is_done(self) -> bool:
        """Return whether `rows` returns at once; also drives progress."""
        return True

    def rows(self) -> np.ndarray:
        """Wait; return float64 [rank, value]."""
        return self._row[None]


class Transport:
    """The ranks of one communicator, with messages apart from the program's; this one of a single process.

    Where ranks can be outlived (ULFM), all that needs other ranks raises Lost once one is gone.
    """

    rank, size = 0, 1

    def exchange(self, value: Any) -> list:
        """Gather a small Python value of each rank; called on all ranks."""
        return [value]

    def send(self, values: np.ndarray, partner: int) -> None:
        """Send float64 values; they may be reused on return."""

    def receive(self, values: np.ndarray, partner: int) -> None:
        """Receive as many float64 values as `partner` sends."""

    def gather(self, row: np.ndarray) -> Gathering:
        """Begin an allgather of a float64 row, on all ranks, in the same order. The row must not change."""
        return Gathering(row)

    def is_usable(self) -> bool:
        """Return False once the program has freed the communicator or has shut the library down."""
        return True

    def free(self) -> None:
        """Free the monitor's resources; only after all operations have ended, on all ranks."""
