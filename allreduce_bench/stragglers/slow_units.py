"""Slow ranks or nodes: later than the others always, for a while, as a group, or in some of their steps.

The rule of `measure_standing`, the test behind the straggler report. The lateness of a unit in a step is its ready
time behind the median of all other units in that step, so that neither the length of a step nor a slow unit shifts the
scale. A unit is slow if its mean lateness

* is significant: at least `critical_z` standard deviations of a mean under the noise of the steps. The noise is the
  larger of two: from blocks of steps, and from single steps with their correlation time (`noise.correlation_time`).
  Nobody is named if the steps are worth fewer than FEWEST_WORTH independent ones;
* stands out: from the lasting differences between units, and for a stretch from those in the same stretch
  (`noise.z_above_others`). Or it is CLEARLY_SLOWER, and at most one of so many units is expected so far out by these
  differences: then it is slow, but perhaps only the last of a wide field. With two or three units the others are the
  reference; if half of more are equally late, nobody stands out (`two_groups`);
* matters: at least LEAST_SLOWER of the undisturbed step, and CLOCK_ERRORS times the error of the clocks.

So is a unit that is slow for a while: all stretches of blocks of steps are tried, with a critical value corrected for
their number; the edges come from `noise.find_slow_period`. At most FALSE_ALARMS of arrivals without slow units give
one; tests/studies/operating_curve.py and false_causes.py measure that and the power of detection.
"""

from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ..robust import OF_NORMAL, block_medians, critical_z, deviation, median, median_of_others, spread_of_blocks
from .noise import (
    FEWEST_UNLIKE,
    PRIOR_FREEDOM,
    SPREAD,
    chance_of_at_least,
    correlation_time,
    correlation_time_of_events,
    expected_beyond,
    find_slow_period,
    z_above_others,
)

# Kinds of late units
RANK, NODE, GROUP = "rank", "node", "group"

# Slow units
FALSE_ALARMS = 0.005  # largest share of jobs without slow units in which noise alone names one
FALSE_ALARMS_OF_UNLIKE = 0.002  # the same for units with normal differences, beyond these
LEAST_SLOWER = 0.05  # of the undisturbed step: the least reported; half the threshold of an alarm
CLEARLY_SLOWER = 0.08  # of the undisturbed step: the least reported among units that differ
BEYOND_NOISE = 3.0  # additional deviations of the noise
LEAST_APART = 2.0  # deviations between units, beyond which at most one of so many is expected
MOST_EXPECTED = 1.5
CLOCK_ERRORS = 3  # no smaller lateness is claimed
CARE = 1.15  # factor on the deviation of a block: neighbouring blocks are slightly correlated, and noise is skewed

# Steps and blocks of them
FEWEST_STEPS = 10
FEWEST_WORTH = 5  # independent steps, also of a stretch
FEWEST_WORTH_AMONG_UNLIKE = (
    30  # to name a unit that does not stand out: with fewer, drift looks like lasting differences
)
FEWEST_BLOCKS, MOST_BLOCKS, STEPS_OF_BLOCK = 5, 50, 10  # longer blocks only with many steps

# Two groups
SMALLEST_GROUP = 8  # inverse share of the ranks, at least two
LEAST_DISTANCE = 6.0  # deviations within groups, of many ranks
FEW_RANKS = 2  # with so many ranks it is doubled

# Late at times
FALSE_ALARMS_AT_TIMES = 0.005  # largest share of jobs in which chance alone makes a rank late at times
THRESHOLDS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # of the undisturbed step
FEWEST_LATE = 3  # steps
MOST_LATE = 0.5  # of the steps: a rank that is late in more is slow
REGULAR = 0.8  # share of the late steps at equal distances, and of these places that are late steps
ONLY_ONE = 3  # times the late steps of any other rank, for regularity to count


