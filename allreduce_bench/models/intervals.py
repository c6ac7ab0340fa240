"""How far off are predictions? Ratios of measured over predicted times at ranks that were left out, by distance.

Left out is each inner number of ranks by itself (`BETWEEN`), and all from some number on: up to 2 and up to 8 times the
largest that is left. Prices, anchors and trends are made without them. Where ten or more ratios were held out at a
distance, a prediction there lies within their 90 % range; else within x and / 1.8, or 3 beyond 2 times the ranks. At
sizes beyond the measured ones it lies within x and / as many times as they are larger or smaller, and 1.8: times may
grow there with an exponent from 0 to 1.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..runs.typed_json import Natural, NotNegative, Positive
from .anchor import Anchored, Measured

BETWEEN, NEAR, FAR = 1.0, 2.0, 8.0  # times the measured ranks
USUAL = {BETWEEN: 1.8, NEAR: 1.8, FAR: 3.0}  # factor of an interval, either way
MOST_SIZE = 4.0  # times the measured sizes
ENOUGH = 10  # ratios
COVERAGE = 0.9
FEWEST_FITTED = 2  # numbers of ranks that are left
USELESS = 1.0  # a 90th percentile of errors above it: do not use the model


class HeldOut(NamedTuple):
    """Relative errors |predicted / measured - 1| at the largest number of ranks, fitted without it."""

    median: NotNegative
    p90: NotNegative
    cells: Positive


class Range(NamedTuple):
    """The 90 % range of measured over predicted, at up to so many times the measured ranks."""

    times: NotNegative
    low: NotNegative  # at most 1
    high: NotNegative  # at least 1
    ratios: Natural  # held out at that distance


Fitter = Callable[[np.ndarray], Anchored]  # bool [cell] to fit -> times of these


def distance(value: float, measured: Sequence[int]) -> float:
    """Return how many times more or less than what was measured; 1: within that, or nothing was."""
    return max(1.0, value / max(measured), min(measured) / value) if measured else 1.0


def class_of(times: float) -> float | None:
    """Return the distance that counts for a prediction so many times away; None: beyond all."""
    return next((most for most in (BETWEEN, NEAR, FAR) if times <= most), None)


def held_out_ratios(cells: Measured, fit: Fitter) -> Iterator[tuple[float, int, np.ndarray]]:
    """Yield the distance, the ranks left out, and measured over predicted of its cells (float64 [cell])."""
    counts = np.unique(cells.ranks).tolist()
    for place, largest in enumerate(counts[:-1], 1):
        beyond = [count for count in counts[place:] if count <= FAR * largest]
        if place >= FEWEST_FITTED and beyond:
            anchored = fit(cells.ranks <= largest)
            for count in beyond:
                yield class_of(count / largest) or FAR, count, _ratios(anchored, cells, count)
    for count in counts[1:-1]:
        if len(counts) > FEWEST_FITTED:
            yield BETWEEN, count, _ratios(fit(cells.ranks != count), cells, count)


def _ratios(anchored: Anchored, cells: Measured, count: int) -> np.ndarray:
    """Return measured over predicted at the sizes between those that were fitted."""
    rows = cells.where((cells.ranks == count) & _within(cells.size_bytes, anchored.sizes))
    predicted = [anchored.predict(*cell).time_s for cell in zip(*(column.tolist() for column in rows[:3]))]
    return rows.time_s / np.array(predicted)


def _within(values: np.ndarray, limits: np.ndarray) -> np.ndarray:
    return (values >= limits[0]) & (values <= limits[-1])


def judge(cells: Measured, fit: Fitter) -> tuple[HeldOut | None, tuple[Range, ...]]:
    """Return the errors at the largest number of ranks, left out, and the ranges by distance."""
    found: dict[float, list[np.ndarray]] = {}
    at_largest: np.ndarray = np.empty(0)
    for times, count, ratios in held_out_ratios(cells, fit):
        found.setdefault(times, []).append(ratios)
        if count == cells.ranks.max():
            at_largest = ratios  # of the last, which is fitted to all others
    ranges = [Range(times, *_range(np.concatenate(ratios)), sum(map(len, ratios))) for times, ratios in found.items()]
    if not len(at_largest):
        return None, tuple(ranges)
    errors = np.abs(1 / at_largest - 1)
    held_out = HeldOut(float(np.median(errors)), float(np.quantile(errors, COVERAGE)), len(errors))
    return held_out, tuple(sorted(ranges))


def _range(ratios: np.ndarray) -> tuple[float, float]:
    """Return their range of COVERAGE, with 1 in it."""
    tails = (1 - COVERAGE) / 2, (1 + COVERAGE) / 2
    low, high = np.quantile(ratios, tails, method="weibull").tolist() if len(ratios) else (1.0, 1.0)
    return min(low, 1.0), max(high, 1.0)


def factors(
    ranges: Mapping[float, Range], ranks_times: float, size_times: float, is_on_measured: bool
) -> tuple[float, float] | None:
    """Return the factors of a time to the ends of its interval; None: too far for one.

    `is_on_measured`: so many ranks were measured, and a size beyond the measured ones is asked for.
    """
    times = class_of(ranks_times)
    if times is None or size_times > MOST_SIZE:
        return None
    known = ranges.get(times)
    low, high = (known.low, known.high) if known and known.ratios >= ENOUGH else (1 / USUAL[times], USUAL[times])
    if is_on_measured and size_times > 1:
        low = high = 1.0
    wider = max(USUAL[BETWEEN], size_times) if size_times > 1 else 1.0
    return low / wider, high * wider
