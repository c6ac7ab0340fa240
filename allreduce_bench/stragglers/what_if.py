"""What the steps would have taken if some ranks had not been slow: the steps replayed with other arrivals.

A step ends when the last rank is ready and the call is made: nobody carries a delay past the common end. So the
duration of a step changes by as much as its last arrival, and each step is replayed by itself.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..robust import median


class Lateness(NamedTuple):
    """Some ranks, later than the others by as much in each step of a period, or in some of its steps."""

    ranks: tuple[int, ...]
    from_step: int
    to_step: int
    late_s: float
    at: np.ndarray | None = None  # bool [step], of all steps: in which of the period; None: in each

    def steps(self, number: int) -> np.ndarray:
        """bool [step], of `number` steps in all: in which they are late."""
        steps = np.zeros(number, dtype=bool)
        steps[self.from_step : self.to_step] = True
        return steps if self.at is None else steps & self.at


def moved_earlier(ready_s: np.ndarray, periods: Iterable[Lateness]) -> np.ndarray:
    """The arrivals as they would be without the named lateness; what noise adds to each step stays.

    `ready_s`: float64 [step, rank], seconds; NaN: not known.
    """
    moved_s = ready_s.copy()
    for period in periods:
        moved_s[np.ix_(period.steps(len(moved_s)), np.array(period.ranks, dtype=int))] -= period.late_s
    return moved_s


def replaced(ready_s: np.ndarray, periods: Iterable[Lateness]) -> np.ndarray:
    """The arrivals with those of the named ranks replaced by the median of all ranks that are not named in the step.

    Where nobody else is known in a step they stay.
    """
    is_named = np.zeros(ready_s.shape, dtype=bool)
    for period in periods:
        is_named[np.ix_(period.steps(len(ready_s)), np.array(period.ranks, dtype=int))] = True
    rest_s = median(np.where(is_named, np.nan, ready_s), axis=1)[:, None]
    return np.where(is_named & ~np.isnan(ready_s) & ~np.isnan(rest_s), rest_s, ready_s)


def saved_s(ready_s: np.ndarray, instead_s: np.ndarray) -> float:
    """By how much earlier all steps together end with other arrivals, seconds; both float64 [step, rank]."""
    return float(earlier_s(ready_s, instead_s).sum())


def earlier_s(ready_s: np.ndarray, instead_s: np.ndarray) -> np.ndarray:
    """float64 [step]: by how much earlier each step ends with other arrivals, seconds."""
    return _last(ready_s) - _last(instead_s)


def mean_wait_s(ready_s: np.ndarray) -> float:
    """The mean over ranks of their waits, summed over all steps, seconds."""
    known = ~np.isnan(ready_s)
    ranks = np.maximum(known.sum(axis=1), 1)
    return float((_last(ready_s) - np.sum(ready_s, axis=1, where=known) / ranks).sum())


def _last(ready_s: np.ndarray) -> np.ndarray:
    """float64 [step]; 0 where nobody is known."""
    latest = np.max(ready_s, axis=1, initial=-np.inf, where=~np.isnan(ready_s))
    return np.where(np.isinf(latest), 0.0, latest)
