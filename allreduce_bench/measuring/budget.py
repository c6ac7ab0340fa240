"""How long a cell is repeated: until its median is known well enough, or its time is over. Rank 0 alone decides."""

from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

MIN_REPETITIONS, MAX_REPETITIONS = 6, 1000  # where neither --iters nor --min-time decides; fewer have no interval
PRECISE_FROM, PRECISE_FROM_LONG = 20, 6  # valid calls before an interval is believed; of calls too long for so many
TRIED = 7  # calls of a cell after which a start to which none was on time is given up


class Budget(NamedTuple):
    """What a cell may take."""

    warmups: int
    iterations: int | None  # exactly so many; None: until `precision` or `time_s`, 6 to 1000
    time_s: float
    min_time_s: float = 0.0  # however many calls that takes
    deadline_s: float | None = None  # on rank 0's perf_counter; None: none
    precision: float = 0.0  # half of the 95 % interval of the median, over the median, at which it is enough
    short: bool = False  # `time_s` is the share that --within left


class Ahead(NamedTuple):
    """What comes next: so many calls; 0 ends the cell, and `stopped` says why."""

    calls: int
    stopped: str = ""
    fall_back: bool = False  # from now on by a barrier


def warmups_left(budget: Budget) -> int:
    """After the first: all of them, or none where the time of the launch has run out."""
    return 0 if _over(budget) else budget.warmups - 1


def ahead(budget: Budget, done: int, spent_s: float, valid_s: Sequence[float]) -> Ahead:
    """What comes after `done` calls in `spent_s` seconds, of which the valid ones took `valid_s`, in their order.

    Batches double, so that the clock and the interval are looked at seldom.
    """
    if stopped := _why_to_stop(budget, done, spent_s, valid_s):
        return Ahead(0, stopped)
    if budget.iterations is not None:
        return Ahead(min(budget.iterations - done, max(done, 1), MAX_REPETITIONS))
    if done == 0:
        return Ahead(1)
    call_s = spent_s / done
    left, needed = (int((time_s - spent_s) / call_s) for time_s in (budget.time_s, budget.min_time_s))
    wanted = min(max(left, MIN_REPETITIONS - done), MAX_REPETITIONS - done)
    return Ahead(max(1, min(max(wanted, needed + (spent_s < budget.min_time_s)), done)))


def _why_to_stop(budget: Budget, done: int, spent_s: float, valid_s: Sequence[float]) -> str:
    """The word of the column `stopped`; empty: go on."""
    if done and _over(budget):
        return "within"
    if budget.iterations is not None:
        return "iterations" if done >= budget.iterations else ""
    if done < MIN_REPETITIONS or spent_s < budget.min_time_s:
        return ""
    if _precise(budget, spent_s / done, valid_s):
        return "precision"
    if done >= MAX_REPETITIONS:
        return "calls"
    if spent_s + spent_s / done > budget.time_s:
        return "within" if budget.short else "time"
    return ""


def _over(budget: Budget) -> bool:
    return budget.deadline_s is not None and perf_counter() > budget.deadline_s


def _precise(budget: Budget, call_s: float, valid_s: Sequence[float]) -> bool:
    few = PRECISE_FROM * call_s > budget.time_s
    if len(valid_s) < (PRECISE_FROM_LONG if few else PRECISE_FROM):
        return False
    from ..stats import relative_reach  # late: only rank 0 asks, and statistics is a large module

    return relative_reach(valid_s) <= budget.precision
