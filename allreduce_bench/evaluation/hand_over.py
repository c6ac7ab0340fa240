"""The switch point: the size from which another algorithm is faster, and the range in which it lies."""

from collections.abc import Collection, Mapping, Sequence
from math import exp, log, sqrt
from typing import NamedTuple

from .summary_row import SummaryRow, time_of


class HandOver(NamedTuple):
    """The switch point of two algorithms: the first is faster below it, the second above it."""

    before: str
    after: str
    low: int  # bytes: the last size at which the second one is shown to be slower
    high: int  # the first size at which the first one is shown to be slower
    nbytes: float  # in between: where the times of both, straight lines between sizes (log-log), are equal


def hand_over(
    sizes: Mapping[int, Mapping[str, SummaryRow]],
    leaders: Mapping[int, Collection[str]],
    before: tuple[str, Sequence[int]],
    after: tuple[str, Sequence[int]],
) -> HandOver | None:
    """Where the first of two neighbouring stretches, each an algorithm and its sizes in bytes, ends.

    None: one of the two is not shown to be slower in the other's stretch, so there is no switch point.

    `sizes`: nbytes -> algorithm -> its row, of those that are ranked; `leaders`: who is not shown to be slower at the
    sizes of stretches.
    """
    (earlier, its_sizes), (later, later_sizes) = before, after
    low = max((nbytes for nbytes in its_sizes if later not in leaders[nbytes]), default=None)
    high = min((nbytes for nbytes in later_sizes if earlier not in leaders[nbytes]), default=None)
    if low is None or high is None:
        return None
    logs = {
        nbytes: log(time_of(rows[earlier]) / time_of(rows[later]))
        for nbytes, rows in sizes.items()
        if low <= nbytes <= high and earlier in rows and later in rows
    }
    return HandOver(earlier, later, low, high, _crossing(logs) if len(logs) > 1 else sqrt(low * high))


def _crossing(logs: Mapping[int, float]) -> float:
    """Where the logarithm of the ratio, below 0 at first, crosses 0: between the two sizes whose order fits best."""
    sizes = list(logs)
    scores = [sum(-logs[n] if n <= last else logs[n] for n in sizes) for last in sizes[:-1]]
    last = scores.index(max(scores))
    left, right = sizes[last], sizes[last + 1]
    if not logs[left] < 0 < logs[right]:
        return sqrt(left * right)
    share = -logs[left] / (logs[right] - logs[left])
    return exp(log(left) + share * (log(right) - log(left)))
