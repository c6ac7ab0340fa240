"""Localisation of lateness, and steps without it: a rank, its node, or a whole group of ranks.

A step ends when the last rank is ready and the call is made: no delay outlasts the common end. So the duration of a
step changes by as much as its last arrival, and each step is replayed by itself with other arrivals.
"""

from collections.abc import Iterable

import numpy as np

from ..robust import median
from .slow_units import (
    CLOCK_ERRORS,
    FEWEST_WORTH,
    GROUP,
    LEAST_SLOWER,
    NODE,
    RANK,
    Late,
    Standing,
    late_at_times,
    measure_standing,
    two_groups,
)

# A node or its ranks
ALIKE = 0.5  # of the lateness of a node: ranks within this distance are late with their node
MOST_ALONE = 3  # late nodes or ranks named individually; more, or half of all, are a group


def localise(
    ready_s: np.ndarray, node_of: tuple[int, ...], undisturbed_s: float, clock_error_s: float
) -> tuple[Standing, list[Late]]:
    """Return the standing of each rank, and who is late. Arguments as of `slow_units.measure_standing`.

    A node is late instead of its ranks if it is slow, as the median of its ranks, and more than half of its ranks, two
    or more, are equally late. Many equally late ranks are a group. A rank that is slower than its late node or group is
    named separately. Ranks that are late in some of their steps come last.
    """
    of_ranks = measure_standing(ready_s, undisturbed_s, clock_error_s)
    group = _late_group(ready_s, node_of, of_ranks, undisturbed_s, clock_error_s)
    left_s = move_earlier(ready_s, group)
    nodes = _late_nodes(left_s, np.array(node_of), undisturbed_s, clock_error_s)
    found = group + nodes
    slow = of_ranks.slow
    if found:
        slow = measure_standing(move_earlier(left_s, nodes), undisturbed_s, clock_error_s).slow
    found += [each._replace(node=node_of[each.unit]) for each in slow]
    return of_ranks, found + _find_late_at_times(ready_s, node_of, found, undisturbed_s, clock_error_s)


def _late_group(
    ready_s: np.ndarray, node_of: tuple[int, ...], of_ranks: Standing, undisturbed_s: float, clock_error_s: float
) -> list[Late]:
    """Return the slower of two groups; empty if it is one node, or so few nodes or ranks that each is named."""
    if len(ready_s) < FEWEST_WORTH * of_ranks.alike_steps:
        return []
    apart_s = median(ready_s - median(ready_s, axis=1)[:, None], axis=0)
    groups = two_groups(apart_s, undisturbed_s, of_ranks.deviation_s)
    if groups is None or groups.late_s < max(LEAST_SLOWER * undisturbed_s, CLOCK_ERRORS * clock_error_s):
        return []
    ranks = tuple(np.flatnonzero(groups.slow).tolist())
    known = int((~np.isnan(apart_s)).sum())
    nodes = nodes_of(ranks, node_of)
    by_nodes = bool(nodes) and len(nodes) < len(ranks)
    units, all_units = (len(nodes), len(set(node_of))) if by_nodes else (len(ranks), known)
    if (by_nodes and units == 1) or (units <= MOST_ALONE and 2 * units < all_units):
        return []
    node = nodes[0] if len(nodes) == 1 else -1
    return [Late(ranks, 0, len(ready_s), groups.late_s, GROUP, node, groups.distance)]


def nodes_of(ranks: tuple[int, ...], node_of: tuple[int, ...]) -> tuple[int, ...]:
    """Return the nodes that consist of exactly these ranks; empty if the ranks are not whole nodes."""
    inside = {node_of[rank] for rank in ranks}
    return tuple(sorted(inside)) if sum(node in inside for node in node_of) == len(ranks) else ()


def _find_late_at_times(
    ready_s: np.ndarray, node_of: tuple[int, ...], found: list[Late], undisturbed_s: float, clock_error_s: float
) -> list[Late]:
    named = np.zeros(ready_s.shape[1], dtype=bool)
    named[[rank for late in found if late.kind == RANK for rank in late.ranks]] = True
    at_times = late_at_times(move_earlier(ready_s, found), undisturbed_s, CLOCK_ERRORS * clock_error_s, named)
    return [each._replace(node=node_of[each.unit]) for each in at_times]


