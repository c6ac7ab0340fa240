"""Ranks that are late in some of their steps: now and then, or in every tenth one.

Such a rank hardly moves its median. So its late steps are counted, those in which it is behind its own usual lateness
by more than a threshold, and held against those of the others: a rank is late at times where it has more of all late
steps than chance gives it (binomial: Przyborowski and Wilenski, Biometrika 31, 1940), and stands out from the others,
which may be late now and then, too. All THRESHOLDS are tried, with a critical value for so many. Late steps in a row
are no sign of it: they are a slowness that lasts for a while, and count as one.

Late steps at equal distances are a sign of their own, where no other rank has such.
"""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ..robust import median, median_of_others
from .binomial import chance_of_at_least
from .dependence import correlation_time_of_events
from .outliers import FEWEST_UNLIKE, standing_out

ALARM = 0.005  # share of jobs of which chance alone makes a rank late at times, at most
THRESHOLDS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # of the undisturbed step
FEWEST_LATE = 3  # steps
MOST_LATE = 0.5  # of the steps: a rank that is late in more is slow
REGULAR = 0.8  # of the late steps lie at equal distances, and of these places as many are late steps
ONLY_ONE = 3  # times the late steps of any other rank: then their regularity says something


class LateAtTimes(NamedTuple):
    """A unit that is late in some of its steps."""

    unit: int
    steps: np.ndarray  # bool [step]: in which
    late_s: float  # median of its lateness in these
    share: float  # of its steps
    every: int  # distance of its late steps; 0: they are not regular
    z: float  # of the number of its late steps


def late_at_times(ready_s: np.ndarray, undisturbed_s: float, clock_s: float, left_out: np.ndarray) -> list[LateAtTimes]:
    """Arguments: `ready_s`, float64 [step, unit]; `clock_s`: no less is claimed; `left_out`, bool [unit]: not asked."""
    late_s = ready_s - median_of_others(ready_s)
    late_s = late_s - median(late_s, axis=0)
    known = ~np.isnan(late_s)
    most = ALARM / (len(THRESHOLDS) * known.shape[1])
    found: dict[int, tuple[float, float]] = {}  # unit: its p-value and threshold
    with np.errstate(invalid="ignore"):
        for threshold_s in (max(each * undisturbed_s, clock_s) for each in THRESHOLDS):
            p_values = _p_values(late_s > threshold_s, known, most)
            for unit in np.flatnonzero(p_values <= most).tolist():
                if not left_out[unit] and (unit not in found or p_values[unit] < found[unit][0]):
                    found[unit] = (float(p_values[unit]), threshold_s)
        return [_described(unit, late_s[:, unit], *found[unit]) for unit in sorted(found)]


def _p_values(is_late: np.ndarray, known: np.ndarray, most: float) -> np.ndarray:
    """float64 [unit]: that chance alone makes it late so often; 1 where that is above `most`, or not asked."""
    counts, trials = is_late.sum(axis=0), known.sum(axis=0)
    p_values = np.ones(len(counts))
    asked = (counts >= FEWEST_LATE) & (counts <= MOST_LATE * trials)
    if not asked.any():
        return p_values
    shared = correlation_time_of_events(is_late)
    by_spread = _by_spread(counts, trials, shared)
    for unit in np.flatnonzero(asked & (by_spread <= ALARM)).tolist():
        others = np.delete(np.arange(len(counts)), unit)
        alike = max(shared, correlation_time_of_events(is_late[:, [unit]]))
        worth = round(float(counts.sum()) / alike)
        own = min(int(counts[unit] / alike), worth)
        p = float(chance_of_at_least(np.array(own), worth, float(trials[unit] / trials.sum())))
        p = max(p, float(by_spread[unit]))
        if counts[unit] >= ONLY_ONE * counts[others].max(initial=0):
            others_are = np.asarray(is_late[:, others].any(axis=1))
            p *= _chance_of_regular(is_late[:, unit], others_are)
        p_values[unit] = p
    return p_values


def _by_spread(counts: np.ndarray, trials: np.ndarray, alike: float) -> np.ndarray:
    """float64 [unit]: that its share stands out as far from the others' by chance; 0: too few units to say.

    Of the angle of each share, whose deviation by chance is the same for all shares: 1 over the root of the trials.
    """
    if (trials > 0).sum() < FEWEST_UNLIKE:
        return np.zeros(len(counts))
    with np.errstate(invalid="ignore", divide="ignore"):
        angles = 2 * np.arcsin(np.sqrt(counts / trials))
    deviation = np.sqrt(alike / max(float(np.median(trials)), 1.0))
    return np.array([NormalDist().cdf(-float(z)) for z in standing_out(angles[None], deviation)[0]])


def period_of(is_late: np.ndarray) -> int:
    """The distance of late steps that are regular; 0: they are not. `is_late`: bool [step]."""
    late = np.flatnonzero(is_late)
    if len(late) < FEWEST_LATE:
        return 0
    period = int(np.median(np.diff(late)))
    if period < 2:
        return 0
    phases = np.bincount(late % period, minlength=period)
    phase = int(phases.argmax())
    places = len(range(phase, len(is_late), period))
    return period if phases[phase] >= REGULAR * max(len(late), places) else 0


def _chance_of_regular(is_late: np.ndarray, others_are: np.ndarray) -> float:
    """That as many steps drawn at random lie at equal distances from the first to the last step; 1: they do not.

    `others_are`: bool [step], that another unit is late. Where one is at the places that this one misses, what is
    regular comes to one unit or another.
    """
    period, steps, late = period_of(is_late), len(is_late), int(is_late.sum())
    if not period:
        return 1.0
    phase = int(np.bincount(np.flatnonzero(is_late) % period).argmax())
    if (others_are & ~is_late)[phase::period].any():
        return 1.0
    # The second of them may lie anywhere; each further one meets its place once in about `steps / late`.
    return float(min(1.0, (late / steps) ** (REGULAR * (late - 2))))


def _described(unit: int, late_s: np.ndarray, p_value: float, threshold_s: float) -> LateAtTimes:
    """Late is what lies beyond half of the typical late step, so that noise beyond a low threshold is not counted."""
    half_s = max(threshold_s, 0.5 * float(np.median(late_s[late_s > threshold_s])))
    steps = late_s > half_s
    known = int((~np.isnan(late_s)).sum())
    z = -NormalDist().inv_cdf(max(p_value, 1e-300))
    return LateAtTimes(unit, steps, float(np.median(late_s[steps])), float(steps.sum()) / known, period_of(steps), z)
