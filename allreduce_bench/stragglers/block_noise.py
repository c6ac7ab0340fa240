"""How much a mean over blocks of steps varies, however the noise of the blocks is correlated. Pure numbers.

A mean over w independent blocks varies by the deviation of one over sqrt(w); where what delays a rank lasts longer than
a block, by far more. So no correlation is assumed: of all ranks the means over 1, 2, 4, ... blocks are kept, and half
the mean square of the difference of neighbouring ones, V(w), the Allan variance (Allan, Proc. IEEE 54, 1966; with
w = 1 von Neumann's estimate). Since the mean over 2 w blocks and half the difference of its halves are orthogonal, a
mean over w blocks varies around its expectation by

    var(w) = V(w) / 2 + V(2 w) / 2 + V(4 w) / 2 + ...

for every stationary noise (Percival, Biometrika 82, 1995). What no two blocks so long have shown yet is taken to be as
large as on the longest scale that is known for UNSEEN scales more, as noise is that drifts, and falls from there on.
"""

from typing import NamedTuple

import numpy as np

from ..robust import EFFICIENCY, deviation, deviations

SCALES = 10  # means over 1, 2, 4, ... 512 blocks
UNSEEN = 3
FIRST_FALL = 0.75  # from V(1) to V(2), where nothing is known: between independent noise and noise that drifts
MEMORY = 500  # differences over which a variance is averaged
MOST_TIMES = 3.0  # a difference counts up to so many deviations: a rank that becomes slow is not taken for a noisy one
PRIOR, PRIOR_OF_RANK = 8, 30  # differences that what shorter scales let expect counts like: of all ranks; of one


class Noise(NamedTuple):
    """Of means over so many blocks."""

    deviation: np.ndarray  # float64 [column]; none is below that of the median column
    number: int  # of differences that it comes from
    between: float  # deviation of what columns differ by for good


class BlockNoise:
    """Of each column of a series of blocks; keeps some rows a scale, however long the series is."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._means = np.zeros((SCALES, columns))  # the newest one over 2 ** scale blocks
        self._variances = np.zeros((SCALES, columns))  # V
        self._counts = np.zeros(SCALES, dtype=int)  # of such means so far
        self._between = np.zeros(SCALES)  # mean square of their deviation between columns

    def take(self, values: np.ndarray) -> None:
        """The next block: float64 [column], NaN: not known."""
        mean = values
        for scale in range(SCALES):
            before = self._means[scale].copy()
            self._means[scale] = mean
            self._counts[scale] += 1
            number = min(int(self._counts[scale]), MEMORY)
            self._between[scale] += (deviation(mean) ** 2 - self._between[scale]) / number
            if self._counts[scale] > 1:
                self._count(scale, 0.5 * np.square(mean - before), min(int(self._counts[scale]) - 1, MEMORY))
            if self._counts[scale] % 2:
                break  # the other half of a mean over twice as many is to come
            mean = 0.5 * (before + mean)

    def of_means(self, scale: int) -> Noise:
        """The noise of means over 2 ** scale blocks. Zeros where there is no difference yet."""
        if self._counts[0] < 2:
            return Noise(np.zeros(self._columns), 0, 0.0)
        known = int((self._counts > 1).sum())
        of_all, of_each = np.empty(SCALES), np.empty((SCALES, self._columns))
        fall = FIRST_FALL
        for each in range(SCALES):
            if each > 1 and each <= known:
                fall = min(max(of_all[each - 1] / max(of_all[each - 2], 1e-300), 0.5), 1.0)
            if each >= known:
                fall = fall if each < known + UNSEEN else 0.5
                of_all[each], of_each[each] = fall * of_all[each - 1], fall * of_each[each - 1]
                continue
            number = min(int(self._counts[each]) - 1, MEMORY)
            squares = np.square(deviations(self._variances[each], number))
            of_all[each], of_each[each] = squares.min(), squares
            if each:  # few differences say little: they are joined to what the shorter scale lets expect
                share = PRIOR / (PRIOR + number * max(1.0, EFFICIENCY * (self._columns - 1)))
                of_all[each] += share * (fall * of_all[each - 1] - of_all[each])
                expected = of_each[each - 1] * of_all[each] / max(of_all[each - 1], 1e-300)
                share = PRIOR_OF_RANK / (PRIOR_OF_RANK + number)
                of_each[each] = np.maximum(of_each[each] + share * (expected - of_each[each]), of_all[each])
        halves = 0.5 * of_each[scale:]
        variance = halves.sum(axis=0) + halves[-1]
        between = self._between[scale] - float(variance.min())
        number = min(int(self._counts[0]) - 1, MEMORY)
        return Noise(np.sqrt(variance), number, np.sqrt(max(between, 0.0)))

    def _count(self, scale: int, squares: np.ndarray, number: int) -> None:
        variances = self._variances[scale]
        expected = variances if number > 1 else self._variances[scale - 1]
        if scale or number > 1:
            unit = np.maximum(np.maximum(expected, np.median(expected)), 1e-300)
            squares = np.minimum(squares, MOST_TIMES**2 * unit)
        variances += np.where(np.isnan(squares), 0.0, squares - variances) / number
