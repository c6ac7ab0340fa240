"""Statistics of the lateness of ranks: chance, slow periods, correlation, outliers, noise. Pure numbers.

`chance_of_at_least`: the probability that chance alone makes a rank the last one so often. `find_slow_period`: first
and last step of a slow period. `correlation_time`: how many steps are worth an independent one. `z_above_others`:
outliers among units that differ. `BlockNoise`: the variance of a mean over blocks of steps.
"""

from math import erfc, sqrt
from typing import NamedTuple

import numpy as np

from ..robust import EFFICIENCY, OF_NORMAL, deviation, deviations, median

# Edges of a slow period
EVIDENCE = 8.0  # log likelihood ratio required of an edge: the false positive rate of edges is e^-8
MOST_OF_A_STEP = 1.0  # of that logarithm: so an edge needs at least 8 steps, however clear

# Correlation time
FEWEST_BATCHES = 4
LARGEST = 3.0  # standard deviations: steps further out are clipped
LONGEST = 10.0  # jobs: upper limit of the correlation time
FEWEST_TO_POOL = 4  # units; with fewer, a unit that changes its speed shifts the reference

# Units that differ
SPREAD = 0.015  # of a step: prior standard deviation between ranks
PRIOR_FREEDOM = 4
FEWEST_UNLIKE = 4  # units; with fewer the spread is unknown: noise alone is the scale
FASTEST = 3.0  # robust deviations below the median: faster units are clipped there

# Noise of blocks
SCALES = 10  # means over 1, 2, 4, ... 512 blocks
UNSEEN = 3
FIRST_FALL = 0.75  # prior ratio V(2) / V(1): between independent and drifting noise
MEMORY = 500  # differences over which a variance is averaged
MOST_TIMES = 3.0  # deviations at which a difference is clipped: a rank that becomes slow is not taken for a noisy one
PRIOR, PRIOR_OF_RANK = 8, 30  # weights, in differences, of the prior from shorter scales: of all ranks; of one


def chance_of_at_least(counts: np.ndarray, trials: int, chance: float) -> np.ndarray:
    """Return the probability of at least `counts` successes in `trials` trials. float64, of the shape of `counts`.

    `counts`: integers of 0 to `trials`; `chance`: of each trial, 0 to 1. Exact: the upper tail of the binomial
    distribution. It assumes independent trials.
    """
    if not 0 < chance < 1:
        return np.where(np.asarray(counts) > 0, float(chance >= 1), 1.0)
    successes = np.arange(trials + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, trials + 1)))])  # logarithms
    ways = factorials[-1] - factorials - factorials[::-1]
    shares = np.exp(ways + successes * np.log(chance) + (trials - successes) * np.log1p(-chance))
    return np.minimum(np.cumsum(shares[::-1])[::-1], 1.0)[counts]


def find_slow_period(late: np.ndarray, slower_by: float, noise: float) -> tuple[int, int]:
    """Return the first step of the slow period, and the step after its last one; 0 and the number of steps: always.

    `late`: float64 [step], NaN: not known; `slower_by` > 0: how late the rank is while it is slow; `noise` > 0:
    standard deviation of a step, corrected for the correlation of steps. All in the same unit. Of several slow periods
    the one with the most evidence counts.

    Each step contributes the log likelihood ratio of the two levels, `slower_by` and 0, under normal noise; the period
    is the stretch with the largest sum. Single steps are clipped (MOST_OF_A_STEP), so that spikes make no period. An
    end of the steps is cut off only with clear evidence (EVIDENCE) that the rank was not slow: a sum of log likelihood
    ratios that drifts the other way exceeds h in e^-h of cases (Wald, Sequential Analysis, 1947).
    """
    weights = slower_by * (late - slower_by / 2) / noise**2
    weights = np.nan_to_num(np.clip(weights, -MOST_OF_A_STEP, MOST_OF_A_STEP))
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    lowest = np.minimum.accumulate(sums)
    stop = int((sums - lowest).argmax())
    start = int(sums[: stop + 1].argmin())
    if sums[0] - sums[start] < EVIDENCE:
        start = 0
    if sums[stop] - sums[-1] < EVIDENCE:
        stop = len(late)
    return start, stop


def correlation_time(late: np.ndarray) -> float:
    """Return the median unit's number of steps worth an independent one, at least 1. `late`: float64 [step, unit].

    A rank that is late in a step is often late in the next one, too: it is hot, or shares its node for a while. The
    mean over n such steps is as uncertain as that over n / tau independent ones. tau, the integrated correlation time,
    is 1 + 2 times the sum of all autocorrelations; of an autoregressive process of lag-1 correlation r it is (1 + r) /
    (1 - r). It is measured by batch means (Law and Kelton, Oper. Res. 32, 1984): the variance of the means of batches
    of several lengths, relative to independent steps.

    NaN: not known. With few units each is taken without its largest change of level, so that a rank which changes its
    speed once is not taken for lasting noise.
    """
    if late.shape[1] < FEWEST_TO_POOL:
        late = _remove_change(late)
    off = late - median(late, axis=0)
    spread = OF_NORMAL * median(np.abs(off), axis=0)
    some = spread > 0
    if not some.any():
        return 1.0
    scaled = np.clip(off[:, some] / spread[some], -LARGEST, LARGEST)
    times = []
    for length in _lengths(len(scaled)):
        means = _batch_means(scaled, length)
        ratios = length * np.nanvar(means, axis=0, ddof=1) / np.nanvar(scaled, axis=0, ddof=1)
        bias = (1 - 2 / (9 * max(len(means) - 1, 1))) ** 3  # of the median of variances (Wilson and Hilferty)
        times.append(_time_of_ratio(float(np.median(ratios)) / bias, len(scaled), length))
    return max(1.0, *times) if times else 1.0


