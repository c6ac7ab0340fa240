"""Is it the rank or its node? Slow nodes first, then the ranks that are slow beyond what their node is."""

from typing import NamedTuple

import numpy as np

from .robust import median
from .slow_units import SlowUnit, Standing, standing
from .what_if import Lateness, moved_earlier

ALIKE = 0.5  # of the lateness of a node: as near to it are ranks that are late with their node


class Late(NamedTuple):
    """A node whose ranks are late alike, or a rank."""

    is_node: bool
    node: int
    z: float
    period: Lateness


def localise(
    ready_s: np.ndarray, node_of: tuple[int, ...], undisturbed_s: float, clock_error_s: float
) -> tuple[Standing, list[Late]]:
    """How each rank stands against all others, and who is late. Arguments as of `slow_units.standing`.

    A node is late instead of its ranks where it is slow, as the median of its ranks, and more than half of its ranks,
    two or more, are late alike. A rank that is slower than its late node is named beside it.
    """
    of_ranks = standing(ready_s, undisturbed_s, clock_error_s)
    nodes = _late_nodes(ready_s, np.array(node_of), undisturbed_s, clock_error_s)
    if nodes:
        beyond_s = moved_earlier(ready_s, [late.period for late in nodes])
        slow = standing(beyond_s, undisturbed_s, clock_error_s).slow
    else:
        slow = of_ranks.slow
    ranks = [Late(False, node_of[each.unit], each.z, _period((each.unit,), each)) for each in slow]
    return of_ranks, nodes + ranks


def _period(ranks: tuple[int, ...], slow: SlowUnit) -> Lateness:
    return Lateness(ranks, slow.from_step, slow.to_step, slow.late_s)


def _late_nodes(ready_s: np.ndarray, node_of: np.ndarray, undisturbed_s: float, clock_error_s: float) -> list[Late]:
    sizes = np.bincount(node_of)
    if len(sizes) < 2 or sizes.max() < 2:
        return []
    node_ready_s = _medians_of_nodes(ready_s, node_of, sizes)
    late = []
    for slow in standing(node_ready_s, undisturbed_s, clock_error_s).slow:
        ranks, steps = np.flatnonzero(node_of == slow.unit), slice(slow.from_step, slow.to_step)
        apart_s = median(ready_s[steps, ranks] - node_ready_s[steps, slow.unit, None], axis=0)
        alike = np.abs(apart_s) <= ALIKE * slow.late_s
        if alike.sum() >= 2 and 2 * alike.sum() > (~np.isnan(apart_s)).sum():
            as_late = ranks[apart_s >= -ALIKE * slow.late_s]
            late.append(Late(True, slow.unit, slow.z, _period(tuple(as_late.tolist()), slow)))
    return late


def _medians_of_nodes(ready_s: np.ndarray, node_of: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """float64 [step, node]: the median ready time of each node's ranks."""
    node_ready_s = np.full((len(ready_s), len(sizes)), np.nan)
    order = np.argsort(node_of, kind="stable")
    for node, ranks in enumerate(np.split(order, np.cumsum(sizes)[:-1])):  # nodes may be of very different sizes
        if len(ranks):
            node_ready_s[:, node] = median(ready_s[:, ranks], axis=1)
    return node_ready_s
