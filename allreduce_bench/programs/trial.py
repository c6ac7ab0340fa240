"""Which of several candidates is the fastest, found on the first calls: successive halving. Pure: times in, one out.

The candidates take turns, so that what changes in the meantime meets all of them. After each round the better half is
left, without those that took twice as long as the best (Jamieson and Talwalkar, AISTATS 2016, for the halving; the
numbers of calls are ours). A candidate's first call opens connections and is not counted.
"""

from math import ceil

import numpy as np

ROUNDS = (3, 4, 6, 12)  # calls of each candidate that is left
LAST = 2  # candidates in the last round
CLEAR = 2.0  # times the best: whoever takes longer is no longer tried
TIE = 0.02  # relative: of those as near as this the one that was named first


def most_calls(candidates: int) -> int:
    """The number of calls after which a trial of so many candidates is over at the latest."""
    total = 0
    for calls in ROUNDS:
        if candidates == 1:
            break
        total += calls * candidates
        candidates = max(LAST, ceil(candidates / 2))
    return total


class Trial:
    """A trial of candidates 0, 1, …; the same on all ranks, if all tell `decide` the same times."""

    def __init__(self, candidates: int):
        self.left = list(range(candidates))
        self.calls = 0  # so far, in all rounds
        self._round = 0
        self._taken: list[float] = []  # seconds, of this round
        self._times: list[list[float]] = [[] for _ in range(candidates)]  # that count

    @property
    def winner(self) -> int | None:
        """The candidate that is taken; None: it is not known yet."""
        return self.left[0] if len(self.left) == 1 else None

    @property
    def turn(self) -> int:
        """The candidate of the next call."""
        return self.left[len(self._taken) % len(self.left)]

    def take(self, time_s: float) -> np.ndarray | None:
        """Note the time of a call on this rank, seconds; at the end of a round the times of its calls [call]."""
        self._taken.append(time_s)
        self.calls += 1
        return np.array(self._taken) if len(self._taken) == ROUNDS[self._round] * len(self.left) else None

    def decide(self, times: np.ndarray) -> None:
        """Who is left, by the times of the last round over all ranks, seconds [call]."""
        for place, time_s in enumerate(times.tolist()):
            if self._round > 0 or place >= len(self.left):
                self._times[self.left[place % len(self.left)]].append(time_s)
        best_s = min(map(self.typical_s, self.left))
        ranked = sorted(self.left, key=self.typical_s)
        self._round, self._taken = self._round + 1, []
        if self._round == len(ROUNDS):
            self.left = [min(one for one in ranked if self.typical_s(one) <= best_s * (1 + TIE))]
        else:
            better = ranked[: max(LAST, ceil(len(ranked) / 2))]
            self.left = sorted(one for one in better if self.typical_s(one) <= CLEAR * best_s)

    def typical_s(self, candidate: int) -> float:
        """The lower median of the times that count: one call that was disturbed does not move it."""
        times = sorted(self._times[candidate])
        return times[(len(times) - 1) // 2]
