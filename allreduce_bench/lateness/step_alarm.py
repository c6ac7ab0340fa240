"""Says while steps go on that a rank has become slow, or is no longer slow."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

SLOW, RECOVERED = "slow", "recovered"  # kinds of alerts


class Alert(NamedTuple):
    """A rank became slow, or has recovered."""

    kind: str  # SLOW or RECOVERED
    rank: int
    step: int  # how many steps have been seen
    slower_by: float  # its lateness behind the median of the others, of the step that the median rank would have
    z: float  # the same, in standard deviations (robust)
    since_step: int  # the first step (from 0) in which it was so
    node: int = -1  # its node, where more than half of the ranks of the node are slow; -1: the rank alone


class StepAlarm:
    """Watches the steps of one job of `ranks` ranks."""

    def __init__(self, ranks: int, node_of: Sequence[int], clock_error_s: float = 0.0) -> None:
        """`node_of`: of each rank the number of its node; `clock_error_s`: as of `Arrivals`."""
        self.ranks, self.node_of, self.clock_error_s, self.steps = ranks, tuple(node_of), clock_error_s, 0

    def update(self, ready_s: np.ndarray, step_s: np.ndarray) -> list[Alert]:
        """What the next steps say. `ready_s`: float64 [step, rank], NaN: not known; `step_s`: float64 [step]."""
        self.steps += len(step_s)
        return []
