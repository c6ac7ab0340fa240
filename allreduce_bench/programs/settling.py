"""Which candidate the calls of a shape run: the first one, then those of a trial in turn, then the fastest for good.

Lengths of one type and operation whose bytes have the same highest bit form a size class and share one choice. A class
is tried once preparing its candidates costs less than SHARE of the time that its calls took so far. Every decision
rests on numbers that all ranks have: counts of calls, and times after an all-reduce. `Trial` is pure.
"""

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from mpi4py import MPI

from ..schedule.algorithm import AlgorithmError
from .agreement import Shape
from .bound import Bound, Native
from .candidates import Candidate

if TYPE_CHECKING:
    from .prepared import PreparedAllreduces

# Before a trial
SHARE = 0.02  # of the time of the calls of a size class: what preparing may cost
PREPARED_S, PREPARED = 5e-3, 3  # first estimate of the time to prepare a candidate; candidates of a trial beside native
FIRST_LOOK, MOST_BETWEEN = 4, 1024  # calls of a length before the first look at its class, and between two looks
MOST_UNTIMED = 127  # calls between two that are timed; after the first look as many as there were before
STALE_CALLS = 64  # calls of the class without one of the length on trial: another length may take its place

# Trial
MOST_CALLS = 30
SLOWER_AT_FIRST, SLOWER = 4.0, 1.5  # times the best: candidates that take longer are dropped
LEAD = 1.05  # times: candidates that are not further apart are equal, and the one named first wins


@dataclass
class Preparing:
    """What it took so far to prepare candidates on a communicator; the same on all ranks."""

    candidates: int = 1
    time_s: float = PREPARED_S

    @property
    def mean_s(self) -> float:
        """Seconds for one candidate."""
        return self.time_s / self.candidates


@dataclass
class SizeClass:
    """What the lengths of a size class share; the same on all ranks, but for `time_s`."""

    choice: Candidate | None = None  # None: not tried yet
    time_s: float = 0.0  # of this rank's calls before the choice, by those that were timed
    spent_s: float = 0.0  # for preparing
    calls: int = 0  # before the choice
    on_trial: Hashable = None  # the shape on trial
    tried_at: int = 0  # number of its last call

    def may_try(self, shape: Hashable) -> bool:
        """Return whether this shape may be on trial: one at a time."""
        return self.on_trial in (None, shape) or self.calls > self.tried_at + STALE_CALLS


