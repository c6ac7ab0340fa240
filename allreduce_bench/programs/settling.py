"""Selection of a candidate per shape by trials during the program's calls: budget, bands of times, halving.

The budget of trials (`Budget`, pure) is a share of the time of all-reduces so far, and a small initial allowance. All
its inputs are agreed on by all ranks, so that all get the same answers. A trial must also pay off locally: its cost is
compared with the time of the all-reduces of its own octave of lengths (`Octave`).
"""

import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from time import perf_counter
from typing import NamedTuple, Protocol

import numpy as np
from mpi4py import MPI

from ..schedule.algorithm import AlgorithmError
from .agreement import Shape
from .bound import Bound, Native
from .candidates import Candidate

# Of a communicator, of an octave, and of one candidate
SHARE, BEGIN_S = 0.02, 0.01  # of the time of all-reduces; initial allowance in seconds
SHARE_OF_OCTAVE = 0.1  # of the time that its octave took so far
PREPARED_S = 20e-3  # initial estimate of the time to prepare one candidate, with loading for the first of them
STALE_CALLS = 64  # calls of the octave without one of the length on trial: another may start a trial


class Budget:
    """The trial budget of one communicator: `share` of the time of its all-reduces, inf: unlimited."""

    def __init__(self, share: float = SHARE):
        self.share = share
        self.spent_s = 0.0
        self.untimed_s = 0.0  # of this rank's calls since the first one, not agreed on yet
        self._agreed_s = self._counted_s = 0.0
        self._prepared, self._preparing_s = 1, PREPARED_S

    @property
    def time_s(self) -> float:
        """Time of all all-reduces so far that all ranks know of."""
        return self._agreed_s + self._counted_s

    @property
    def preparing_s(self) -> float:
        """Mean time to prepare one candidate."""
        return self._preparing_s / self._prepared

    @property
    def is_endless(self) -> bool:
        """Whether trials are unlimited."""
        return self.share == inf

    def agree(self, untimed_s: float) -> None:
        """Set the time agreed on for calls that each rank timed alone: the minimum over ranks."""
        self._agreed_s = untimed_s

    def earn(self, time_s: float) -> None:
        """Add the time of calls that all ranks know."""
        self._counted_s += time_s

    def spend(self, time_s: float, prepared: int = 0, preparing_s: float = 0.0) -> None:
        """Charge a trial: its time beyond that of ordinary calls, and the number of candidates prepared in it."""
        self.spent_s += max(0.0, time_s)
        self._prepared, self._preparing_s = self._prepared + prepared, self._preparing_s + preparing_s

    def allows(self, cost_s: float) -> bool:
        """Return whether `cost_s` may be spent now."""
        return self.is_endless or self.spent_s + cost_s <= BEGIN_S + self.share * self.time_s


@dataclass
class Octave:
    """All-reduces of one type and operation whose lengths have the same highest bit.

    They share the choice, and the one trial that finds it.
    """

    choice: Candidate | None = None  # None: nothing is settled yet
    executors: tuple[str, ...] = ()  # those tried for it
    untimed_s: float = 0.0  # of this rank's calls since the first one, not agreed on yet
    agreed_s: float = 0.0  # the same, as all ranks know
    counted_s: float = 0.0  # of calls whose time all ranks know
    calls: int = 0
    _trying: Hashable = None
    _tried_at: int = 0

    def can_pay(self, cost_s: float) -> bool:
        """Return whether the cost of a trial is small relative to the time of these lengths so far."""
        return cost_s <= SHARE_OF_OCTAVE * (self.agreed_s + self.counted_s)

    def may_try(self, who: Hashable) -> bool:
        """Return whether this length may be on trial: one at a time."""
        return self._trying in (None, who) or self.calls > self._tried_at + STALE_CALLS

    def tries(self, who: Hashable) -> None:
        """Record a call of the length on trial."""
        self._trying, self._tried_at = who, self.calls

    def settle(self, choice: Candidate, executors: tuple[str, ...]) -> None:
        """End the trial with `choice`."""
        self.choice, self.executors, self._trying = choice, executors, None


