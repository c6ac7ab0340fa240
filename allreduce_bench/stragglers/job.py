"""The steps of a job that can be compared, and what is counted in them."""

from typing import NamedTuple

import numpy as np

from ..robust import median
from .arrivals import Arrivals, Waits, waits
from .binomial import chance_of_at_least
from .dependence import correlation_time_of_events
from .slow_units import FEWEST_STEPS

EVERY = slice(None)


class Job(NamedTuple):
    """Arrivals of the steps whose duration and at least two ranks are known."""

    ready_s: np.ndarray  # float64 [step, rank]; NaN throughout a step that is not used
    used: np.ndarray  # bool [step]
    node_of: tuple[int, ...]
    clock_error_s: float
    step_s: np.ndarray  # float64 [step]; 0 of a step that is not used
    all_s: float  # of all used steps together; NaN: there is none
    typical_s: float  # median step
    undisturbed_s: float  # median of the step without its wait for what comes later than the median rank (or the other)
    waiting: Waits

    @property
    def ranks(self) -> int:
        """Those of the job, known or not."""
        return self.ready_s.shape[1]

    @property
    def steps(self) -> int:
        """Those that are used."""
        return int(self.used.sum())

    @property
    def is_too_small(self) -> bool:
        """Whether nobody can be compared with anybody."""
        return self.ranks < 2 or self.steps < FEWEST_STEPS

    @property
    def last_count(self) -> np.ndarray:
        """int64 [rank]: in how many steps it arrived last, alone."""
        return np.bincount(self.waiting.last[self.waiting.last >= 0], minlength=self.ranks)

    @property
    def caused_s(self) -> np.ndarray:
        """float64 [rank]: the wait that it caused as the last one, over all steps."""
        is_someone = self.waiting.last >= 0
        return np.bincount(self.waiting.last[is_someone], self.waiting.caused_s[is_someone], minlength=self.ranks)

    def waiting_share(self, steps: slice | np.ndarray = EVERY) -> float:
        """Mean over `steps`, and over the ranks of a step but the last, of the wait; share of the steps' time."""
        others = np.maximum((~np.isnan(self.ready_s[steps])).sum(axis=1) - 1, 1)
        waited_s = float((self.waiting.suffered_s[steps].sum(axis=1) / others).sum())
        return waited_s / float(self.step_s[steps].sum()) if self.used[steps].any() else np.nan

    @property
    def last_alike_steps(self) -> float:
        """So many steps say as much as an independent one of who is last: often who was it in the step before."""
        return correlation_time_of_events(self.waiting.last[self.used, None] == np.arange(self.ranks))

    def p_values(self) -> np.ndarray:
        """float64 [rank]: that chance alone makes it last so often; NaN: never known.

        With as many trials as the steps are worth independent ones.
        """
        known = ~np.isnan(self.ready_s)
        chances = known / np.maximum(known.sum(axis=1, keepdims=True), 1)
        trials, counts, alike = known.sum(axis=0), self.last_count, self.last_alike_steps
        p_values = np.full(self.ranks, np.nan)
        for number in np.unique(trials[trials > 0]).tolist():
            same = trials == number
            chance = float(chances[:, same].sum()) / (number * int(same.sum()))
            p_values[same] = chance_of_at_least(*worth(counts[same], number, alike), chance)
        return p_values


def worth(counts: np.ndarray, trials: int, alike_steps: float) -> tuple[np.ndarray, int]:
    """Counts and trials of which so many steps are worth one, in whole numbers that do not exaggerate."""
    independent = max(1, round(trials / alike_steps))
    return np.minimum((np.asarray(counts) / alike_steps).astype(int), independent), independent


def undisturbed(step_s: np.ndarray, ready_s: np.ndarray) -> float:
    """Median of the steps without their wait for what comes later than the median rank, or the other of two; seconds.

    `step_s`: float64 [step], above 0; `ready_s`: float64 [step, rank]. Below 0 where steps do not hold their own
    ready times.
    """
    others_s = np.fmin.reduce if ready_s.shape[1] == 2 else median  # of two ranks the other one is the reference
    return float(np.median(step_s - (np.fmax.reduce(ready_s, axis=1) - others_s(ready_s, axis=1))))


def job_of(arrivals: Arrivals) -> Job:
    """Raises ValueError where the shapes of the arrivals do not fit."""
    ready_s, step_s = np.array(arrivals.ready_s, dtype=float), np.array(arrivals.step_s, dtype=float)
    if ready_s.shape != (len(step_s), len(arrivals.node_of)):
        raise ValueError(
            f"ready times {ready_s.shape} are not [step, rank] of {len(step_s)} steps and {len(arrivals.node_of)} ranks"
        )
    ready_s[~np.isfinite(ready_s)] = np.nan
    used = np.isfinite(step_s) & (step_s > 0) & ((~np.isnan(ready_s)).sum(axis=1) >= 2)
    ready_s[~used], step_s[~used] = np.nan, 0.0
    typical_s = undisturbed_s = all_s = np.nan
    if used.any():
        all_s, typical_s = float(step_s.sum()), float(np.median(step_s[used]))
        undisturbed_s = undisturbed(step_s[used], ready_s[used])
        if undisturbed_s <= 0:
            undisturbed_s = typical_s
    waiting = waits(ready_s)
    return Job(
        ready_s, used, arrivals.node_of, arrivals.clock_error_s, step_s, all_s, typical_s, undisturbed_s, waiting
    )
