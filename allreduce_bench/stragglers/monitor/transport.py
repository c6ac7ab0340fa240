"""What StepMonitor needs from whatever carries messages between the ranks."""

from typing import Any, Protocol

import numpy as np

from ...message import Refused


class StepMonitorError(Refused, RuntimeError):
    """StepMonitor was used in a way that has no meaning; one sentence."""


class Gathering(Protocol):
    """A row of each rank, on its way to all ranks."""

    def is_done(self) -> bool:
        """Return whether `rows` returns at once; also moves the messages on."""

    def rows(self) -> np.ndarray:
        """Float64 [rank, value]; waits."""


class Transport(Protocol):
    """The ranks of one communicator, whose messages never meet those of the program."""

    rank: int
    size: int

    def exchange(self, value: Any) -> list:
        """A small Python value of each rank; all ranks must call it."""

    def send(self, values: np.ndarray, partner: int) -> None:
        """Send float64 values; returns when they may be changed again."""

    def receive(self, values: np.ndarray, partner: int) -> None:
        """Receive as many float64 values as `partner` sends."""

    def gather(self, row: np.ndarray) -> Gathering:
        """Begin an allgather of a float64 row; all ranks must, in the same order. The row must not change."""

    def is_usable(self) -> bool:
        """False once the program has freed the communicator or has shut the library down."""

    def free(self) -> None:
        """Give back what was made for the monitor; only after all that was begun has ended, on all ranks."""
