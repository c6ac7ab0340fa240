"""Alignment of ranks' clocks by the common ends of calls."""

import numpy as np

from ..robust import OF_NORMAL, block_medians, median

FEWEST_FOR_DRIFT = 9  # three steps in each third
STEPS_OF_BLOCK = 10  # the shortest delay of a rank that is reported, in steps


def aligned_by_common_end(ready_s: np.ndarray, end_s: np.ndarray) -> tuple[np.ndarray, float]:
    """Return ready times on one clock, and its error in seconds, from clocks of which only common ends are known.

    `ready_s`, `end_s`: float64 [step, rank], each rank on its own clock, seconds; NaN: unknown. All ranks leave a call
    at nearly the same moment. So the ends of a rank against those of the rank with the most known ends show the offset
    and drift of its clock: a line through the medians of the first and the last third (Tukey's resistant line,
    Exploratory Data Analysis, 1977), without drift below FEWEST_FOR_DRIFT ends. A second line is fitted against the
    median of all ranks. The error is the largest over ranks of the spread of ends around their line, or the largest
    median of STEPS_OF_BLOCK successive residuals, if that is more: a clock that jumped or changed its rate late in a
    job affects the latter, not the spread. A constant lag of the ends of a rank cannot be seen. Ready times of a rank
    without a common end are NaN. Raises ValueError if the shapes differ.
    """
    if ready_s.shape != end_s.shape or ready_s.ndim != 2:
        raise ValueError(f"ready times {ready_s.shape} and ends {end_s.shape} are not both [step, rank]")
    if not ready_s.size:
        return ready_s, 0.0
    reference = end_s[:, (~np.isnan(end_s)).sum(axis=0).argmax()]
    lines, _ = _lines(end_s - reference[:, None], reference)
    reference = median(end_s - lines, axis=1)
    lines, drift = _lines(end_s - reference[:, None], reference)
    error_s = _error_s(end_s - lines - reference[:, None])
    before_end_s = np.nan_to_num(reference[:, None] - (ready_s - lines))
    return ready_s - lines + drift * before_end_s, error_s


def _error_s(off_s: np.ndarray) -> float:
    """Return the error of residuals, float64 [step, rank], by their spread and by successive ends; 0: unknown."""
    last = off_s[-STEPS_OF_BLOCK:]
    half = off_s[STEPS_OF_BLOCK // 2 :]  # overlapping blocks: ten successive ends are most of some block
    blocks = [
        block_medians(part[: len(part) // STEPS_OF_BLOCK * STEPS_OF_BLOCK], len(part) // STEPS_OF_BLOCK)
        for part in (off_s, half, last)
        if len(part) >= STEPS_OF_BLOCK
    ]
    errors_s = np.concatenate([OF_NORMAL * median(np.abs(off_s), axis=0), *(np.abs(each).ravel() for each in blocks)])
    return float(np.max(errors_s, initial=0.0, where=~np.isnan(errors_s)))


def _lines(off_s: np.ndarray, time_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each rank's resistant line of offsets over time at each step, float64 [step, rank], and its slope, [rank].

    At steps without a time the line has its value of the nearest step that has one.
    """
    steps = np.arange(len(time_s))
    has_time = ~np.isnan(time_s)
    if not has_time.any():
        return np.full(off_s.shape, np.nan), np.zeros(off_s.shape[1])
    time_s = np.interp(steps, steps[has_time], time_s[has_time])
    slopes = np.array([_slope(time_s[known], of_rank[known]) for of_rank in off_s.T for known in [~np.isnan(of_rank)]])
    drift_s = np.outer(time_s, slopes)
    return drift_s + median(off_s - drift_s, axis=0), slopes


def _slope(time_s: np.ndarray, off_s: np.ndarray) -> float:
    third = len(time_s) // 3
    if len(time_s) < FEWEST_FOR_DRIFT:
        return 0.0
    between_s = float(np.median(time_s[-third:]) - np.median(time_s[:third]))
    return float(np.median(off_s[-third:]) - np.median(off_s[:third])) / between_s if between_s > 0 else 0.0