def _remove_change(late: np.ndarray) -> np.ndarray:
    """Return lateness relative to its mean before and after the best change point (least squares)."""
    known = np.maximum((~np.isnan(late)).sum(axis=0), 1)
    centred = np.nan_to_num(late - np.nansum(late, axis=0) / known)
    before = np.arange(1, len(late))[:, None]
    gained = np.cumsum(centred, axis=0)[:-1] ** 2 / (before * (len(late) - before))
    flat = late.copy()
    for unit, at in enumerate(gained.argmax(axis=0) + 1):
        for part in (slice(None, at), slice(at, None)):
            flat[part, unit] -= median(late[part, unit], axis=0)
    return flat


def _time_of_ratio(ratio: float, steps: int, length: int) -> float:
    """Return the correlation time of the autoregressive process with this variance ratio of batch means.

    Batches of a job that is short relative to this time share much of their lateness, so that they vary less about
    their own mean than about the true one. A random walk gives LONGEST jobs.
    """
    times = np.geomspace(1.0, LONGEST * steps, 400)
    lag1 = (times - 1) / (times + 1)
    single, batch, whole = (_variance_of_mean(lag1, number) for number in (1, length, steps))
    batches = steps // length
    expected = length * (batch - whole) * batches / (batches - 1) / ((single - whole) * steps / (steps - 1))
    return float(np.interp(ratio, np.maximum.accumulate(expected), times))


def _variance_of_mean(lag1: np.ndarray, steps: int) -> np.ndarray:
    """Return the variance of a mean over so many steps of an autoregressive process of variance 1."""
    left = 1 - lag1
    return ((1 + lag1) / left - 2 * lag1 * (1 - lag1**steps) / (steps * left**2)) / steps


def correlation_time_of_events(happens: np.ndarray) -> float:
    """Return the correlation time of rare events: bool [step, unit]; all units together, since most may have none."""
    known = happens.astype(float)
    single = known.var(axis=0, ddof=1).sum() if len(known) > 1 else 0.0
    if single <= 0:
        return 1.0
    found = [length * _batch_means(known, length).var(axis=0, ddof=1).sum() / single for length in _lengths(len(known))]
    return max(1.0, *map(float, found)) if found else 1.0


