"""Which of several candidates is the fastest, found on the first calls: successive halving. Pure: times in, one out.

The candidates take turns, so that what changes in the meantime meets all of them. The first round leaves out those that
took four times as long as the best; each later one the worse half, too (Jamieson and Talwalkar, AISTATS 2016, for the
halving; the numbers of calls are ours). Where a turn has several calls, the first one is not counted: it opens
connections, and finds the caches as another candidate left them.
"""

from collections.abc import Iterable
from math import ceil
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


FIRST = Round(3)
LONG = (FIRST, Round(1, 4), Round(1, 6), Round(1, 12))
SHORT = (FIRST, Round(4, 2), Round(4, 4), Round(4, 8))  # times of short calls vary more, and more of them cost little
LONG_S = 1e-3  # no longer a short call
LAST = 2  # candidates in the last round
CLEAR, CLEAR_AT_FIRST = 2.0, 4.0  # times the best: whoever takes longer is no longer tried; two times may be luck
TIE = 0.02  # relative: of those as near as this the one that was named first


def most_calls(candidates: int, rounds: Iterable[Round] = SHORT) -> int:
    """The number of calls after which a trial of so many candidates is over at the latest."""
    total = 0
    for one in rounds if candidates > 1 else ():
        total += one.both * candidates
        candidates = candidates if one is FIRST else _half(candidates)
    return total


def _half(candidates: int) -> int:
    return max(LAST, ceil(candidates / 2))


class Trial:
    """A trial of candidates 0, 1, …; the same on all ranks, if all tell `decide` the same times."""

    def __init__(self, candidates: int):
        self.left = list(range(candidates))
        self.calls = 0  # so far, in all rounds
        self._rounds, self._number = SHORT, 0
        self._taken: list[float] = []  # seconds, of this round
        self._times: list[list[float]] = [[] for _ in range(candidates)]  # that count

    @property
    def winner(self) -> int | None:
        """The candidate that is taken; None: it is not known yet."""
        return self.left[0] if len(self.left) == 1 else None

    @property
    def turn(self) -> int:
        """The candidate of the next call."""
        return self._of(len(self._taken))

    def _of(self, call: int) -> int:
        """The candidate of a call of this round."""
        return self.left[call // self._rounds[self._number].calls % len(self.left)]

    def take(self, time_s: float) -> np.ndarray | None:
        """Note the time of a call on this rank, seconds; at the end of a round the times of its calls [call]."""
        self._taken.append(time_s)
        self.calls += 1
        is_over = len(self._taken) == self._rounds[self._number].both * len(self.left)
        return np.array(self._taken) if is_over else None

    def decide(self, times: np.ndarray) -> None:
        """Who is left, by the times of the last round over all ranks, seconds [call]."""
        in_turn = self._rounds[self._number].calls
        for call, time_s in enumerate(times.tolist()):
            if in_turn == 1 or call % in_turn:
                self._times[self._of(call)].append(time_s)
        ranked = sorted(self.left, key=self.typical_s)
        best_s = self.typical_s(ranked[0])
        if self._number == 0:
            clear, self._rounds = CLEAR_AT_FIRST, SHORT if best_s < LONG_S else LONG
        else:
            clear, ranked = CLEAR, ranked[: _half(len(ranked))]
        self._number, self._taken = self._number + 1, []
        if self._number == len(self._rounds):
            self.left = [min(one for one in ranked if self.typical_s(one) <= best_s * (1 + TIE))]
        else:
            self.left = sorted(one for one in ranked if self.typical_s(one) <= clear * best_s)

    def typical_s(self, candidate: int) -> float:
        """The lower median of the times that count: one call that was disturbed does not move it."""
        times = sorted(self._times[candidate])
        return times[(len(times) - 1) // 2]
