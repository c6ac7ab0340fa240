"""Arrivals: when each rank was ready for the collective call of each step, and the waiting that follows.

A step is work of each rank and then one collective call that nobody leaves before the last rank has entered. The time
inside the call says nothing about who is slow: it is shortest for the guilty rank. So only the ready times count,
stamped before any common start.
"""

from typing import NamedTuple

import numpy as np


class Arrivals(NamedTuple):
    """The arrivals at the steps of one job, of one or more ranks."""

    ready_s: np.ndarray  # float64 [step, rank]: when it was ready for the call, on a common clock; NaN: not known
    step_s: np.ndarray  # float64 [step]: from the common end of the step before to the step's own end; NaN: not known
    clock_error_s: float  # uncertainty of comparing ready times of two ranks
    node_of: tuple[int, ...]  # of each rank: the number of its node, from 0 in the order of their first ranks
    nodes: tuple[str, ...] = ()  # names of the nodes; empty: not known
    begin_s: np.ndarray | None = None  # float64 [step]: start of each step on the common clock; None: not known


class Waits(NamedTuple):
    """Who waited for whom; undefined for steps with fewer than two known ranks."""

    last: np.ndarray  # int64 [step]: who was ready last; -1: nobody, or several at once
    caused_s: (
        np.ndarray
    )  # float64 [step]: last minus second last: how much earlier all would have been without the last
    suffered_s: np.ndarray  # float64 [step, rank]: last minus own; 0 where it is not known
    skew_s: np.ndarray  # float64 [step]: last minus first; NaN where nothing is known


def waits(ready_s: np.ndarray) -> Waits:
    """Return the waits of `ready_s`: float64 [step, rank], seconds; NaN: not known."""
    known = ~np.isnan(ready_s)
    useful = known.sum(axis=1) >= 2
    latest = np.max(ready_s, axis=1, initial=-np.inf, where=known)
    first = np.min(ready_s, axis=1, initial=np.inf, where=known)
    is_last = ready_s == latest[:, None]
    alone = useful & (is_last.sum(axis=1) == 1)
    second = np.max(ready_s, axis=1, initial=-np.inf, where=known & ~is_last)
    with np.errstate(invalid="ignore"):  # steps without known ranks
        return Waits(
            np.where(alone, is_last.argmax(axis=1), -1),
            np.where(alone, latest - second, 0.0),
            np.where(known & useful[:, None], latest[:, None] - ready_s, 0.0),
            np.where(useful, latest - first, np.nan),
        )
