"""Which ranks, or which nodes, are later than the others: the test behind the straggler report.

The rule. The lateness of a unit in a step is its ready time behind the median of all other units in that step, so that
neither the length of a step nor a slow unit moves the scale. A unit is slow where its median lateness

* stands out: it is `critical_z` standard deviations or more. The deviation is the robust one between units (median
  absolute deviation), and never below what the noise of the steps does to a median. Of two units the other one is the
  reference; where half of more than two are late alike, nobody stands out;
* matters: LEAST_SLOWER of the undisturbed step or more, and CLOCK_ERRORS times the error of the clocks.

So is a unit that is slow for a while: all stretches of blocks of steps are tried, with a critical value for so many
stretches; the edges come from `change_points`. A set of arrivals without slow units gives one in ALARM of cases, at
most; tests/studies/operating_curve.py measures that and how often a slow one is found.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from .change_points import slow_between
from .robust import block_medians, critical_z, deviation, median, median_of_others, spread_of_blocks

ALARM = 0.005  # share of jobs without slow units of which noise alone names one, at most
LEAST_SLOWER = 0.05  # of the undisturbed step: what is worth a name; half of what is worth an alarm
CLOCK_ERRORS = 3  # no smaller lateness is claimed
CARE = 1.15  # times the deviation of a block: neighbouring blocks depend on each other a little, and noise is skewed
FEWEST_STEPS = 10
FEWEST_BLOCKS, MOST_BLOCKS, STEPS_OF_BLOCK = 5, 50, 10  # blocks are longer than this only where there are many steps


class SlowUnit(NamedTuple):
    """A unit that is slow."""

    unit: int
    late_s: float  # median over the steps of its period
    z: float
    from_step: int
    to_step: int


class Standing(NamedTuple):
    """How all units stand, and which are slow."""

    late_s: np.ndarray  # float64 [unit]: median lateness over all steps, seconds; NaN: not known
    z: np.ndarray  # float64 [unit]: the same, in standard deviations
    noise_s: float  # the least lateness of the median unit that noise lets tell
    slow: tuple[SlowUnit, ...]


class _Noise(NamedTuple):
    blocks: np.ndarray  # float64 [block, unit]: medians of the lateness
    length: int  # steps of a block
    of_block_s: np.ndarray  # float64 [unit]: standard deviation of the noise of one block
    between_s: float  # standard deviation between units

    def of_mean_s(self, blocks: float | np.ndarray) -> np.ndarray:
        """float64 [unit]: standard deviation of a mean over so many blocks, and of the median over their steps."""
        return np.maximum(np.maximum(self.of_block_s / np.sqrt(blocks), self.between_s), 1e-15)


def standing(ready_s: np.ndarray, undisturbed_s: float, clock_error_s: float) -> Standing:
    """`ready_s`: float64 [step, unit], seconds, NaN: not known, FEWEST_STEPS steps or more; two units or more."""
    steps, units = ready_s.shape
    every_late_s = ready_s - median_of_others(ready_s)
    late_s = median(every_late_s, axis=0)
    count = number_of_blocks(steps)
    medians = block_medians(every_late_s, count)
    noise = _Noise(medians, steps // count, CARE * spread_of_blocks(medians), deviation(late_s))
    known = np.maximum((~np.isnan(medians)).sum(axis=0), 1)
    deviation_s = noise.of_mean_s(known)
    mean_s = np.nan_to_num(medians).sum(axis=0) / known
    z = np.where(np.isnan(late_s), np.nan, np.minimum(mean_s, mean_s - np.median(mean_s)) / deviation_s)
    critical = critical_z(units / (ALARM / 2), count, units)
    least_s = max(LEAST_SLOWER * undisturbed_s, CLOCK_ERRORS * clock_error_s)
    always = (z >= critical) & (late_s >= least_s)
    score, level_s = _best_stretches(noise, least_s)
    for_a_while = score >= critical_z(units * count**2 / ALARM, count, units)
    found = [
        _slow_unit(unit, every_late_s[:, unit], max(level_s[unit], least_s), noise)
        for unit in np.flatnonzero(always | for_a_while).tolist()
    ]
    slow = tuple(each for each in found if each.late_s >= least_s and each.z >= critical)
    return Standing(late_s, z, critical * float(np.median(deviation_s)), slow)


def nobody(units: int) -> Standing:
    """Of units too few, or of too few steps, to compare."""
    return Standing(np.full(units, np.nan), np.full(units, np.nan), np.nan, ())


def number_of_blocks(steps: int) -> int:
    """Into how many blocks so many steps are cut."""
    return min(max(round(steps / STEPS_OF_BLOCK), FEWEST_BLOCKS), MOST_BLOCKS)


def _best_stretches(noise: _Noise, least_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Of each unit the stretch of blocks that stands out most among those whose mean matters: its z, and that mean."""
    count, units = noise.blocks.shape
    sums = np.concatenate([np.zeros((1, units)), np.cumsum(np.nan_to_num(noise.blocks), axis=0)])
    best, level_s = np.zeros(units), np.zeros(units)
    for blocks in range(-(-FEWEST_STEPS // noise.length), count + 1):
        highest_s = (sums[blocks:] - sums[:-blocks]).max(axis=0) / blocks
        score = np.where(highest_s >= least_s, highest_s / noise.of_mean_s(blocks), 0.0)
        level_s = np.where(score > best, highest_s, level_s)
        best = np.maximum(best, score)
    return best, level_s


def _slow_unit(unit: int, late_s: np.ndarray, level_s: float, noise: _Noise) -> SlowUnit:
    noise_of_step_s = max(float(noise.of_block_s[unit]) * sqrt(noise.length), 1e-15)
    start, stop = slow_between(late_s, level_s, noise_of_step_s)
    known = int((~np.isnan(late_s[start:stop])).sum())
    lateness_s = float(median(late_s[start:stop], axis=0)) if known >= FEWEST_STEPS else 0.0
    deviation_s = float(noise.of_mean_s(max(known, 1) / noise.length)[unit])
    return SlowUnit(unit, lateness_s, lateness_s / deviation_s, start, stop)
