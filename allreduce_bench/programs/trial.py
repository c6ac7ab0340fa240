"""Which of several candidates is the fastest, found on calls of the program: successive halving. Pure.

The candidates take turns, so that what changes in the meantime meets all of them. The first round leaves out those that
took four times as long as the best; each later one the worse half, too (Jamieson and Talwalkar, AISTATS 2016, for the
halving; the numbers of calls are ours). Where a turn has several calls, the first one is not counted: it opens
connections, and finds the caches as another candidate left them.

Times of short calls are exchanged once a round. Those of long ones are exchanged at each call: whoever is clearly
behind is given up after the call that shows it.
"""

from collections.abc import Iterable, Mapping
from math import ceil, inf
from typing import NamedTuple

import numpy as np


class Round(NamedTuple):
    """What each candidate that is left gets in a round."""

    calls: int  # of a turn, one after the other
    turns: int = 1

    @property
    def both(self) -> int:
        """All calls of a candidate."""
        return self.calls * self.turns


SHORT = (Round(3), Round(4, 2), Round(4, 4), Round(4, 8))  # times of short calls vary more; more of them cost little
LONG = (Round(1), Round(1, 4), Round(1, 6), Round(1, 12))
LONG_S = 1e-3  # no longer a short call
LAST = 2  # candidates in the last round
CLEAR, CLEAR_AT_FIRST = 2.0, 4.0  # times the best: whoever takes longer is no longer tried; two times may be luck
BEHIND, BEHIND_AT_FIRST = 1.3, 1.6  # the same of long calls, whose times vary less
TIE = 0.02  # relative: of those as near as this the one that was named first
UNKNOWN = 2.0  # times the best: what is expected of a candidate that was not tried


def most_calls(candidates: int, rounds: Iterable[Round] = SHORT) -> int:
    """The number of calls after which a trial of so many candidates is over at the latest."""
    total = 0
    for number, one in enumerate(rounds if candidates > 1 else ()):
        total += one.both * candidates
        candidates = _half(candidates) if number else candidates
    return total


def _half(candidates: int) -> int:
    return max(LAST, ceil(candidates / 2))


class Trial:
    """A trial of candidates 0, 1, …; the same on all ranks, if all tell `decide` the same times.

    `guesses_s` are times that are known without a trial, candidate -> seconds; they only say what a turn may cost.
    """

    def __init__(self, candidates: int, is_long: bool = False, guesses_s: Mapping[int, float] | None = None):
        self.left = list(range(candidates))
        self.calls = 0  # so far, in all rounds
        self._rounds, self._number, self._is_long = LONG if is_long else SHORT, 0, is_long
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
        expected = (min(self.typical_s(one), UNKNOWN * best_s) if not self._times[one] else self.typical_s(one)
                    for one in self.coming)  # fmt: skip
        return sum(max(0.0, time_s - best_s) for time_s in expected) * self._calls_of_turn

    def take(self, time_s: float) -> np.ndarray | None:
        """Note the time of a call on this rank, seconds; where times are to be exchanged, those of the last calls."""
        self._taken.append((self.turn, time_s))
        self.calls += 1
        is_over = len(self._taken) == len(self.coming) * self._calls_of_turn
        return np.array([time_s for _, time_s in self._taken]) if is_over else None

    def decide(self, times: np.ndarray) -> None:
        """Who is left, by the times of the last calls over all ranks, seconds [call]."""
        for call, ((one, _), time_s) in enumerate(zip(self._taken, times.tolist())):
            if self._calls_of_turn == 1 or call % self._calls_of_turn:
                self._times[one].append(time_s)
        last, self._taken, self._turns = self._taken[-1][0], [], self._turns[len(self.coming) :]
        if self._is_long:
            clear = BEHIND if self._number else BEHIND_AT_FIRST
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
        clear = CLEAR if self._number else CLEAR_AT_FIRST
        if self._number:
            ranked = ranked[: _half(len(ranked))]
        self._number += 1
        if self._number == len(self._rounds):
            self.left = [min(one for one in ranked if self.typical_s(one) <= best_s * (1 + TIE))]
            return
        self.left = sorted(one for one in ranked if self.typical_s(one) <= clear * best_s)
        self._turns = self._turns_of_round()