class Late(NamedTuple):
    """Ranks that are equally later than the others in each step of a period, or in some of its steps."""

    ranks: tuple[int, ...]  # one, or all of a group or a node; where nodes are the units, the number of the node
    from_step: int
    to_step: int
    late_s: float  # median over the late steps of its period
    kind: str = RANK  # or NODE, GROUP
    node: int = -1  # -1: of several nodes
    z: float = np.nan  # relative to the noise
    stands_out: bool = True  # from the differences that units have anyway
    expected: float = 0.0  # expected number of units as late by these differences
    at: np.ndarray | None = None  # bool [step], of all steps: the late ones; None: all of the period
    share: float = 1.0  # of the steps of its period that are late
    every: int = 0  # distance of its late steps where they are regular

    @property
    def unit(self) -> int:
        """The only one of `ranks`."""
        return self.ranks[0]

    def steps(self, number: int) -> np.ndarray:
        """Return the steps, of `number` in all, in which they are late: bool [step]."""
        steps = np.zeros(number, dtype=bool)
        steps[self.from_step : self.to_step] = True
        return steps if self.at is None else steps & self.at


class Standing(NamedTuple):
    """The lateness of all units, and the slow ones."""

    late_s: np.ndarray  # float64 [unit]: median lateness over all steps, seconds; NaN: not known
    z: np.ndarray  # float64 [unit]: the same, in standard deviations
    deviation_s: float  # of the mean lateness of the median unit, by noise
    noise_s: float  # the smallest detectable lateness of the median unit
    slow: tuple[Late, ...]
    alike_steps: float  # steps worth an independent one; NaN: not known
    spread_s: float  # standard deviation between units, robust


class _NoiseOfBlocks(NamedTuple):
    blocks: np.ndarray  # float64 [block, unit]: medians of the lateness
    length: int  # steps of a block
    of_block_s: np.ndarray  # float64 [unit]: standard deviation of the noise of one block
    likely_s: float  # prior standard deviation between units
    fewest: int  # least number of blocks of a stretch

    def of_mean_s(self, blocks: float | np.ndarray) -> np.ndarray:
        """Return the standard deviation of a mean over so many blocks, and of the median over their steps, float64
        [unit].
        """
        return np.maximum(self.of_block_s / np.sqrt(blocks), 1e-15)

    def beyond_others(self, means_s: np.ndarray, blocks: float) -> np.ndarray:
        """Return how far means over so many blocks are above the other units, as a z: float64 [row, unit]."""
        if means_s.shape[1] < FEWEST_UNLIKE:
            return np.full(means_s.shape, np.inf)
        return z_above_others(means_s, float(np.hypot(self.likely_s, np.median(self.of_mean_s(blocks)))))


class TwoGroups(NamedTuple):
    """A cut of units into the slower ones and the rest."""

    slow: np.ndarray  # bool [unit]
    late_s: float  # mean of the slow units minus the mean of the others
    distance: float  # the same in standard deviations within the groups


