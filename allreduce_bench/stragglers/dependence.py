"""How many independent steps the steps of a job are worth.

A rank that is late in a step is often late in the next one, too: it is hot, or shares its node for a while. The mean
over n such steps is as uncertain as that over n / tau independent ones. tau, the integrated correlation time, is 1 + 2
times the sum of all autocorrelations; of an autoregressive process of lag-1 correlation r it is (1 + r) / (1 - r).
It is measured by batch means (Law and Kelton, Oper. Res. 32, 1984): of the means of batches of several lengths, how
much more they vary than those of independent steps would.
"""

import numpy as np

from ..robust import OF_NORMAL, median

FEWEST_BATCHES = 4
LARGEST = 3.0  # standard deviations: further out, a step says no more about how steps depend on each other
LONGEST = 10.0  # jobs: a longer correlation time is not told
FEWEST_TO_POOL = 4  # units; of fewer, one that changes its speed moves what the others are compared with


def correlation_time(late: np.ndarray) -> float:
    """How many steps are worth an independent one, 1 or more: of the median unit. `late`: float64 [step, unit].

    What is not known is NaN. Of few units each is taken without its largest change of level, so that a rank which
    changes its speed once is not taken for noise that lasts.
    """
    if late.shape[1] < FEWEST_TO_POOL:
        late = _without_a_change(late)
    off = late - median(late, axis=0)
    spread = OF_NORMAL * median(np.abs(off), axis=0)
    some = spread > 0
    if not some.any():
        return 1.0
    scaled = np.clip(off[:, some] / spread[some], -LARGEST, LARGEST)
    times = []
    for length in _lengths(len(scaled)):
        ratio = _typical(_ratios(scaled, length), len(scaled) // length - 1)
        times.append(_time_of_ratio(ratio, len(scaled), length))
    return max(1.0, *times) if times else 1.0


def _without_a_change(late: np.ndarray) -> np.ndarray:
    """The same about its mean before and after the step that divides it best (least squares)."""
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
    """The correlation time of the autoregressive process whose batches vary so much more about their common mean.

    Batches of a job that is not long against this time share much of their lateness, so that they vary less about
    their own mean than about the true one. Lateness that wanders for ever gives LONGEST jobs.
    """
    times = np.geomspace(1.0, LONGEST * steps, 400)
    lag1 = (times - 1) / (times + 1)
    single, batch, whole = (_variance_of_mean(lag1, number) for number in (1, length, steps))
    batches = steps // length
    expected = length * (batch - whole) * batches / (batches - 1) / ((single - whole) * steps / (steps - 1))
    return float(np.interp(ratio, np.maximum.accumulate(expected), times))


def _variance_of_mean(lag1: np.ndarray, steps: int) -> np.ndarray:
    """Of so many steps of an autoregressive process of variance 1."""
    left = 1 - lag1
    return ((1 + lag1) / left - 2 * lag1 * (1 - lag1**steps) / (steps * left**2)) / steps


def correlation_time_of_events(happens: np.ndarray) -> float:
    """The same of events that are rare: bool [step, unit]; all units together, since most may have none."""
    known = happens.astype(float)
    single = known.var(axis=0, ddof=1).sum() if len(known) > 1 else 0.0
    if single <= 0:
        return 1.0
    found = [length * _batch_means(known, length).var(axis=0, ddof=1).sum() / single for length in _lengths(len(known))]
    return max(1.0, *map(float, found)) if found else 1.0


def _lengths(steps: int) -> list[int]:
    """2, 5, 10, 20, 50, ...: as long as there are FEWEST_BATCHES batches."""
    lengths = [digit * 10**power for power in range(7) for digit in (1, 2, 5)]
    return [length for length in lengths if 1 < length <= steps // FEWEST_BATCHES]


def _ratios(values: np.ndarray, length: int) -> np.ndarray:
    """float64 [unit]: variance of a batch mean over that of the mean of as many independent steps."""
    means = _batch_means(values, length)
    return length * np.nanvar(means, axis=0, ddof=1) / np.nanvar(values, axis=0, ddof=1)


def _batch_means(values: np.ndarray, length: int) -> np.ndarray:
    """float64 [batch, unit]; the last steps may be left out, and what is not known counts as the unit's median."""
    batches = len(values) // length
    return np.nan_to_num(values[: batches * length]).reshape(batches, length, -1).mean(axis=1)


def _typical(ratios: np.ndarray, freedom: int) -> float:
    """The median, corrected for the bias of the median of variances (Wilson and Hilferty, as in `robust`)."""
    return float(np.median(ratios)) / (1 - 2 / (9 * max(freedom, 1))) ** 3