# The state of one shape: the first candidate runs until the budget allows trials, then the settled choice.
#
# A length that recurs is reviewed now and then: is it worth a trial (`Trial`), or has another length of its octave
# settled already? A settled choice is tried anew when its times leave their band (`Band`). Every decision rests on
# values that all ranks know. `Band` and `Trial` are pure: times in, decisions out.


# Band
# Window in calls, for calls shorter than so many seconds: timing costs them 1 %
WINDOWS = ((1e-5, 1024), (1e-4, 256), (1e-3, 64))
TIMED_CALLS = 16  # timed calls of a window: the last ones; of longer calls all
# Half width of the band relative to the median, at least and at most; twice the time is always outside
BAND_FACTOR, MOST_BAND_FACTOR = 1.5, 1.8
PATIENCE, MOST_PATIENCE = 2, 16  # consecutive windows outside of it

# Trial: limits and thresholds of elimination
LONG_S = 1e-3  # calls from this time on are long
LAST_CANDIDATES = 2  # candidates in the last round
CLEARLY_SLOWER, CLEARLY_SLOWER_AT_FIRST = (
    2.0,
    4.0,
)  # times the best: whoever takes longer is no longer tried; two times may be luck
LONG_SLOWER, LONG_SLOWER_AT_FIRST = 1.3, 1.6  # likewise of long calls, whose times vary less
TIE_SHARE = 0.02  # relative: among those so close, the one named first wins
EXPECTED_UNTRIED = 2.0  # times the best: expected of an untried candidate

# Reviews of a shape
IN_VAIN = 1.1  # times the new choice: a trial in vain if the former one is as close as this
FIRST_LOOK, FIRST_LOOK_LONG, FIRST_LOOK_LONG_NBYTES = 8, 4, 2**20  # calls of a length, and of one of so many bytes
MOST_BETWEEN = 1024  # calls between two looks
FOR_EVER = sys.maxsize  # calls


