"""When each rank was ready for the collective call of each step, and what waiting follows from it.

A step is work of each rank and then one collective call that nobody leaves before the last rank has entered. The time
inside the call says nothing about who is slow: it is shortest for the guilty rank. So only the ready times count,
stamped before any common start.
"""

from typing import NamedTuple

import numpy as np


class Arrivals(NamedTuple):
    """What is known of the steps of one job, of one or more ranks."""

    ready_s: np.ndarray  # float64 [step, rank]: when it was ready for the call, on a common clock; NaN: not known
    step_s: np.ndarray  # float64 [step]: from the common end of the step before to the step's own end, seconds
    clock_error_s: float  # ready times of two ranks can be compared no better than this
    node_of: tuple[int, ...]  # of each rank: the number of its node, from 0 in the order of their first ranks
    nodes: tuple[str, ...] = ()  # names of the nodes; empty: not known
    begin_s: np.ndarray | None = None  # float64 [step]: start of each step on the common clock; None: not known