def measure_standing(ready_s: np.ndarray, undisturbed_s: float, clock_error_s: float) -> Standing:
    """Return the standing of the units.

    `ready_s`: float64 [step, unit], seconds, NaN: not known, at least FEWEST_STEPS steps and two units.
    """
    steps, units = ready_s.shape
    every_late_s = ready_s - median_of_others(ready_s)
    late_s = median(every_late_s, axis=0)
    count = number_of_blocks(steps)
    alike = correlation_time(every_late_s)
    noise = _noise(every_late_s, count, alike, SPREAD * undisturbed_s)
    known = np.maximum((~np.isnan(noise.blocks)).sum(axis=0), 1)
    mean_s = np.where(np.isnan(late_s), np.nan, np.nan_to_num(noise.blocks).sum(axis=0) / known)
    apart_s = np.minimum(mean_s, mean_s - median(mean_s, axis=0))
    worth = count if alike == 1 else min(float(count), steps / alike)
    critical = critical_z(units / (FALSE_ALARMS / 2), max(2, round(worth)), units)
    least_s = max(LEAST_SLOWER * undisturbed_s, CLOCK_ERRORS * clock_error_s)
    spread_s = deviation(mean_s)
    z = apart_s / np.maximum(noise.of_mean_s(known), spread_s)
    deviation_s = float(np.median(noise.of_mean_s(known)))
    clearly_s = float(np.hypot(CLEARLY_SLOWER * undisturbed_s, BEYOND_NOISE * deviation_s))
    found = []
    if steps < FEWEST_WORTH_AMONG_UNLIKE * alike:
        clearly_s = np.inf
    if steps >= FEWEST_WORTH * alike:
        always = (apart_s / noise.of_mean_s(known) >= critical) & (late_s >= least_s)
        of_stretch_s = _stretch_levels(
            noise, least_s, critical_z(units * count**2 / FALSE_ALARMS, max(2, round(worth)), units)
        )
        for unit in np.flatnonzero(always | (of_stretch_s > 0)).tolist():
            by_stretch = bool(of_stretch_s[unit] > 0)
            level_s = max(float((of_stretch_s if by_stretch else mean_s)[unit]), least_s)
            found.append(_slow_unit(unit, every_late_s, level_s, noise, by_stretch and not always[unit]))
    slow = tuple(
        each
        for each in found
        if each.late_s >= least_s
        and each.z >= critical
        and (
            each.stands_out
            or (each.late_s >= clearly_s and each.expected < min(MOST_EXPECTED, expected_beyond(LEAST_APART, units)))
        )
    )
    return Standing(late_s, z, deviation_s, critical * deviation_s, slow, alike, spread_s)


def unknown_standing(units: int) -> Standing:
    """Return the standing if there are too few units or steps to compare."""
    return Standing(np.full(units, np.nan), np.full(units, np.nan), np.nan, np.nan, (), np.nan, np.nan)


def number_of_blocks(steps: int) -> int:
    """Return the number of blocks for so many steps."""
    return min(max(round(steps / STEPS_OF_BLOCK), FEWEST_BLOCKS), MOST_BLOCKS)


