"""Round trips over hosts, directed: the slowest message first, then the sum of all.

A ring in lockstep waits for its slowest message in every step, so the bottleneck decides, and the sum only between
equals. Round trips of a short sum begin as the cheapest assignment of successors, whose cycles are patched together
(Karp, SIAM J. Comput. 8(4), 1979), and are improved by moving segments of a few hosts (Or, thesis, Northwestern
University, 1976) and by kicks that exchange two longer ones (Martin, Otto and Felten, Complex Systems 5(3), 1991). The
bottleneck is searched by bisection over the costs: those above it are forbidden. Of few hosts every round trip is
looked at.
"""

from collections.abc import Sequence
from itertools import permutations

import numpy as np

FEW = 8  # hosts, whose round trips are all looked at
LONGEST_SEGMENT, LONGEST_OF_MANY, MANY = 6, 2, 128  # hosts; of many, shorter ones are moved
KICKS_PER_HOST, KICKS, FEWEST_KICKS = 12, 20_000, 20  # of many hosts KICKS over their number, but at least a few
KICKS_PER_LIMIT = 0.1  # share of them while the bottleneck is searched
LONGEST_KICK = 10  # hosts of the two segments that are exchanged
CLOSE = 1.002  # bottlenecks that differ by less are not told apart
ROUNDING = 1e-12  # of the largest cost in a move: below, a gain is none
SEED = 1


def best_tour(cost: np.ndarray) -> list[int]:
    """Return a round trip over all rows of `cost` [from, to], positive and finite: a short bottleneck, then sum."""
    size = len(cost)
    if size < 3:
        return list(range(size))
    if size <= FEW:
        return _best_of_few(cost)
    tour, edges = short_tour(cost), np.sort(np.unique(cost[~np.eye(size, dtype=bool)]))
    low, high = np.searchsorted(edges, _least_bottleneck(cost)), np.searchsorted(edges, _bottleneck(cost, tour))
    while low < high and edges[high] > CLOSE * edges[low]:
        middle = (low + high) // 2
        found = short_tour(_limit_cost(cost, edges[middle]), tour, KICKS_PER_LIMIT)
        if (reached := _bottleneck(cost, found)) <= edges[middle]:
            tour, high = found, np.searchsorted(edges, reached)
        else:
            low = middle + 1
    again = short_tour(_limit_cost(cost, _bottleneck(cost, tour)), tour)
    return min(tour, again, key=lambda each: (_bottleneck(cost, each), _total(cost, each))).tolist()


def _best_of_few(cost: np.ndarray) -> list[int]:
    tours = np.array([(0, *rest) for rest in permutations(range(1, len(cost)))])
    along = cost[tours, np.roll(tours, -1, axis=1)]
    return tours[np.lexsort((along.sum(axis=1), along.max(axis=1)))[0]].tolist()


