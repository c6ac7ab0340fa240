"""Stopping rule of a cell: its median is precise enough, or its time is used up. Pure functions, called on rank 0.

`context` decides whether a cell may begin.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..medians import relative_reach
from ..runs.plan import Cell, Plan

MIN_REPETITIONS, MAX_REPETITIONS = 6, 1000  # without --iters and --min-time; fewer calls have no interval
PRECISE_FROM, PRECISE_FROM_LONG = 20, 6  # least valid calls for an interval; the second for calls too long for so many
TRIED = 7  # calls after which a start at which no call was on time is given up
SINGLE = 5  # calls one by one before batches grow, so that each may be checked
BATCH_S = 0.5  # longest batch: signals and the time left are checked between batches
MOST_OF_A_BATCH = 10_000  # calls
FLOOR_SHARE = 0.1  # weight of a floor, relative to an all-reduce


class Budget(NamedTuple):
    """Limits of a cell."""

    warmups: int
    iterations: int | None  # exact number; None: until `precision` or `time_s`, 6 to 1000
    time_s: float
    min_time_s: float = 0.0  # regardless of the number of calls
    deadline_s: float | None = None  # reading of `now_s`; None: none
    precision: float = 0.0  # sufficient ratio of half the 95 % interval of the median to the median
    short: bool = False  # `time_s` is the share that --within left


class Sample(NamedTuple):
    """Calls of a cell since its warm-ups, or since its fallback to a barrier."""

    calls: int
    spent_s: float
    valid_s: Sequence[float]  # times of the valid calls, in order
    late: int = 0  # consecutive last calls with a late rank
    by_barrier: bool = False  # the last one began after a barrier, for which nobody is late


class Ahead(NamedTuple):
    """Next calls; 0 ends the cell, and `stopped` says why."""

    calls: int
    stopped: str = ""
    fall_back: bool = False  # use a barrier from now on
    check: bool = False  # check the last call first


def share(plan: Plan, cell: Cell, cells_left: int, left_s: float | None, now_s: float) -> Budget:
    """Return the budget of a cell: an equal share of `left_s` seconds (None: no limit) among `cells_left` cells.

    At most the plan's time for a cell; a tenth of it for a floor. `now_s` is the current clock reading.
    """
    weight = FLOOR_SHARE if cell.competitor.is_reference else 1.0
    cell_time_s, min_time_s = weight * plan.cell_time_s, weight * plan.min_time_s
    if left_s is None:
        return Budget(plan.warmups, plan.iters, cell_time_s, min_time_s, None, plan.precision)
    share_s = weight * left_s / max(1, cells_left)
    time_s, short = min(cell_time_s, share_s), share_s < cell_time_s
    return Budget(plan.warmups, plan.iters, time_s, min_time_s, now_s + left_s, plan.precision, short)


def warmups_ahead(budget: Budget, done: int, start_s: float, now_s: float) -> int:
    """Return the next warm-ups after `done` >= 1 since `start_s`; 0 if the time of the launch is used up."""
    return 0 if _out_of_time(budget, now_s) else min(budget.warmups - done, _calls_of_a_batch((now_s - start_s) / done))


def ahead(budget: Budget, sample: Sample, now_s: float) -> Ahead:
    """Return what follows `sample`: more calls, the end, or a fallback to a barrier if no call began on time."""
    batch = _next_batch(budget, sample, now_s)
    never_on_time = 0 < sample.calls <= sample.late and not sample.by_barrier
    if never_on_time and (sample.calls >= TRIED or not batch.calls):
        return Ahead(1, fall_back=True)
    return batch


def _next_batch(budget: Budget, sample: Sample, now_s: float) -> Ahead:
    """Return the next calls. Batches double after SINGLE calls, so that clock and interval are rarely computed."""
    if stopped := _reason_to_stop(budget, sample, now_s):
        return Ahead(0, stopped)
    done, spent_s = sample.calls, sample.spent_s
    if done < SINGLE:
        return Ahead(1)
    if budget.iterations is not None:
        return Ahead(min(budget.iterations - done, done, MAX_REPETITIONS, _calls_of_a_batch(spent_s / done)))
    call_s = spent_s / done
    affordable, needed = (int((time_s - spent_s) / call_s) for time_s in (budget.time_s, budget.min_time_s))
    wanted = min(max(affordable, MIN_REPETITIONS - done), MAX_REPETITIONS - done)
    most = min(done, _calls_of_a_batch(call_s))
    return Ahead(max(1, min(max(wanted, needed + (spent_s < budget.min_time_s)), most)))


def _calls_of_a_batch(call_s: float) -> int:
    return max(1, min(int(BATCH_S / call_s), MOST_OF_A_BATCH)) if call_s > 0 else MAX_REPETITIONS


def _reason_to_stop(budget: Budget, sample: Sample, now_s: float) -> str:
    """Return the value of the column `stopped`; empty: continue."""
    done, spent_s = sample.calls, sample.spent_s
    if done and _out_of_time(budget, now_s):
        return "within"
    if budget.iterations is not None:
        return "iterations" if done >= budget.iterations else ""
    if done < MIN_REPETITIONS or spent_s < budget.min_time_s:
        return ""
    if _precise(budget, spent_s / done, sample.valid_s):
        return "precision"
    if done >= MAX_REPETITIONS:
        return "calls"
    if spent_s + spent_s / done > budget.time_s:
        return "within" if budget.short else "time"
    return ""


def _out_of_time(budget: Budget, now_s: float) -> bool:
    return budget.deadline_s is not None and now_s > budget.deadline_s


def _precise(budget: Budget, call_s: float, valid_s: Sequence[float]) -> bool:
    long_calls = PRECISE_FROM * call_s > budget.time_s
    if len(valid_s) < (PRECISE_FROM_LONG if long_calls else PRECISE_FROM):
        return False
    return relative_reach(valid_s) <= budget.precision
