"""What the ranks tell each other every k steps: a row of each, and the same block of steps on all of them.

A row is the rank's clock (a `Line`), the start of its first step, and the ready times and ends of k steps by its own
clock; NaN where there is none.
"""

from collections.abc import Sequence
from math import nan
from statistics import median
from typing import NamedTuple

import numpy as np

from .common_clock import Line, error_of_two

START = len(Line._fields)  # index in a row; before it the line, behind it ready times, then ends
HEAD = START + 1


class Block(NamedTuple):
    """Some consecutive steps of all ranks, on the common clock."""

    first_step: int  # counted from 0
    ready_s: np.ndarray  # float64 [step, rank]; NaN: that rank does not say when it is ready
    step_s: np.ndarray  # float64 [step]: from the last rank's end of the step before to its end of this one
    end_s: float  # the last rank's end of the last step
    clock_error_s: float  # two ranks can be compared no better than this

    @property
    def late_s(self) -> np.ndarray:
        """Float64 [step, rank]: ready, after the first rank that was; NaN where it is not known."""
        return self.ready_s - np.fmin.reduce(self.ready_s, axis=1, keepdims=True)

    @property
    def median_step_s(self) -> float:
        """Seconds of a step; for a few values quicker than numpy."""
        return median(self.step_s.tolist())


def empty_row(every: int) -> np.ndarray:
    """A row for so many steps."""
    return np.full(HEAD + 2 * every, nan)


def block_of(rows: np.ndarray, leader_of: Sequence[int], first_step: int, last_end_s: float) -> Block:
    """The block that the rows of all ranks are; `leader_of` is the rank that compares clocks for each.

    `rows`: float64 [rank, value]; `last_end_s`: the common end of the step before, NaN: there is none. Steps that
    some rank has not ended are left out.
    """
    origin, offset, slope, error_s, slope_error = rows[list(leader_of), :START].T
    readings = rows[:, START:]
    common = readings + offset[:, None] + slope[:, None] * (readings - origin[:, None])
    ready_s, end_s = np.split(common[:, 1:].T, 2)
    steps = int(np.cumprod(~np.isnan(end_s).any(axis=1)).sum())
    if steps == 0:
        return Block(first_step, ready_s[:0], np.empty(0), last_end_s, 0.0)
    ends = end_s[:steps].max(axis=1)
    before = common[:, 0].max() if np.isnan(last_end_s) else last_end_s
    furthest = np.fmax.reduce(np.abs(readings - origin[:, None]), axis=1, initial=0.0)
    clock_error_s = error_of_two(leader_of, (error_s + slope_error * furthest).tolist())
    return Block(first_step, ready_s[:steps], np.diff(ends, prepend=before), float(ends[-1]), clock_error_s)
