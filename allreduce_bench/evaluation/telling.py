"""Comparison of two cells over their launches: the ratio of times, its uncertainty, and correction for many tests.

The unit is the launch: the logarithm of the ratio of two medians of one launch, in which whatever slows down the whole
launch cancels. Its variance is borrowed from all pairs that are asked about together (`spread`), but is never less than
the pair's own: pairs differ in their noise, and what a quiet one lends makes no noisy one sure. A launch that was
disturbed while one of the two ran is drawn in to what the others allow: to FENCE times the larger of the pair's own
median absolute deviation and the typical standard deviation of all pairs, from FEW_TO_DRAW_IN launches on. What is
drawn in says less: the variance is divided by the square of the share that is not (Huber, Robust Statistics, 1981).
"""

from collections.abc import Mapping, Sequence
from math import log
from typing import NamedTuple

import numpy as np

from .cell_times import MIN_LAUNCHES
from .spread import NORMAL_MAD, NOTHING, prior_of, shrunk, t_quantile, two_sided_p
from .summary_row import SummaryRow

ERROR_SHARE = 0.025  # of all answers to one question about many pairs: of its sizes, and of all sizes together
NEGLIGIBLE = 1.05  # the ratio of times below which two are as fast
FEW_TO_DRAW_IN, FENCE = 5, 1.5
LEAST_VARIANCE = 1e-8  # of a logarithm: clocks and medians are no finer than 0.01 %


class Difference(NamedTuple):
    """The comparison of the times of two cells."""

    ratio: float  # geometric mean over launches
    low: float  # 95 % interval of it, of this one alone
    high: float
    p_value: float  # two-sided: of a ratio as far from 1 where none is
    is_equal: bool  # shown to be below NEGLIGIBLE either way (two one-sided tests of 5 %)

    @property
    def inverse(self) -> "Difference":
        """How the other one compares with this one."""
        return self._replace(ratio=1 / self.ratio, low=1 / self.high, high=1 / self.low)


def launch_ratios(row: SummaryRow, other: SummaryRow) -> dict[str, float]:
    """row / other for the medians of every launch that measured both: launch -> ratio."""
    medians_s, other_medians_s = row["launch_medians"], other["launch_medians"]
    return {launch: medians_s[launch] / other_medians_s[launch] for launch in medians_s if launch in other_medians_s}


def differences(ratios_of_pairs: Sequence[Sequence[float]], kept: Sequence[float] = ()) -> list[Difference | None]:
    """The comparison of each pair from its ratios, launch by launch; None: fewer than MIN_LAUNCHES launches.

    `kept`: of each pair the share of what its ratios are made of that was not drawn in before; empty: all of it.
    """
    known = [i for i, ratios in enumerate(ratios_of_pairs) if len(ratios) >= MIN_LAUNCHES]
    drawn = _draw_in([np.log(ratios_of_pairs[i]) for i in known])
    shares = [logs.kept * (kept[i] if kept else 1.0) for i, logs in zip(known, drawn)]
    variances = [max(float(logs.values.var(ddof=1)) / share**2, LEAST_VARIANCE) for logs, share in zip(drawn, shares)]
    degrees = [len(logs.values) - 1.0 for logs in drawn]
    prior = prior_of(variances, degrees) if drawn else NOTHING
    moderated = [shrunk(*own, prior) for own in zip(variances, degrees)]
    told: list[Difference | None] = [None] * len(ratios_of_pairs)
    for i, logs, own, (variance, all_degrees) in zip(known, drawn, variances, moderated):
        told[i] = _difference(logs.values, max(own, variance), all_degrees)
    return told


class DrawnIn(NamedTuple):
    """Logarithms of ratios by launch, those of disturbed launches drawn in to what the others allow."""

    values: np.ndarray
    kept: float  # share of the launches that are as they were


def drawn_in(ratios_of_pairs: Sequence[Mapping[str, float]]) -> list[DrawnIn]:
    """The ratios of each pair, launch -> ratio, drawn in."""
    return _draw_in([np.log(list(ratios.values())) for ratios in ratios_of_pairs])


def holm(p_values: Sequence[float], error_share: float = ERROR_SHARE) -> list[bool]:
    """The tests that are significant, with a family-wise error of at most `error_share`.

    Step-down: the smallest of n p-values counts n times, the next n - 1 times, … (Holm, Scand. J. Statist. 6, 1979).
    """
    answered = [False] * len(p_values)
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[i] > error_share / (len(p_values) - rank):
            break
        answered[i] = True
    return answered


def _draw_in(logs_of_pairs: Sequence[np.ndarray]) -> list[DrawnIn]:
    spreads = [float(logs.std(ddof=1)) for logs in logs_of_pairs if len(logs) > 1]
    typical = float(np.median(spreads)) if spreads else 0.0
    return [_clipped(logs, typical) if len(logs) >= FEW_TO_DRAW_IN else DrawnIn(logs, 1.0) for logs in logs_of_pairs]


def _clipped(logs: np.ndarray, typical: float) -> DrawnIn:
    middle = np.median(logs)
    reach = FENCE * max(float(np.median(np.abs(logs - middle))) / NORMAL_MAD, typical)
    inside = np.abs(logs - middle) <= reach
    return DrawnIn(np.clip(logs, middle - reach, middle + reach), max(float(inside.mean()), 1 / len(logs)))


def _difference(logs: np.ndarray, variance: float, degrees: float) -> Difference:
    centre, error = float(logs.mean()), float(np.sqrt(variance / len(logs)))
    reach, one_sided = (float(t_quantile(share, degrees)) * error for share in (0.975, 0.95))
    low, ratio, high = (float(np.exp(value)) for value in (centre - reach, centre, centre + reach))
    is_equal = abs(centre) + one_sided < log(NEGLIGIBLE)
    return Difference(ratio, low, high, float(two_sided_p(centre / error, degrees)), is_equal)
