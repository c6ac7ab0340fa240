"""What trials may cost: a share of the time that all-reduces took so far, and a little to begin with. Pure.

Times come in that all ranks agree on, so that all ranks get the same answers. A trial has to pay where it takes place,
too: what it costs is held against the time of the all-reduces of its own octave of lengths (`Octave`).
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
SHARE, BEGIN_S = 0.02, 0.01  # of the time of all-reduces; and seconds without any
SHARE_OF_OCTAVE = 0.1  # of the time that its octave took so far
PREPARED_S = 20e-3  # to prepare one candidate, with what is loaded for the first of them, until it is known
STALE_CALLS = 64  # calls of the octave without one of the length that is on trial: another one may try


class Budget:
    """The account of one communicator; `share` of the time of its all-reduces may be spent, inf: without end."""

    def __init__(self, share: float = SHARE):
        self.share = share
        self.spent_s = 0.0
        self.untimed_s = 0.0  # of this rank's calls that are not agreed on yet, since the first one
        self._agreed_s = self._counted_s = 0.0
        self._prepared, self._preparing_s = 1, PREPARED_S

    @property
    def time_s(self) -> float:
        """The time of all all-reduces so far that all ranks know of."""
        return self._agreed_s + self._counted_s

    @property
    def preparing_s(self) -> float:
        """What it takes to prepare one candidate."""
        return self._preparing_s / self._prepared

    @property
    def is_endless(self) -> bool:
        """Whether trials may cost what they will."""
        return self.share == inf

    def agree(self, untimed_s: float) -> None:
        """Note that all ranks took at least so long for the calls whose times each noted for itself."""
        self._agreed_s = untimed_s

    def earn(self, time_s: float) -> None:
        """Calls were made that took so long, as all ranks know."""
        self._counted_s += time_s

    def spend(self, time_s: float, prepared: int = 0, preparing_s: float = 0.0) -> None:
        """A trial cost so much more than the calls would have taken; so many candidates were prepared in it."""
        self.spent_s += max(0.0, time_s)
        self._prepared, self._preparing_s = self._prepared + prepared, self._preparing_s + preparing_s

    def allows(self, cost_s: float) -> bool:
        """Return whether so much may be spent now."""
        return self.is_endless or self.spent_s + cost_s <= BEGIN_S + self.share * self.time_s


@dataclass
class Octave:
    """All-reduces of one type and operation whose lengths have the same highest bit.

    They share the choice, and the one trial that finds it.
    """

    choice: Candidate | None = None  # None: nobody has settled yet
    executors: tuple[str, ...] = ()  # among which it was found
    untimed_s: float = 0.0  # of this rank's calls that are not agreed on yet, since the first one
    agreed_s: float = 0.0  # the same, as all ranks know
    counted_s: float = 0.0  # of calls whose time all ranks know
    calls: int = 0
    _trying: Hashable = None
    _tried_at: int = 0

    def can_pay(self, cost_s: float) -> bool:
        """Return whether what a trial costs is little beside the time that these lengths took so far."""
        return cost_s <= SHARE_OF_OCTAVE * (self.agreed_s + self.counted_s)

    def may_try(self, who: Hashable) -> bool:
        """Return whether this length may be on trial: one at a time."""
        return self._trying in (None, who) or self.calls > self._tried_at + STALE_CALLS

    def tries(self, who: Hashable) -> None:
        """A call of the length that is on trial."""
        self._trying, self._tried_at = who, self.calls

    def settle(self, choice: Candidate, executors: tuple[str, ...]) -> None:
        """The trial is over."""
        self.choice, self.executors, self._trying = choice, executors, None


# What one shape runs: the first candidate at first, others on trial where the budget allows it, then what is settled.
#
# A length that comes back is looked at now and then: is it worth a trial (`Trial`), or has another length of its octave
# settled already? What is settled is tried anew when its times leave their band (`Band`). Every decision rests on what
# all ranks know. `Band` and `Trial` are pure: times in, decisions out.


# Band
# Calls of a window, of calls shorter than so many seconds: looking costs them 1 %
WINDOWS = ((1e-5, 1024), (1e-4, 256), (1e-3, 64))
TIMED_CALLS = 16  # calls of a window: its last ones; of longer calls all
# Of the median, up or down: half the width of the band at least and at most. Twice the time is always outside
BAND_FACTOR, MOST_BAND_FACTOR = 1.5, 1.8
PATIENCE, MOST_PATIENCE = 2, 16  # windows in a row outside of it

# Trial: limits and what leaves a candidate out
LONG_S = 1e-3  # a call that takes as long is a long one
LAST_CANDIDATES = 2  # candidates in the last round
CLEARLY_SLOWER, CLEARLY_SLOWER_AT_FIRST = (
    2.0,
    4.0,
)  # times the best: whoever takes longer is no longer tried; two times may be luck
LONG_SLOWER, LONG_SLOWER_AT_FIRST = 1.3, 1.6  # likewise of long calls, whose times vary less
TIE_SHARE = 0.02  # relative: of those as near as this the one that was named first
EXPECTED_UNTRIED = 2.0  # times the best: what is expected of a candidate that was not tried

# When a shape is looked at
IN_VAIN = 1.1  # times the new choice: a trial that finds the former one as near as this was in vain
FIRST_LOOK, FIRST_LOOK_LONG, FIRST_LOOK_LONG_NBYTES = 8, 4, 2**20  # calls of a length, and of one of so many bytes
MOST_BETWEEN = 1024  # calls between two looks
FOR_EVER = sys.maxsize  # calls


class Band:
    """The band of one choice whose calls take about `call_s`; its first window says where the band lies.

    A rank's own time holds its waiting for ranks that come later. The last one to come waits for nobody: the least of
    the times of one call over all ranks is free of that, and the ranks need to exchange it only once a window. Of a
    window of short calls only the last ones are timed: to read a clock would be seen.

    `patience`: after so many windows outside of the band the choice is to be tried anew.
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
        """Within so many calls after a change it is noticed: the window in which it happens may hide it."""
        return (self.patience + 1) * self.window

    def take(self, time_s: float) -> np.ndarray | None:
        """Note the time of a timed call on this rank, seconds; at the end of a window its times [call]."""
        self._taken.append(time_s)
        if len(self._taken) < TIMED_CALLS:
            return None
        times, self._taken = np.array(self._taken), []
        return times

    def is_left(self, times: np.ndarray) -> bool:
        """Return whether to try the choice anew, by the least times over all ranks of a window, seconds [call]."""
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
    """What each candidate that is left gets in a round."""

    calls: int  # of a turn, one after the other
    turns: int = 1

    @property
    def both(self) -> int:
        """All calls of a candidate."""
        return self.calls * self.turns