def _lengths(steps: int) -> list[int]:
    """Return batch lengths 2, 5, 10, 20, 50, ... that leave at least FEWEST_BATCHES batches."""
    lengths = [digit * 10**power for power in range(7) for digit in (1, 2, 5)]
    return [length for length in lengths if 1 < length <= steps // FEWEST_BATCHES]


def _batch_means(values: np.ndarray, length: int) -> np.ndarray:
    """Return float64 [batch, unit]; trailing steps may be dropped, unknown values count as the unit's median."""
    batches = len(values) // length
    return np.nan_to_num(values[: batches * length]).reshape(batches, length, -1).mean(axis=1)


def z_above_others(values: np.ndarray, prior: np.ndarray | float) -> np.ndarray:
    """Return how far each unit is above those below it, as a normal z, float64 as `values`; -inf: unknown.

    Healthy ranks differ lastingly, too, by some per cent. Each unit is tested against the units below it, so that slow
    ones do not mask each other (the generalised test of Rosner, Technometrics 25, 1983, one-sided). Few units determine
    their variance poorly. So it is pooled with a prior, SPREAD, which weighs as much as PRIOR_FREEDOM units (moderated
    t, Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004), and less the more they differ.

    `values`: NaN for unknown units; `prior`: prior standard deviation, a scalar or [row, 1]. The upper half of the
    units is tested; a higher one stands out at least as far as those below it.
    """
    rows, units = values.shape
    order = np.argsort(-np.where(np.isnan(values), -np.inf, values), axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    centre = median(ordered, axis=1)[:, None]
    floor = centre - FASTEST * np.maximum(OF_NORMAL * median(np.abs(ordered - centre), axis=1)[:, None], prior)
    kept = np.nan_to_num(np.maximum(ordered, floor) - centre)
    known = (~np.isnan(ordered)).astype(float)
    most = max(1, (units - 1) // 2)
    number, total, squares = (_sums_below(each, most) for each in (known, kept, kept * kept))
    number = np.maximum(number, 1.0)
    mean = total / number
    seen = np.maximum(squares - number * mean * mean, 0.0) / np.maximum(number - 1, 1.0)
    weight = PRIOR_FREEDOM * np.minimum(1.0, np.square(prior) / np.maximum(seen, 1e-30))
    freedom = weight + number - 1
    variance = (weight * np.square(prior) + (number - 1) * seen) / freedom
    t = (ordered[:, :most] - centre - mean) / np.sqrt(variance * (1 + 1 / number))
    of_place = np.where(np.isnan(t), -np.inf, normal_of_t(t, freedom))
    of_place = np.maximum.accumulate(of_place[:, ::-1], axis=1)[:, ::-1]
    z = np.full(values.shape, -np.inf)
    np.put_along_axis(z, order[:, :most], of_place, axis=1)
    return z


def _sums_below(ordered: np.ndarray, most: int) -> np.ndarray:
    """Return for each of the first places the sum of all behind it, float64 [row, place]."""
    sums = np.cumsum(ordered[:, ::-1], axis=1)[:, ::-1]
    return np.concatenate([sums[:, 1:], np.zeros((len(sums), 1))], axis=1)[:, :most]


def normal_of_t(t: np.ndarray, freedom: np.ndarray | float) -> np.ndarray:
    """Return the normal quantile with the tail probability of `t` under Student's distribution with so many degrees of
    freedom.

    By Wallace's formula (Ann. Math. Stat. 30, 1959), accurate to a few per cent in the far tail, where it matters.
    """
    size = np.sqrt(freedom * np.log1p(np.square(t) / freedom))
    return np.sign(t) * size * (8 * freedom + 1) / (8 * freedom + 3)


def expected_beyond(z: float, units: int) -> float:
    """Return the expected number of `units` beyond `z` by chance."""
    return units * 0.5 * erfc(z / sqrt(2))


class NoiseOfMeans(NamedTuple):
    """The noise of means over so many blocks."""

    deviation: np.ndarray  # float64 [column]; at least the deviation of the median column
    number: int  # number of differences behind it
    between: float  # deviation of lasting differences between columns


class BlockNoise:
    """The noise of each column of a series of blocks; keeps some rows a scale, however long the series is.

    A mean over w independent blocks has the deviation of one over sqrt(w); if delays last longer than a block, far
    more. So no correlation is assumed: the means over 1, 2, 4, ... blocks are kept of all ranks, and half the mean
    square of the difference of neighbouring ones, V(w), the Allan variance (Allan, Proc. IEEE 54, 1966; with w = 1 von
    Neumann's estimate). Since the mean over 2 w blocks and half the difference of its halves are orthogonal, a mean
    over w blocks varies around its expectation by

        var(w) = V(w) / 2 + V(2 w) / 2 + V(4 w) / 2 + ...

    for every stationary noise (Percival, Biometrika 82, 1995). V of longer scales than observed is extrapolated:
    constant for UNSEEN scales, as for drifting noise, then falling.
    """

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._means = np.zeros((SCALES, columns))  # the newest mean over 2 ** scale blocks
        self._variances = np.zeros((SCALES, columns))  # V
        self._counts = np.zeros(SCALES, dtype=int)  # of such means so far
        self._between = np.zeros(SCALES)  # mean square of their deviation between columns

    def take(self, values: np.ndarray) -> None:
        """Add the next block: float64 [column], NaN: not known."""
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
                break  # the other half of a mean over twice as many is yet to come
            mean = 0.5 * (before + mean)

    def estimate_means(self, scale: int) -> NoiseOfMeans:
        """Return the noise of means over 2 ** scale blocks. Zeros without any difference."""
        if self._counts[0] < 2:
            return NoiseOfMeans(np.zeros(self._columns), 0, 0.0)
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
            if each:  # few differences are pooled with the extrapolation from the shorter scale
                share = PRIOR / (PRIOR + number * max(1.0, EFFICIENCY * (self._columns - 1)))
                of_all[each] += share * (fall * of_all[each - 1] - of_all[each])
                expected = of_each[each - 1] * of_all[each] / max(of_all[each - 1], 1e-300)
                share = PRIOR_OF_RANK / (PRIOR_OF_RANK + number)
                of_each[each] = np.maximum(of_each[each] + share * (expected - of_each[each]), of_all[each])
        halves = 0.5 * of_each[scale:]
        variance = halves.sum(axis=0) + halves[-1]
        between = self._between[scale] - float(variance.min())
        number = min(int(self._counts[0]) - 1, MEMORY)
        return NoiseOfMeans(np.sqrt(variance), number, np.sqrt(max(between, 0.0)))

    def _count(self, scale: int, squares: np.ndarray, number: int) -> None:
        variances = self._variances[scale]
        expected = variances if number > 1 else self._variances[scale - 1]
        if scale or number > 1:
            unit = np.maximum(np.maximum(expected, np.median(expected)), 1e-300)
            squares = np.minimum(squares, MOST_TIMES**2 * unit)
        variances += np.where(np.isnan(squares), 0.0, squares - variances) / number