def short_tour(cost: np.ndarray, begun: np.ndarray | None = None, share: float = 1.0) -> np.ndarray:
    """Return a round trip over three rows of `cost` or more, whose sum is short.

    `begun`: one that is tried, too; `share` of the kicks are made.
    """
    best = _improve(cost, _patch_cycles(cost), range(len(cost)))
    if begun is not None:
        best = min(best, _improve(cost, begun, range(len(cost))), key=lambda each: _total(cost, each))
    random, best_sum = np.random.default_rng(SEED), _total(cost, best)
    kicks = max(FEWEST_KICKS, min(KICKS_PER_HOST * len(cost), KICKS // len(cost)))
    for _ in range(int(share * kicks) if len(cost) > 3 else 0):
        kicked, touched = _kick(best, random)
        kicked = _improve(cost, kicked, touched)
        if (found := _total(cost, kicked)) <= best_sum:
            best, best_sum = kicked, found
    return best


def edges_of(tour: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each message of a round trip comes from, and where it goes."""
    return np.asarray(tour), np.roll(tour, -1)


def _bottleneck(cost: np.ndarray, tour: np.ndarray) -> float:
    return float(cost[edges_of(tour)].max())


def _total(cost: np.ndarray, tour: np.ndarray) -> float:
    return float(cost[edges_of(tour)].sum())


def _least_bottleneck(cost: np.ndarray) -> float:
    """Return a bound: every host sends, and receives."""
    apart = np.where(np.eye(len(cost), dtype=bool), np.inf, cost)
    return float(max(apart.min(axis=0).max(), apart.min(axis=1).max()))


def _limit_cost(cost: np.ndarray, limit: float) -> np.ndarray:
    """Return costs in which one message above the limit outweighs all below it."""
    return np.where(cost > limit, cost + len(cost) * limit, cost)


def _patch_cycles(cost: np.ndarray) -> np.ndarray:
    """Return a round trip: the cheapest assignment of successors, its cycles joined, the largest two at a time."""
    from scipy.optimize import linear_sum_assignment  # late: a help waits a second for it

    size = len(cost)
    forbidden = cost.max() * size + 1.0  # to stay
    _, successor = linear_sum_assignment(np.where(np.eye(size, dtype=bool), forbidden, cost))
    cycles = sorted(_cycles(successor), key=len)
    while len(cycles) > 1:
        one, other = cycles.pop(), cycles.pop()
        after_one, after_other = successor[one], successor[other]
        change = cost[np.ix_(one, after_other)] + cost[np.ix_(other, after_one)].T
        change -= cost[one, after_one][:, None] + cost[other, after_other]
        at, there = np.unravel_index(change.argmin(), change.shape)
        successor[one[at]], successor[other[there]] = after_other[there], after_one[at]
        cycles.append([*one, *other])  # the largest still
    return np.array(_cycle(successor, 0))


def _cycles(successor: np.ndarray) -> list[list[int]]:
    left, cycles = set(range(len(successor))), []
    while left:
        cycles.append(_cycle(successor, min(left)))
        left -= set(cycles[-1])
    return cycles


def _cycle(successor: np.ndarray, start: int) -> list[int]:
    cycle = [start]
    while (following := int(successor[cycle[-1]])) != start:
        cycle.append(following)
    return cycle


def _improve(cost: np.ndarray, tour: np.ndarray, hosts: Sequence[int] | range) -> np.ndarray:
    """Return the round trip after all moves of segments that begin at `hosts`, and at hosts that these touched."""
    waiting = list(dict.fromkeys(int(host) for host in hosts))
    longest = LONGEST_SEGMENT if len(cost) <= MANY else LONGEST_OF_MANY
    is_waiting = np.zeros(len(cost), dtype=bool)
    is_waiting[waiting] = True
    while waiting:
        host = waiting.pop()
        is_waiting[host] = False
        for length in range(1, min(longest, len(cost) - 2) + 1):
            moved = _move_hosts(cost, tour, host, length)
            if moved is not None:
                tour, touched = moved
                waiting += [each for each in (*touched, host) if not is_waiting[each]]
                is_waiting[waiting] = True
                break
    return tour


def _move_hosts(cost: np.ndarray, tour: np.ndarray, host: int, length: int) -> tuple[np.ndarray, list[int]] | None:
    """Return the round trip after the best move of the segment of `length` hosts from `host`, and the hosts around it.

    None: no move is an improvement.
    """
    turned = _turn_to(tour, int((tour == host).argmax()))
    segment, rest = turned[:length], turned[length:]
    following = _turn_to(rest, 1)
    links = cost[rest, following]
    first, last = segment[0], segment[-1]
    forth = cost[rest, first] + cost[last, following] - links
    here = forth[-1]
    best, place, is_reversed = forth.min(), int(forth.argmin()), False
    if length > 1:
        within = cost[segment[1:], segment[:-1]].sum() - cost[segment[:-1], segment[1:]].sum()
        back = cost[rest, last] + cost[first, following] - links + within
        if back.min() < best:
            best, place, is_reversed = back.min(), int(back.argmin()), True
    if best >= here - ROUNDING * float(links.max(initial=here)):
        return None
    placed = segment[::-1] if is_reversed else segment
    touched = [rest[-1], rest[0], rest[place], following[place], first, last]
    return np.concatenate((rest[: place + 1], placed, rest[place + 1 :])), [int(each) for each in touched]


def _turn_to(tour: np.ndarray, place: int) -> np.ndarray:
    """Return the round trip as it begins at `place`."""
    return np.concatenate((tour[place:], tour[:place]))


def _kick(tour: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, list[int]]:
    """Return the round trip with two segments exchanged that follow each other, and the hosts at their ends."""
    turned = _turn_to(tour, int(random.integers(len(tour))))
    longest = min(LONGEST_KICK, len(tour) - 1)
    one = int(random.integers(1, longest))
    other = int(random.integers(one + 1, longest + 1))
    touched = [turned[at] for at in (0, one - 1, one, other - 1, other % len(tour), -1)]
    return np.concatenate((turned[one:other], turned[:one], turned[other:])), [int(each) for each in touched]