SHORT_ROUNDS = (
    Round(3),
    Round(4, 2),
    Round(4, 4),
    Round(4, 8),
)  # times of short calls vary more; more of them cost little
LONG_ROUNDS = (Round(1), Round(1, 4), Round(1, 6), Round(1, 12))


def most_calls(candidates: int, rounds: Iterable[Round] = SHORT_ROUNDS) -> int:
    """The number of calls after which a trial of so many candidates is over at the latest."""
    total = 0
    for number, one in enumerate(rounds if candidates > 1 else ()):
        total += one.both * candidates
        candidates = _half(candidates) if number else candidates
    return total


def _half(candidates: int) -> int:
    return max(LAST_CANDIDATES, ceil(candidates / 2))


class Trial:
    """A trial of candidates 0, 1, … by successive halving; the same on all ranks, if all tell `decide` the same times.

    The candidates take turns, so that what changes in the meantime meets all of them. The first round leaves out those
    that took four times as long as the best; each later one the worse half, too (Jamieson and Talwalkar, AISTATS 2016,
    for the halving; the numbers of calls are ours). Where a turn has several calls, the first one is not counted: it
    opens connections, and finds the caches as another candidate left them.

    Times of short calls are exchanged once a round. Those of long ones are exchanged at each call: whoever is clearly
    behind is given up after the call that shows it.

    `guesses_s` are times that are known without a trial, candidate -> seconds; they only say what a turn may cost.
    """

    def __init__(self, candidates: int, is_long: bool = False, guesses_s: Mapping[int, float] | None = None):
        self.left = list(range(candidates))
        self.calls = 0  # so far, in all rounds
        self._rounds, self._number, self._is_long = LONG_ROUNDS if is_long else SHORT_ROUNDS, 0, is_long
        self._guesses_s = dict(guesses_s or {})
        self._times: list[list[float]] = [[] for _ in range(candidates)]  # that count
        self._turns = self._turns_of_round()  # candidates, of the turns that are to come
        self._taken: list[tuple[int, float]] = []  # candidate, seconds; not exchanged yet

    @property
    def winner(self) -> int | None:
        """The candidate that is taken; None: it is not known yet."""
        return self.left[0] if len(self.left) == 1 else None

    @property
    def turn(self) -> int:
        """The candidate of the next call."""
        return self._turns[len(self._taken) // self._calls_of_turn if not self._is_long else 0]

    @property
    def is_between(self) -> bool:
        """Whether all times are exchanged: the next call begins what is exchanged together."""
        return not self._taken

    @property
    def best(self) -> int:
        """The fastest so far, of those that are left."""
        return min(self.left, key=self.typical_s)

    @property
    def coming(self) -> list[int]:
        """The candidates of the calls until times are exchanged the next time."""
        return self._turns[: 1 if self._is_long else None]

    @property
    def loss_s(self) -> float:
        """What these calls are expected to take longer than the best would; 0 where no time is known at all."""
        best_s = self.typical_s(self.best)
        if best_s == inf:
            return 0.0
        expected = (min(self.typical_s(one), EXPECTED_UNTRIED * best_s) if not self._times[one] else self.typical_s(one)
                    for one in self.coming)  # fmt: skip
        return sum(max(0.0, time_s - best_s) for time_s in expected) * self._calls_of_turn

    def take(self, time_s: float) -> np.ndarray | None:
        """Note the time of a call on this rank, seconds; where times are to be exchanged, those of the last calls."""
        self._taken.append((self.turn, time_s))
        self.calls += 1
        is_over = len(self._taken) == len(self.coming) * self._calls_of_turn
        return np.array([time_s for _, time_s in self._taken]) if is_over else None

    def decide(self, times: np.ndarray) -> None:
        """Return who is left, by the times of the last calls over all ranks, seconds [call]."""
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
        """It is no longer tried."""
        self.left.remove(candidate)
        self._turns = [one for one in self._turns if one != candidate]
        if not self._turns and len(self.left) > 1:
            self._end_round()

    def typical_s(self, candidate: int) -> float:
        """The lower median of the times that count: one disturbed call does not move it; inf: none is known."""
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
    """What the shapes of one communicator have in common; all of it is called on all ranks together."""

    budget: Budget

    @property
    def around(self) -> MPI.Comm:
        """The program's communicator."""

    @property
    def executors(self) -> tuple[str, ...]:
        """Those to try: more of them once the budget pays for the compiler."""

    def octave_of(self, shape: Shape) -> Octave:
        """Return what its lengths share."""

    def meets(self, shape: Shape) -> bool:
        """Compare `shape` over all ranks; whether anything can be prepared. Raises ValueError, NotTogether."""

    def candidates_of(self, shape: Shape) -> list[Candidate]:
        """Return those worth a trial; the most promising first."""

    def bind(self, shape: Shape, candidate: Candidate, needs_bits: bool) -> Bound | Native:
        """A candidate, ready to run. Raises AlgorithmError."""

    def load_compiler(self) -> None:
        """Load the compiler, once the budget pays for it."""


class Settling:
    """The calls of one shape, on all ranks; `first` runs as long as nothing else is known.

    `is_fixed`: nothing else is ever tried.
    """

    def __init__(self, home: Home, shape: Shape, first: "Bound | Native", is_fixed: bool = False):
        self.trial_calls = 0
        self._home, self.shape, self._octave = home, shape, home.octave_of(shape)
        self._chosen, self._run = first, first.run
        self._untimed = FOR_EVER if is_fixed else 0  # calls, until the next one that is looked at
        self._is_settled = is_fixed
        self._calls, self._own_s = 0, 0.0  # until it is prepared
        self._next_look = FIRST_LOOK if shape.nbytes < FIRST_LOOK_LONG_NBYTES else FIRST_LOOK_LONG
        if home.budget.is_endless:
            self._next_look = 1
        self._trial: Trial | None = None
        self._candidates: list[Candidate] = []  # on trial
        self._former = 0  # of these, what ran before the trial
        self._bound: dict[int, Bound | Native] = {}  # of these, what is prepared
        self._executors: tuple[str, ...] = ()  # among which it was tried
        self._band: Band | None = None
        self._patience = PATIENCE

    @property
    def settled(self) -> Candidate | None:
        """What is called from now on; None: it is not known yet."""
        return self._chosen.candidate if self._is_settled else None

    @property
    def steps(self) -> int:
        """Of one rank, of all that is prepared; the same on all ranks."""
        return self._chosen.steps + sum(bound.steps for bound in self._bound.values())

    def call(self, send: np.ndarray, recv: np.ndarray) -> None:
        """Call it once, on all ranks; in place both are the same."""
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
        """Begin at the next call; `guess_s` is what a call of the present choice takes, if that is known."""
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
        """Call while nothing is settled; the time is this rank's own until the next look."""
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
        """Return whether to prepare something: by the least times over all ranks, which hold no waiting for others."""
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
        """Take over what another length of the octave has settled on."""
        if choice.executor != self._chosen.candidate.executor or choice.algorithm != self._chosen.candidate.algorithm:
            if not self._may_spend(self._home.budget.preparing_s) or not self._home.meets(self.shape):
                return
            alike = [one for one in self._home.candidates_of(self.shape) if one[:2] == choice[:2]]
            begun = perf_counter()
            try:
                self._take(self._home.bind(self.shape, (alike or [choice])[0], True))
            except AlgorithmError:  # it does not fit this length: what runs stays
                self._octave.choice = None
            self._spend(perf_counter() - begun, 1)
        self._hold(typical_s)

    def _may_spend(self, cost_s: float) -> bool:
        budget = self._home.budget
        return budget.is_endless or (self._octave.can_pay(cost_s) and budget.allows(cost_s))

    def _spend(self, time_s: float, prepared: int = 0) -> None:
        """The longest over all ranks."""
        longest = np.array([time_s])
        self._home.around.Allreduce(MPI.IN_PLACE, longest, MPI.MAX)
        self._home.budget.spend(longest[0], prepared, longest[0] if prepared else 0.0)

    def _call_on_trial(self, trial: Trial, send: np.ndarray, recv: np.ndarray) -> None:
        """A barrier frees the time from the lateness of others; what counts is that of the slowest rank."""
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
        """Return whether the next calls may be part of the trial; prepare its candidates then, else run the best."""
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
        """The candidates of the next calls; those that do not run, or run what another one runs, are dropped."""
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
        """Hold what runs: from now on only the band is looked at."""
        self._run, self._is_settled = self._chosen.run, True
        self._executors = self._octave.executors or self._executors
        self._band = Band(typical_s, self._patience)
        self._untimed = self._band.untimed

    def _look_at_band(self, band: Band, times: np.ndarray) -> None:
        """At the end of a window: the least time over all ranks of each call is that of who came last."""
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
    """Two with the same run the same."""
    candidate = bound.candidate
    return candidate.executor, candidate.window, bound.digest or candidate.algorithm
