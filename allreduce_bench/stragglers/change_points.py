"""From which step to which a rank was slow."""

import numpy as np

EVIDENCE = 8.0  # logarithm of the likelihood ratio that an edge needs: e^-8 of edges are found where there are none
MOST_OF_A_STEP = 1.0  # of that logarithm: so an edge needs 8 steps or more, however clear each of them is


def slow_between(late: np.ndarray, slower_by: float, noise: float) -> tuple[int, int]:
    """The first step of the slow period, and the step after its last one; 0 and the number of steps: always.

    `late`: float64 [step], NaN: not known; `slower_by` > 0: how late the rank is while it is slow; `noise` > 0:
    standard deviation of a step that takes the dependence of steps into account. All in the same unit. A rank that is
    slow in several periods gives the one that weighs most.

    Each step weighs for one of two levels, 0 or `slower_by`, by the logarithm of the ratio of their likelihoods under
    normal noise; the period is the stretch of the largest sum. Single steps weigh little (MOST_OF_A_STEP), so that
    spikes make no period. An end of the steps is cut off only where it says clearly (EVIDENCE) that the rank was not
    slow: a sum of logarithms that drifts the other way exceeds h in e^-h of cases (Wald, Sequential Analysis, 1947).
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