class Trial:
    """A trial of candidates 0, 1, … in rounds of one call each, at most MOST_CALLS calls in all.

    All ranks pass the same times to `decide`. The first round opens connections and is not counted. It and the second
    drop only what takes SLOWER_AT_FIRST times as long as the best; later ones, by lower medians, SLOWER times.
    """

    def __init__(self, candidates: int):
        self.left = list(range(candidates))
        self.winner: int | None = 0 if candidates == 1 else None
        self._calls, self._rounds, self._taken = 0, 0, list[float]()
        self._times: list[list[float]] = [[] for _ in range(candidates)]

    @property
    def turn(self) -> int:
        """The candidate of the next call."""
        return self.left[len(self._taken)]

    def take(self, time_s: float) -> np.ndarray | None:
        """Record the time of a call on this rank, seconds; return those of the round at its end."""
        self._taken.append(time_s)
        if len(self._taken) < len(self.left):
            return None
        times, self._taken = np.array(self._taken), []
        return times

    def decide(self, times: np.ndarray) -> None:
        """Drop candidates, given the times of a round over all ranks, seconds; name the winner after the last round."""
        self._calls += len(times)
        if self._rounds == 1:
            self._times = [[] for _ in self._times]  # the first round is not counted
        for one, time_s in zip(self.left, times.tolist()):
            self._times[one].append(time_s)
        limit_s = (SLOWER if self._rounds > 1 else SLOWER_AT_FIRST) * min(map(self.typical_s, self.left))
        self.left = [one for one in self.left if self.typical_s(one) <= limit_s]
        self._rounds += 1
        is_over = self._rounds > 1 and self._calls + len(self.left) > MOST_CALLS
        if is_over or len(self.left) == 1:
            best_s = min(map(self.typical_s, self.left))
            self.winner = next(one for one in self.left if self.typical_s(one) <= LEAD * best_s)

    def typical_s(self, candidate: int) -> float:
        """Return the lower median of the times of a candidate: one disturbed call does not change it."""
        times = sorted(self._times[candidate])
        return times[(len(times) - 1) // 2]


class Settling:
    """The calls of one shape, on all ranks."""

    def __init__(self, home: "PreparedAllreduces", shape: Shape, first: "Bound | Native", is_settled: bool = False):
        """Run `first` until more is known; `is_settled`: nothing else is ever tried.

        `home` is what the shapes of a communicator share; all ranks call its methods together.
        """
        self.shape, self.trial_calls = shape, 0
        self._home, self._class, self._bound = home, home.size_class_of(shape), first
        self._is_settled = is_settled or (first.candidate.is_native and self._class.choice == first.candidate)
        self.untimed = inf if self._is_settled and first.candidate.is_native else 0.0  # native calls, to be left alone
        self._calls, self._weight, self._next_look = 0, 1, 1 if home.share == inf else FIRST_LOOK
        self._trial: Trial | None = None
        self._tried: list[Bound | Native] = []

    @property
    def candidate(self) -> Candidate:
        """What the calls run, those of a trial aside."""
        return self._bound.candidate

    @property
    def settled(self) -> Candidate | None:
        """The settled choice; None: not known yet."""
        return self.candidate if self._is_settled else None

    @property
    def steps(self) -> int:
        """Steps of one rank in everything prepared; the same on all ranks."""
        return self._bound.steps + sum(one.steps for one in self._tried if one is not self._bound)

    def call(self, send: np.ndarray, recv: np.ndarray) -> None:
        """All-reduce once, on all ranks; in place, `send` is `recv`."""
        if self._is_settled:
            self._bound.run(send, recv)
        elif self._trial is not None and self._class.on_trial == self.shape:
            self._call_on_trial(self._trial, send, recv)
        elif self.untimed:
            self.untimed -= 1
            self._bound.run(send, recv)
        else:
            begun = perf_counter()
            self._bound.run(send, recv)
            self._count(perf_counter() - begun)

    def close(self) -> None:
        """Free what MPI holds for the candidates."""
        for one in {id(one): one for one in (self._bound, *self._tried)}.values():
            one.close()

    def _count(self, time_s: float) -> None:
        """Count a timed call and those before it that were not; only this rank knows their time until the next look."""
        self._calls += self._weight
        self._class.calls += self._weight
        self._class.time_s += self._weight * time_s
        untimed = min(self._calls, MOST_UNTIMED) if self._calls >= FIRST_LOOK and self.candidate.is_native else 0
        self.untimed, self._weight = untimed, untimed + 1
        if self._calls >= self._next_look:
            self._next_look += min(self._calls, MOST_BETWEEN)
            self._look()

    def _look(self) -> None:
        """Adopt the choice of the class, or begin its trial, if that pays by the times that all ranks know."""
        home, its = self._home, self._class
        self._drop_tried()  # another length took the place of this one
        if its.choice == self._bound.candidate:
            self._settle(self._bound)
            return
        time_s = np.array([its.time_s])
        home.around.Allreduce(MPI.IN_PLACE, time_s, MPI.MIN)  # the last rank to come waits for nobody
        cost_s = home.preparing.mean_s * (PREPARED if its.choice is None else 1)
        if home.share != inf and its.spent_s + cost_s > home.share * time_s[0]:
            return
        if its.choice is not None:
            if home.meets(self.shape):
                self._adopt(its.choice)
        elif its.may_try(self.shape) and home.meets(self.shape):
            self._begin_trial()

    def _adopt(self, choice: Candidate) -> None:
        """Settle on the choice of another length of the class; on the present candidate where it does not fit."""
        begun, bound = perf_counter(), self._bound
        alike = [one for one in self._home.candidates_of(self.shape) if one[:2] == choice[:2]]
        with suppress(AlgorithmError):
            bound = self._home.bind(self.shape, (alike or [choice])[0], True)
        self._charge(perf_counter() - begun, 1)
        self._settle(bound)

    def _begin_trial(self) -> None:
        """Prepare all candidates but those that fail, or make the steps of another one."""
        begun, self._tried, prepared = perf_counter(), [self._bound], 0
        for candidate in self._home.candidates_of(self.shape):
            if candidate == self._bound.candidate:
                continue
            prepared += 1
            try:
                bound = self._home.bind(self.shape, candidate, True)
            except AlgorithmError:
                continue
            if any(_steps_key(bound) == _steps_key(other) for other in self._tried):
                bound.close()  # on two ranks several algorithms make the same steps
            else:
                self._tried.append(bound)
        self._charge(perf_counter() - begun, prepared)
        self._trial, self._class.on_trial, self._class.tried_at = Trial(len(self._tried)), self.shape, self._class.calls
        self.untimed = 0
        if self._trial.winner is not None:
            self._settle(self._bound)

    def _charge(self, time_s: float, candidates: int) -> None:
        """Charge the class with the time of the slowest rank."""
        longest = np.array([time_s])
        self._home.around.Allreduce(MPI.IN_PLACE, longest, MPI.MAX)
        self._class.spent_s += longest[0]
        self._home.preparing.time_s += longest[0]
        self._home.preparing.candidates += candidates

    def _call_on_trial(self, trial: Trial, send: np.ndarray, recv: np.ndarray) -> None:
        """Time a call after a barrier, which excludes the lateness of others; the slowest rank's time counts."""
        self._class.calls += 1
        self._class.tried_at = self._class.calls
        self.trial_calls += 1
        self._home.around.Barrier()
        begun = perf_counter()
        self._tried[trial.turn].run(send, recv)
        times = trial.take(perf_counter() - begun)
        if times is None:
            return
        self._home.around.Allreduce(MPI.IN_PLACE, times, MPI.MAX)
        trial.decide(times)
        if trial.winner is not None:
            self._settle(self._tried[trial.winner])

    def _settle(self, bound: "Bound | Native") -> None:
        former, self._bound, self._is_settled = self._bound, bound, True
        self.untimed = inf if bound.candidate.is_native else 0.0
        if self._class.choice is None:
            self._class.choice = bound.candidate
        if former is not bound:
            former.close()
        self._drop_tried()

    def _drop_tried(self) -> None:
        for one in self._tried:
            if one is not self._bound:
                one.close()
        self._tried, self._trial = [], None
        if self._class.on_trial == self.shape:
            self._class.on_trial = None


def _steps_key(bound: "Bound | Native") -> tuple:
    """Return a key that is equal for candidates that run the same steps."""
    candidate = bound.candidate
    return candidate.executor, candidate.window, bound.digest or candidate.algorithm