def _noise(late_s: np.ndarray, count: int, alike: float, likely_s: float) -> _NoiseOfBlocks:
    """Return the noise of `count` blocks; `alike`: steps worth an independent one."""
    length, medians = len(late_s) // count, block_medians(late_s, count)
    of_block_s = spread_of_blocks(medians)
    of_step_s = OF_NORMAL * median(np.abs(late_s - median(late_s, axis=0)), axis=0)
    lasting_s = float(median(of_step_s, axis=0)) * sqrt(alike / length)
    typical_s = float(np.median(of_block_s))
    more = max(1.0, lasting_s / typical_s) if typical_s > 0 else 1.0
    fewest = max(-(-FEWEST_STEPS // length), int(np.ceil(FEWEST_WORTH * alike / length)))
    return _NoiseOfBlocks(medians, length, CARE * more * of_block_s, likely_s, fewest)


def _stretch_levels(noise: _NoiseOfBlocks, least_s: float, critical: float) -> np.ndarray:
    """Return the mean of the most significant stretch of blocks of each unit, among those that matter and stand out.

    float64 [unit], seconds; 0: there is none.
    """
    count, units = noise.blocks.shape
    sums = np.concatenate([np.zeros((1, units)), np.cumsum(np.nan_to_num(noise.blocks), axis=0)])
    best, level_s = np.zeros(units), np.zeros(units)
    for blocks in range(noise.fewest, count + 1):
        means_s = (sums[blocks:] - sums[:-blocks]) / blocks
        score = means_s / noise.of_mean_s(blocks)
        clear = (means_s >= least_s) & (score >= critical)
        rows = np.flatnonzero(clear.any(axis=1))
        if not len(rows):
            continue
        unlike = noise.beyond_others(means_s[rows], blocks) >= -NormalDist().inv_cdf(
            FALSE_ALARMS_OF_UNLIKE / (units * count)
        )
        score = np.where(clear[rows] & unlike, score[rows], 0.0)
        highest = score.argmax(axis=0), np.arange(units)
        level_s = np.where(score[highest] > best, means_s[rows][highest], level_s)
        best = np.maximum(best, score[highest])
    return level_s


def _slow_unit(unit: int, every_late_s: np.ndarray, level_s: float, noise: _NoiseOfBlocks, of_stretch: bool) -> Late:
    late_s = every_late_s[:, unit]
    noise_of_step_s = max(float(noise.of_block_s[unit]) * sqrt(noise.length), 1e-15)
    start, stop = find_slow_period(late_s, level_s, noise_of_step_s)
    known = int((~np.isnan(late_s[start:stop])).sum())
    lateness_s = float(median(late_s[start:stop], axis=0)) if known >= FEWEST_STEPS else 0.0
    blocks = max(known, 1) / noise.length
    means_s = median(every_late_s[start:stop], axis=0) if stop > start else every_late_s[0]
    beyond = float(noise.beyond_others(means_s[None], blocks)[0, unit])
    units, tried = len(means_s), len(noise.blocks) if of_stretch else 1
    stands_out = beyond >= -NormalDist().inv_cdf(FALSE_ALARMS_OF_UNLIKE / (units * tried))
    z = lateness_s / float(noise.of_mean_s(blocks)[unit])
    expected = expected_beyond(beyond, units * tried)
    return Late((unit,), start, stop, lateness_s, z=z, stands_out=stands_out, expected=expected)


def two_groups(late_s: np.ndarray, undisturbed_s: float, noise_s: float) -> TwoGroups | None:
    """Split ranks into two groups of which one is slower: half of the nodes, a third, or all but a few; None if they
    are one.

    If many ranks are equally late nobody stands out, and the median rank may be a slow one. So the ranks are ordered by
    their lateness and split where the means of the two sides are furthest apart, in standard deviations within the
    sides (the maximum likelihood of two normal distributions of one width). Splitting a single distribution gives a
    distance, too: 3 to 4 deviations for many ranks, more for few. `critical_distance` lies beyond that of normal,
    uniform and heavy-tailed differences; tests/studies/false_causes.py measures it.

    `late_s`: float64 [unit], lateness over all steps against any reference; NaN: not known. `noise_s`: standard
    deviation of these by the noise of steps.
    """
    units = np.flatnonzero(~np.isnan(late_s))
    least = max(2, -(-len(units) // SMALLEST_GROUP))
    if len(units) < 2 * least:
        return None
    order = units[np.argsort(late_s[units], kind="stable")]
    ordered = late_s[order] - late_s[order[0]]
    sums, squares, number = np.cumsum(ordered), np.cumsum(ordered**2), len(units)
    low = np.arange(least, number - least + 1)  # ranks of the faster group
    high = number - low
    low_sum, high_sum = sums[low - 1], sums[-1] - sums[low - 1]
    within = np.maximum(squares[-1] - low_sum**2 / low - high_sum**2 / high, 0.0)
    prior = PRIOR_FREEDOM * ((SPREAD * undisturbed_s) ** 2 + noise_s**2)
    apart_s = high_sum / high - low_sum / low
    distance = apart_s / np.sqrt((prior + within) / (PRIOR_FREEDOM + number - 2))
    best = int(distance.argmax())
    if distance[best] < critical_distance(number):
        return None
    slow = np.zeros(len(late_s), dtype=bool)
    slow[order[low[best] :]] = True
    return TwoGroups(slow, float(apart_s[best]), float(distance[best]))


def critical_distance(units: int) -> float:
    """Return the least distance that separates two groups of so many units."""
    return LEAST_DISTANCE * (1 + FEW_RANKS / units)


def late_at_times(ready_s: np.ndarray, undisturbed_s: float, clock_s: float, left_out: np.ndarray) -> list[Late]:
    """Find ranks that are late in some of their steps: now and then, or in every tenth one.

    Such a rank hardly shifts its median. So its late steps are counted, those in which it exceeds its own usual
    lateness by a threshold, and compared with the others': a rank is late at times if it has significantly many of all
    late steps (binomial: Przyborowski and Wilenski, Biometrika 31, 1940), and stands out from the others, which may be
    late now and then, too. All THRESHOLDS are tried, with a critical value corrected for their number. Consecutive late
    steps are one event: a slowness that lasts for a while. Late steps at equal distances are further evidence, if no
    other rank has them.

    `ready_s`: float64 [step, unit]; `clock_s`: the least lateness claimed; `left_out`: bool [unit], not tested.
    """
    late_s = ready_s - median_of_others(ready_s)
    late_s = late_s - median(late_s, axis=0)
    known = ~np.isnan(late_s)
    most = FALSE_ALARMS_AT_TIMES / (len(THRESHOLDS) * known.shape[1])
    found: dict[int, tuple[float, float]] = {}  # unit: its p-value and threshold
    with np.errstate(invalid="ignore"):
        for threshold_s in (max(each * undisturbed_s, clock_s) for each in THRESHOLDS):
            p_values = _p_values(late_s > threshold_s, known, most)
            for unit in np.flatnonzero(p_values <= most).tolist():
                if not left_out[unit] and (unit not in found or p_values[unit] < found[unit][0]):
                    found[unit] = (float(p_values[unit]), threshold_s)
        return [_describe_unit(unit, late_s[:, unit], *found[unit]) for unit in sorted(found)]


def _p_values(is_late: np.ndarray, known: np.ndarray, most: float) -> np.ndarray:
    """Return p-values of the numbers of late steps, float64 [unit]; 1 if above `most`, or not tested."""
    counts, trials = is_late.sum(axis=0), known.sum(axis=0)
    p_values = np.ones(len(counts))
    asked = (counts >= FEWEST_LATE) & (counts <= MOST_LATE * trials)
    if not asked.any():
        return p_values
    shared = correlation_time_of_events(is_late)
    by_spread = _spread_p_values(counts, trials, shared)
    for unit in np.flatnonzero(asked & (by_spread <= FALSE_ALARMS_AT_TIMES)).tolist():
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


def _spread_p_values(counts: np.ndarray, trials: np.ndarray, alike: float) -> np.ndarray:
    """Return p-values of each unit's share relative to the spread of the others', float64 [unit]; 0: too few units.

    Of the angle of each share (arcsine transform), whose deviation by chance is the same for all: 1 / sqrt(trials).
    """
    if (trials > 0).sum() < FEWEST_UNLIKE:
        return np.zeros(len(counts))
    with np.errstate(invalid="ignore", divide="ignore"):
        angles = 2 * np.arcsin(np.sqrt(counts / trials))
    deviation = np.sqrt(alike / max(float(np.median(trials)), 1.0))
    return np.array([NormalDist().cdf(-float(z)) for z in z_above_others(angles[None], deviation)[0]])


def period_of(is_late: np.ndarray) -> int:
    """Return the distance of regular late steps; 0 if irregular. `is_late`: bool [step]."""
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
    """Return the probability that so many random steps are equally spaced from first to last; 1 if these are not.

    `others_are`: bool [step], that another unit is late. If one is late at the places that this one misses, the cause
    is shared by several units.
    """
    period, steps, late = period_of(is_late), len(is_late), int(is_late.sum())
    if not period:
        return 1.0
    phase = int(np.bincount(np.flatnonzero(is_late) % period).argmax())
    if (others_are & ~is_late)[phase::period].any():
        return 1.0
    # The second late step is free; each further one falls on its place with probability of about `late / steps`
    return float(min(1.0, (late / steps) ** (REGULAR * (late - 2))))


def _describe_unit(unit: int, late_s: np.ndarray, p_value: float, threshold_s: float) -> Late:
    """Describe a unit; late steps exceed half of the typical late step, which excludes noise beyond a low threshold."""
    half_s = max(threshold_s, 0.5 * float(np.median(late_s[late_s > threshold_s])))
    steps = late_s > half_s
    known = int((~np.isnan(late_s)).sum())
    z = -NormalDist().inv_cdf(max(p_value, 1e-300))
    late = Late((unit,), 0, len(steps), float(np.median(late_s[steps])), z=z, at=steps)
    return late._replace(share=float(steps.sum()) / known, every=period_of(steps))