class Band:
    """The band of times of one choice whose calls take about `call_s`; its first window sets the limits.

    A rank's own time includes waiting for later ranks. The last one to come waits for nobody: the minimum over ranks of
    the times of one call is free of that, and needs exchanging only once a window. Of a window of short calls only the
    last ones are timed: reading a clock would cost too much.

    `patience`: the choice is tried anew after so many windows outside of the band.
    """

    def __init__(self, call_s: float, patience: int = PATIENCE):
        self.window = next((calls for limit_s, calls in WINDOWS if call_s < limit_s), TIMED_CALLS)
        self.untimed = self.window - TIMED_CALLS  # calls at the beginning of a window
        self.patience = patience
        self.typical_s = call_s  # of the last window
        self.limits_s: tuple[float, float] | None = None  # seconds; None: the first window is not over
        self._taken: list[float] = []
        self._outside = 0  # windows in a row

    @property
    def most_calls(self) -> int:
        """Most calls until a change is noticed: the window in which it happens may hide it."""
        return (self.patience + 1) * self.window

    def take(self, time_s: float) -> np.ndarray | None:
        """Record the time of a timed call on this rank, seconds; at the end of a window return its times [call]."""
        self._taken.append(time_s)
        if len(self._taken) < TIMED_CALLS:
            return None
        times, self._taken = np.array(self._taken), []
        return times

    def is_left(self, times: np.ndarray) -> bool:
        """Return whether to try the choice anew, given the minima over ranks of a window's times, seconds [call]."""
        ordered = sorted(times.tolist())  # quicker than numpy for so few
        low, typical, high = (ordered[len(ordered) * quarter // 4] for quarter in (1, 2, 3))
        self.typical_s = typical
        if self.limits_s is None:
            spread = high / low if low > 0 else 1.0
            factor = min(max(BAND_FACTOR, spread**2), MOST_BAND_FACTOR)
            self.limits_s = typical / factor, typical * factor
            return False
        is_inside = self.limits_s[0] <= typical <= self.limits_s[1]
        self._outside = 0 if is_inside else self._outside + 1
        return self._outside >= self.patience


class Round(NamedTuple):
    """The calls of each remaining candidate in a round."""

    calls: int  # consecutive, of one turn
    turns: int = 1

    @property
    def both(self) -> int:
        """Calls of a candidate in the round."""
        return self.calls * self.turns


SHORT_ROUNDS = (
    Round(3),
    Round(4, 2),
    Round(4, 4),
    Round(4, 8),
)  # times of short calls vary more; more of them cost little
LONG_ROUNDS = (Round(1), Round(1, 4), Round(1, 6), Round(1, 12))


def most_calls(candidates: int, rounds: Iterable[Round] = SHORT_ROUNDS) -> int:
    """Return the maximum number of calls of a trial of so many candidates."""
    total = 0
    for number, one in enumerate(rounds if candidates > 1 else ()):
        total += one.both * candidates
        candidates = _half(candidates) if number else candidates
    return total


def _half(candidates: int) -> int:
    return max(LAST_CANDIDATES, ceil(candidates / 2))


class Trial:
    """A trial of candidates 0, 1, … by successive halving; the same on all ranks, if all pass the same times to
    `decide`.

    The candidates take turns, so that a change in the meantime affects all of them. The first round drops those that
    took four times as long as the best; each later one the worse half, too (Jamieson and Talwalkar, AISTATS 2016, for
    the halving; the numbers of calls are ours). In a turn of several calls the first one is not counted: it opens
    connections, and runs with the caches of another candidate.

    Times of short calls are exchanged once a round. Those of long ones are exchanged at each call: a clearly slower
    candidate is dropped after the call that shows it.

    `guesses_s` are times known without a trial, candidate -> seconds; they only predict the cost of a turn.
    """

    def __init__(self, candidates: int, is_long: bool = False, guesses_s: Mapping[int, float] | None = None):
        self.left = list(range(candidates))
        self.calls = 0  # so far, in all rounds
        self._rounds, self._number, self._is_long = LONG_ROUNDS if is_long else SHORT_ROUNDS, 0, is_long
        self._guesses_s = dict(guesses_s or {})
        self._times: list[list[float]] = [[] for _ in range(candidates)]  # counted ones
        self._turns = self._turns_of_round()  # candidates of the remaining turns
        self._taken: list[tuple[int, float]] = []  # candidate, seconds; not exchanged yet

    @property
    def winner(self) -> int | None:
        """The winning candidate; None: not known yet."""
        return self.left[0] if len(self.left) == 1 else None

    @property
    def turn(self) -> int:
        """The candidate of the next call."""
        return self._turns[len(self._taken) // self._calls_of_turn if not self._is_long else 0]

    @property
    def is_between(self) -> bool:
        """Whether all times are exchanged, so that the next call begins a new exchange."""
        return not self._taken

    @property
    def best(self) -> int:
        """The fastest so far among the remaining candidates."""
        return min(self.left, key=self.typical_s)

    @property
    def coming(self) -> list[int]:
        """The candidates of the calls until the next exchange of times."""
        return self._turns[: 1 if self._is_long else None]

    @property
    def loss_s(self) -> float:
        """Expected time of these calls beyond that of the best; 0 if no time is known at all."""
        best_s = self.typical_s(self.best)
        if best_s == inf:
            return 0.0
        expected = (min(self.typical_s(one), EXPECTED_UNTRIED * best_s) if not self._times[one] else self.typical_s(one)
                    for one in self.coming)  # fmt: skip
        return sum(max(0.0, time_s - best_s) for time_s in expected) * self._calls_of_turn

    def take(self, time_s: float) -> np.ndarray | None:
        """Record the time of a call on this rank, seconds; return the times since the last exchange, if one is due."""
        self._taken.append((self.turn, time_s))
        self.calls += 1
        is_over = len(self._taken) == len(self.coming) * self._calls_of_turn
        return np.array([time_s for _, time_s in self._taken]) if is_over else None

    def decide(self, times: np.ndarray) -> None:
        """Drop candidates, given the times of the last calls over all ranks, seconds [call]."""
        for call, ((one, _), time_s) in enumerate(zip(self._taken, times.tolist())):
            if self._calls_of_turn == 1 or call % self._calls_of_turn:
                self._times[one].append(time_s)
        last, self._taken, self._turns = self._taken[-1][0], [], self._turns[len(self.coming) :]
        if self._is_long:
            clear = LONG_SLOWER if self._number else LONG_SLOWER_AT_FIRST
            if self.typical_s(last) > clear * self.typical_s(self.best):
                self.drop(last)
        if not self._turns and self.winner is None:
            self._end_round()

    def drop(self, candidate: int) -> None:
        """Drop a candidate."""
        self.left.remove(candidate)
        self._turns = [one for one in self._turns if one != candidate]
        if not self._turns and len(self.left) > 1:
            self._end_round()

    def typical_s(self, candidate: int) -> float:
        """Return the lower median of the counted times, robust to one disturbed call; inf if none is known."""
        times = sorted(self._times[candidate])
        return times[(len(times) - 1) // 2] if times else self._guesses_s.get(candidate, inf)

    @property
    def _calls_of_turn(self) -> int:
        return self._rounds[self._number].calls

    def _turns_of_round(self) -> list[int]:
        return self.left * self._rounds[self._number].turns

    def _end_round(self) -> None:
        ranked = sorted(self.left, key=self.typical_s)
        best_s = self.typical_s(ranked[0])
        clear = CLEARLY_SLOWER if self._number else CLEARLY_SLOWER_AT_FIRST
        if self._number:
            ranked = ranked[: _half(len(ranked))]
        self._number += 1
        if self._number == len(self._rounds):
            self.left = [min(one for one in ranked if self.typical_s(one) <= best_s * (1 + TIE_SHARE))]
            return
        self.left = sorted(one for one in ranked if self.typical_s(one) <= clear * best_s)
        self._turns = self._turns_of_round()


class Home(Protocol):
    """The communicator-wide state shared by its shapes; all of it is called on all ranks together."""

    budget: Budget

    @property
    def around(self) -> MPI.Comm:
        """The program's communicator."""

    @property
    def executors(self) -> tuple[str, ...]:
        """Executors to try: more of them once the budget allows the compiler."""

    def octave_of(self, shape: Shape) -> Octave:
        """Return the state shared by the lengths of the octave."""

    def meets(self, shape: Shape) -> bool:
        """Compare `shape` over all ranks; return whether anything can be prepared. Raises ValueError, NotTogether."""

    def candidates_of(self, shape: Shape) -> list[Candidate]:
        """Return the candidates worth a trial; the most promising first."""

    def bind(self, shape: Shape, candidate: Candidate, needs_bits: bool) -> Bound | Native:
        """Return a candidate ready to run. Raises AlgorithmError."""

    def load_compiler(self) -> None:
        """Load the compiler, once the budget allows it."""


class Settling:
    """The calls of one shape, on all ranks; `first` runs until more is known.

    `is_fixed`: nothing else is ever tried.
    """

    def __init__(self, home: Home, shape: Shape, first: "Bound | Native", is_fixed: bool = False):
        self.trial_calls = 0
        self._home, self.shape, self._octave = home, shape, home.octave_of(shape)
        self._chosen, self._run = first, first.run
        self._untimed = FOR_EVER if is_fixed else 0  # calls until the next timed one
        self._is_settled = is_fixed
        self._calls, self._own_s = 0, 0.0  # until it is prepared
        self._next_look = FIRST_LOOK if shape.size_bytes < FIRST_LOOK_LONG_NBYTES else FIRST_LOOK_LONG
        if home.budget.is_endless:
            self._next_look = 1
        self._trial: Trial | None = None
        self._candidates: list[Candidate] = []  # on trial
        self._former = 0  # index of the one that ran before the trial
        self._bound: dict[int, Bound | Native] = {}  # prepared ones, by index
        self._executors: tuple[str, ...] = ()  # those tried
        self._band: Band | None = None
        self._patience = PATIENCE

    @property
    def settled(self) -> Candidate | None:
        """The settled choice; None: not known yet."""
        return self._chosen.candidate if self._is_settled else None

    @property
    def steps(self) -> int:
        """Steps of one rank in everything prepared; the same on all ranks."""
        return self._chosen.steps + sum(bound.steps for bound in self._bound.values())

    def call(self, send: np.ndarray, recv: np.ndarray) -> None:
        """All-reduce once, on all ranks; in place, `send` is `recv`."""
        if self._untimed > 0:
            self._untimed -= 1
            self._run(send, recv)
        elif self._trial is not None:
            self._call_on_trial(self._trial, send, recv)
        elif self._band is None:
            self._call_unknown(send, recv)
        else:
            begun = perf_counter()
            self._run(send, recv)
            if (times := self._band.take(perf_counter() - begun)) is not None:
                self._look_at_band(self._band, times)

    def begin_trial(self, candidates: Sequence[Candidate], is_long: bool, guess_s: float | None = None) -> None:
        """Begin a trial at the next call; `guess_s` is the time of a call of the present choice, if known."""
        self._candidates, self._executors = list(candidates), self._home.executors
        if self._chosen.candidate not in self._candidates:
            self._candidates.append(self._chosen.candidate)
        self._former = chosen = self._candidates.index(self._chosen.candidate)
        self._bound = {chosen: self._chosen}
        self._trial = Trial(len(self._candidates), is_long, {chosen: guess_s} if guess_s else {})
        self._untimed, self._is_settled = 0, False
        if self._trial.winner is not None:
            self._settle(self._trial, self._trial.winner)

    def close(self) -> None:
        """Free what MPI holds for the candidates."""
        self._chosen.close()
        for bound in self._bound.values():
            bound.close()

    def _call_unknown(self, send: np.ndarray, recv: np.ndarray) -> None:
        """Call while nothing is settled; only this rank knows the time until the next review."""
        begun = perf_counter()
        self._run(send, recv)
        time_s = perf_counter() - begun
        self._own_s += time_s
        self._octave.untimed_s += time_s
        self._home.budget.untimed_s += time_s
        self._octave.calls += 1
        self._calls += 1
        if self._calls >= self._next_look:
            self._look()

    def _look(self) -> None:
        """Begin a trial if it pays, by the minimum times over all ranks, which hold no waiting for others."""
        budget, octave = self._home.budget, self._octave
        self._next_look += min(max(FIRST_LOOK_LONG, self._calls // 2), MOST_BETWEEN)
        times = np.array([self._own_s / self._calls, octave.untimed_s, budget.untimed_s])
        self._home.around.Allreduce(MPI.IN_PLACE, times, MPI.MIN)
        typical_s, octave.agreed_s, untimed_s = times.tolist()
        budget.agree(untimed_s)
        if octave.choice is not None:
            self._take_over(octave.choice, typical_s)
        elif self._may_spend(2 * budget.preparing_s) and octave.may_try(self.shape) and self._home.meets(self.shape):
            begun = perf_counter()
            candidates = self._home.candidates_of(self.shape)
            self._spend(perf_counter() - begun)
            self.begin_trial(candidates, typical_s >= LONG_S, typical_s)

    def _take_over(self, choice: Candidate, typical_s: float) -> None:
        """Adopt the choice that another length of the octave has settled on."""
        if choice.executor != self._chosen.candidate.executor or choice.algorithm != self._chosen.candidate.algorithm:
            if not self._may_spend(self._home.budget.preparing_s) or not self._home.meets(self.shape):
                return
            alike = [one for one in self._home.candidates_of(self.shape) if one[:2] == choice[:2]]
            begun = perf_counter()
            try:
                self._take(self._home.bind(self.shape, (alike or [choice])[0], True))
            except AlgorithmError:  # it does not fit this length: keep the present one
                self._octave.choice = None
            self._spend(perf_counter() - begun, 1)
        self._hold(typical_s)

    def _may_spend(self, cost_s: float) -> bool:
        budget = self._home.budget
        return budget.is_endless or (self._octave.can_pay(cost_s) and budget.allows(cost_s))

    def _spend(self, time_s: float, prepared: int = 0) -> None:
        """Charge the budget with the maximum time over all ranks."""
        longest = np.array([time_s])
        self._home.around.Allreduce(MPI.IN_PLACE, longest, MPI.MAX)
        self._home.budget.spend(longest[0], prepared, longest[0] if prepared else 0.0)

    def _call_on_trial(self, trial: Trial, send: np.ndarray, recv: np.ndarray) -> None:
        """Time a call after a barrier, which excludes the lateness of others; the slowest rank's time counts."""
        self._octave.calls += 1
        if trial.is_between and not self._goes_on(trial):
            self._run(send, recv)
            return
        if trial.winner is not None:
            self._run(send, recv)
            return
        self._octave.tries(self.shape)
        self._home.around.Barrier()
        begun = perf_counter()
        self._bound[trial.turn].run(send, recv)
        times = trial.take(perf_counter() - begun)
        self.trial_calls += 1
        if times is None:
            return
        self._home.around.Allreduce(MPI.IN_PLACE, times, MPI.MAX)
        trial.decide(times)
        best_s = trial.typical_s(trial.best)
        self._home.budget.earn(best_s * len(times))
        self._octave.counted_s += best_s * len(times)
        self._home.budget.spend(float(np.maximum(times - best_s, 0).sum()))
        for number in [number for number in self._bound if number not in trial.left]:
            bound = self._bound.pop(number)
            if bound is not self._chosen:
                bound.close()
        if trial.winner is not None:
            self._settle(trial, trial.winner)
        elif trial.best in self._bound:
            self._take(self._bound[trial.best])

    def _goes_on(self, trial: Trial) -> bool:
        """Return whether the next calls belong to the trial, its candidates prepared;
        False if the budget forbids it.
        """
        coming = [one for one in dict.fromkeys(trial.coming) if one not in self._bound]
        budget, best_s = self._home.budget, trial.typical_s(trial.best)
        if best_s < inf and not self._may_spend(trial.loss_s + len(coming) * budget.preparing_s):
            budget.earn(best_s)
            self._octave.counted_s += best_s
            return False
        if coming:
            self._prepare(trial)
        if trial.winner is not None:
            self._settle(trial, trial.winner)
        return True

    def _prepare(self, trial: Trial) -> None:
        """Bind the candidates of the next calls; drop those that fail, or duplicate another one's steps."""
        begun, prepared = perf_counter(), 0
        while trial.winner is None and (coming := [one for one in trial.coming if one not in self._bound]):
            prepared += 1
            try:
                bound = self._home.bind(self.shape, self._candidates[coming[0]], True)
            except AlgorithmError:
                trial.drop(coming[0])
                continue
            if any(_what_runs(other) == _what_runs(bound) for other in self._bound.values()):
                trial.drop(coming[0])  # on two ranks several algorithms make the same steps
            else:
                self._bound[coming[0]] = bound
        self._spend(perf_counter() - begun, prepared)

    def _take(self, bound: "Bound | Native") -> None:
        if bound is not self._chosen:
            former, self._chosen, self._run = self._chosen, bound, bound.run
            if former not in self._bound.values():
                former.close()

    def _settle(self, trial: Trial, winner: int) -> None:
        typical_s = trial.typical_s(winner)
        was_left = self._band is not None
        is_vain = was_left and trial.typical_s(self._former) <= IN_VAIN * typical_s
        self._patience = min(2 * self._patience, MOST_PATIENCE) if is_vain else PATIENCE
        self._take(self._bound[winner])
        for bound in self._bound.values():
            if bound is not self._chosen:
                bound.close()
        self._bound, self._trial = {}, None
        self._octave.settle(self._chosen.candidate, self._executors)
        self._hold(typical_s)

    def _hold(self, typical_s: float) -> None:
        """Settle on the present choice: from now on only the band is watched."""
        self._run, self._is_settled = self._chosen.run, True
        self._executors = self._octave.executors or self._executors
        self._band = Band(typical_s, self._patience)
        self._untimed = self._band.untimed

    def _look_at_band(self, band: Band, times: np.ndarray) -> None:
        """Check the band at the end of a window, by the minimum of each call over ranks: the time of the last to
        come.
        """
        self._home.around.Allreduce(MPI.IN_PLACE, times, MPI.MIN)
        is_left, budget = band.is_left(times), self._home.budget
        budget.earn(band.typical_s * band.window)
        self._octave.counted_s += band.typical_s * band.window
        self._octave.calls += band.window
        self._home.load_compiler()
        is_outdated = self._executors != self._home.executors and self._may_spend(2 * budget.preparing_s)
        if (is_left or is_outdated) and self._octave.may_try(self.shape) and self._home.meets(self.shape):
            self.begin_trial(self._home.candidates_of(self.shape), band.typical_s >= LONG_S, band.typical_s)
        else:
            self._untimed = band.untimed


def _what_runs(bound: "Bound | Native") -> tuple:
    """Return a key that is equal for candidates that run the same steps."""
    candidate = bound.candidate
    return candidate.executor, candidate.window, bound.digest or candidate.algorithm