def _late_nodes(ready_s: np.ndarray, node_of: np.ndarray, undisturbed_s: float, clock_error_s: float) -> list[Late]:
    sizes = np.bincount(node_of)
    if len(sizes) < 2 or sizes.max() < 2:
        return []
    node_ready_s = _medians_of_nodes(ready_s, node_of, sizes)
    late = []
    for slow in measure_standing(node_ready_s, undisturbed_s, clock_error_s).slow:
        ranks, steps = np.flatnonzero(node_of == slow.unit), slice(slow.from_step, slow.to_step)
        apart_s = median(ready_s[steps, ranks] - node_ready_s[steps, slow.unit, None], axis=0)
        alike = np.abs(apart_s) <= ALIKE * slow.late_s
        if alike.sum() >= 2 and 2 * alike.sum() > (~np.isnan(apart_s)).sum():
            as_late = ranks[apart_s >= -ALIKE * slow.late_s]
            late.append(slow._replace(kind=NODE, node=slow.unit, ranks=tuple(as_late.tolist())))
    return late


def _medians_of_nodes(ready_s: np.ndarray, node_of: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the median ready time of each node's ranks, float64 [step, node]."""
    node_ready_s = np.full((len(ready_s), len(sizes)), np.nan)
    order = np.argsort(node_of, kind="stable")
    for node, ranks in enumerate(np.split(order, np.cumsum(sizes)[:-1])):  # nodes may be of very different sizes
        if len(ranks):
            node_ready_s[:, node] = median(ready_s[:, ranks], axis=1)
    return node_ready_s


def move_earlier(ready_s: np.ndarray, late: Iterable[Late]) -> np.ndarray:
    """Return the arrivals without the named lateness; the noise of each step stays.

    `ready_s`: float64 [step, rank], seconds; NaN: not known.
    """
    moved_s = ready_s.copy()
    for each in late:
        moved_s[np.ix_(each.steps(len(moved_s)), np.array(each.ranks, dtype=int))] -= each.late_s
    return moved_s


def replace_arrivals(ready_s: np.ndarray, late: Iterable[Late]) -> np.ndarray:
    """Replace the arrivals of the named ranks by the median of the others in the step.

    They stay in steps where no other rank is known.
    """
    is_named = np.zeros(ready_s.shape, dtype=bool)
    for each in late:
        is_named[np.ix_(each.steps(len(ready_s)), np.array(each.ranks, dtype=int))] = True
    rest_s = median(np.where(is_named, np.nan, ready_s), axis=1)[:, None]
    return np.where(is_named & ~np.isnan(ready_s) & ~np.isnan(rest_s), rest_s, ready_s)


def saved_s(ready_s: np.ndarray, instead_s: np.ndarray) -> float:
    """Return by how much all steps together end earlier with other arrivals, seconds; both float64 [step, rank]."""
    return float(earlier_s(ready_s, instead_s).sum())


def earlier_s(ready_s: np.ndarray, instead_s: np.ndarray) -> np.ndarray:
    """Return by how much each step ends earlier with other arrivals, float64 [step], seconds."""
    return _last(ready_s) - _last(instead_s)


def mean_wait_s(ready_s: np.ndarray) -> float:
    """Return the mean over ranks of their waits, summed over all steps, seconds."""
    known = ~np.isnan(ready_s)
    ranks = np.maximum(known.sum(axis=1), 1)
    return float((_last(ready_s) - np.sum(ready_s, axis=1, where=known) / ranks).sum())


def _last(ready_s: np.ndarray) -> np.ndarray:
    """Return the last arrival of each step, float64 [step]; 0 if none is known."""
    latest = np.max(ready_s, axis=1, initial=-np.inf, where=~np.isnan(ready_s))
    return np.where(np.isinf(latest), 0.0, latest)
