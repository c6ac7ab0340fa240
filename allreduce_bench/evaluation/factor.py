"""The factor between two series of launch medians: the ratio of the times that a table shows, and its interval.

The time of a cell is the median over launches, so the factor at one size is the ratio of two such medians, and over
several sizes the geometric mean of these ratios: who divides the numbers of a table gets it. Its interval is one of
that same number: launches are drawn anew with replacement, all their cells together, since what slows a launch down
slows all of them, and the factor is made of each draw (percentile bootstrap; Efron, Ann. Stat. 7, 1979). The seed is
fixed, so the same launches always give the same interval.

How sure it is: at one size and with 3 to 5 launches it is the range of the ratios of single launches, which holds the
true ratio as often as `stats.launch_confidence` says: 75, 87.5 and 93.75 %. In simulations (`tests/studies/
error_rates.py`: normal, heavy-tailed and spiked launches, whose noise is shared by the two or not, 1 and 4 sizes) it
holds it in 71 to 80, 84 to 92 and 92 to 97 %, with 6 to 10 launches in 92 to 99 %.

Decisions (`verdict`) are not made from it: they test the ratios of single launches, which says more of few launches.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..stats import CONFIDENCE, geometric_mean, hull
from .cell_times import MIN_LAUNCHES

DRAWS = 2000  # of launches
SEED = 1979

Medians = Mapping[str, float]  # launch -> the median of its calls, seconds


class Factor(NamedTuple):
    """How many times longer one takes than another."""

    value: float
    low: float | None  # ends of its interval; None: fewer than MIN_LAUNCHES launches have all of the times
    high: float | None
    launches: int  # that have all of the times


def factor_of(pairs: Sequence[tuple[Medians, Medians]]) -> Factor:
    """The factor of one pair or more, one for each size: the launch medians of the slower and of the faster one."""
    value = geometric_mean([median(slower.values()) / median(faster.values()) for slower, faster in pairs])
    launches = [launch for launch in pairs[0][0] if all(launch in medians for pair in pairs for medians in pair)]
    if len(launches) < MIN_LAUNCHES:
        return Factor(value, None, None, len(launches))
    drawn = np.random.default_rng(SEED).integers(len(launches), size=(DRAWS, len(launches)))
    logs = np.zeros(DRAWS)
    for pair in pairs:
        slower, faster = (np.log([medians[launch] for launch in launches]) for medians in pair)
        logs += np.median(slower[drawn], axis=1) - np.median(faster[drawn], axis=1)
    ordered, beyond = np.sort(logs / len(pairs)), round(DRAWS * (1 - CONFIDENCE) / 2)
    ends = float(np.exp(ordered[beyond])), float(np.exp(ordered[-1 - beyond]))
    low, high = hull([ends, (value, value)])  # some launches may lack a time of which `value` is made
    return Factor(value, low, high, len(launches))
