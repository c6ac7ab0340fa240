"""The order of additions of an all-reduce: for each element a tree, whose leaves are the ranks.

From outside it is found by sums that round (FPRev: Xie, Gao and Xue, "FPRev: Revealing the order of floating-point
summation", arXiv 2411.00442). Rank i gives M, rank j gives -M, all others 1, where M is so large that adding ones to it
changes nothing. The ones that were added to M or to -M before the two met are lost, the others come back: the ranks
without what comes back is the number of leaves under the smallest part of the tree that holds both. These numbers for
all pairs determine the tree. a + b and b + a have the same bits: the order of two operands is not seen.

From steps it follows by symbolic execution, as in the proof (`schedule.verify`).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, groupby
from typing import NamedTuple

import numpy as np

from ..schedule import Parts, Schedule
from ..schedule.verify import Values, replay

Tree = int | tuple["Tree", ...]  # a rank, or trees that are added, that with the lowest rank first
Pair = tuple[int, int]

LEAST_BYTES = 4  # of a vector that is looked at
MOST_FOR_ALL = 8  # ranks of which all pairs are looked at
MOST_RANKS_OF = {"float32": 64, "float64": 2**20}  # so that ones vanish beside M
LARGE_OF = {"float32": 2.0**30, "float64": 2.0**60}


class Span(NamedTuple):
    """Elements that are added alike: those from `start` up to `stop`, with the tree on each rank."""

    start: int
    stop: int
    trees: tuple[Tree | None, ...]  # by rank; None: the sums that came back are those of no tree


Order = tuple[Span, ...]


def dtype_for(ranks: int) -> str:
    """Return the type of elements by which the order can be seen over this many ranks."""
    return next(dtype for dtype, most in MOST_RANKS_OF.items() if ranks <= most)


def input_of(rank: int, pair: Pair, dtype: str) -> float:
    """Return what a rank gives in the call that looks at a pair."""
    return {pair[0]: LARGE_OF[dtype], pair[1]: -LARGE_OF[dtype]}.get(rank, 1.0)


# From outside


class Runs(NamedTuple):
    """Numbers of the elements of a vector, as runs of equal ones."""

    starts: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, vector: np.ndarray) -> "Runs":
        """Find the runs of a vector."""
        starts = np.concatenate(([0], np.flatnonzero(vector[1:] != vector[:-1]) + 1))
        return cls(starts, vector[starts])

    def at(self, starts: np.ndarray) -> np.ndarray:
        """Return the numbers of some elements."""
        return self.values[np.searchsorted(self.starts, starts, side="right") - 1]


def trees_from_outside(came_back: Mapping[Pair, Runs], size: int) -> tuple[list[int], list[Tree | None]]:
    """Return where elements begin that one rank added alike, and their trees, by what came back for each pair."""
    starts, columns = _leaves_under(came_back, size)
    known = {column: _tree(range(size), dict(zip(came_back, column))) for column in set(columns)}
    return starts.tolist(), [known[column] for column in columns]


def pairs_to_ask(came_back: Mapping[Pair, Runs], size: int) -> list[Pair]:
    """Return the pairs of ranks to look at next, by what came back so far; none: the trees are known.

    Of few ranks all pairs are looked at, though fewer would do: what is no tree then shows.
    """
    if not came_back:
        return [pair for pair in combinations(range(size), 2) if size <= MOST_FOR_ALL or pair[0] == 0]
    _, columns = _leaves_under(came_back, size)
    return sorted(set().union(*(_unknown(range(size), dict(zip(came_back, column))) for column in set(columns))))


def _leaves_under(came_back: Mapping[Pair, Runs], size: int) -> tuple[np.ndarray, list[tuple[float, ...]]]:
    """Return where elements of equal numbers begin, and these: the leaves under each pair."""
    starts = np.unique(np.concatenate([[0], *(runs.starts for runs in came_back.values())]).astype(np.int64))
    columns = [(size - runs.at(starts)).tolist() for runs in came_back.values()]
    return starts, list(zip(*columns)) if columns else [()] * len(starts)


def _unknown(ranks: Sequence[int], under: Mapping[Pair, float]) -> set[Pair]:
    """Return the pairs that the tree of ascending ranks depends on next."""
    first, *others = ranks
    absent = {(first, other) for other in others} - under.keys()
    groups = [] if absent else [group for _, group in _groups(first, others, under)]
    return absent.union(*(_unknown(group, under) for group in groups))


def _groups(first: int, others: Sequence[int], under: Mapping[Pair, float]) -> list[tuple[float, list[int]]]:
    """Return the ranks that are added to the part of the first one at the same time, with the leaves there are then."""
    in_order = sorted(others, key=lambda rank: under[first, rank])
    return [(leaves, list(group)) for leaves, group in groupby(in_order, lambda rank: under[first, rank])]


def _tree(ranks: Sequence[int], under: Mapping[Pair, float]) -> Tree | None:
    """Return the tree of ascending ranks by the leaves under each pair; None: there is none."""
    first, *others = ranks
    tree: Tree = first
    size = 1
    for leaves, joining in _groups(first, others, under):
        operands = _operands(joining, leaves, under)
        size += len(joining)
        if operands is None or size != leaves:
            return None
        tree = (tree, *operands)
    return tree


def _operands(ranks: list[int], leaves: float, under: Mapping[Pair, float]) -> list[Tree] | None:
    """Return the trees of ascending ranks that are added at once to another; mostly one."""
    operands: list[Tree] = []
    left = ranks
    while left:
        together = [rank for rank in left if rank == left[0] or under[left[0], rank] < leaves]
        tree = _tree(together, under)
        if tree is None or any(
            under.get((min(a, b), max(a, b)), leaves) != leaves for a in together for b in left if b not in together
        ):
            return None
        operands.append(tree)
        left = [rank for rank in left if rank not in together]
    return operands


def joined(of_ranks: Sequence[tuple[Sequence[int], Sequence[Tree | None]]], count: int) -> Order:
    """Return the order of all ranks, by where the trees of each begin."""
    starts = sorted({start for begins, _ in of_ranks for start in begins})
    places = [np.searchsorted(begins, starts, side="right") - 1 for begins, _ in of_ranks]
    of_part = (tuple(trees[place[part]] for place, (_, trees) in zip(places, of_ranks)) for part in range(len(starts)))
    return merged(zip(zip(starts, [*starts[1:], count]), of_part))


def merged(parts: Iterable[tuple[tuple[int, int], tuple[Tree | None, ...]]]) -> Order:
    """Return consecutive parts, neighbours of equal trees as one span."""
    spans: list[Span] = []
    for (start, stop), trees in parts:
        if spans and spans[-1].trees == trees:
            start = spans.pop().start
        spans.append(Span(start, stop, trees))
    return tuple(spans)


# From steps


def order_of(schedules: Sequence[Schedule], count: int) -> Order:
    """Return the order that follows from the steps of all ranks. Raises Refusal if they are no all-reduce."""
    parts = Parts(schedules, count)
    values, state = replay(schedules, parts)
    tree_of = _trees(values, len(schedules))
    spans = [parts.span(part) for part in range(len(parts))]
    of_part = zip(*([tree_of[value] for value in held] for held in state))
    return merged(((span.start, span.stop), trees) for span, trees in zip(spans, of_part))


def _trees(values: Values, size: int) -> list[Tree]:
    """Return the tree of each value."""
    trees: list[Tree] = list(range(size))
    for first, second in values.unions:  # in the order in which they were made
        trees.append(added(trees[first], trees[second]))
    return trees


def added(one: Tree, other: Tree) -> Tree:
    """Return the sum of two trees."""
    return (one, other) if lowest(one) < lowest(other) else (other, one)


# What trees look like


def lowest(tree: Tree) -> int:
    """Return the lowest rank in a tree."""
    while not isinstance(tree, int):
        tree = tree[0]
    return tree


def leaves(tree: Tree) -> tuple[int, ...]:
    """Return the ranks in a tree, ascending."""
    return (tree,) if isinstance(tree, int) else tuple(sorted(rank for part in tree for rank in leaves(part)))


def parts_of(tree: Tree) -> set[frozenset[int]]:
    """Return the sets of ranks that are added up somewhere in a tree."""
    own = frozenset(leaves(tree))
    return {own} if isinstance(tree, int) else {own}.union(*map(parts_of, tree))


def chain_of(tree: Tree) -> list[int] | None:
    """Return the ranks of a chain in the order in which they are added; None: it is no chain."""
    ranks: list[int] = []
    while not isinstance(tree, int):
        alone = [part for part in tree if isinstance(part, int)]
        rest = [part for part in tree if not isinstance(part, int)]
        if len(tree) != 2 or not alone:
            return None
        ranks.append(alone[-1])
        tree = rest[0] if rest else alone[0]
    return [*ranks, tree][::-1]


def depth(tree: Tree) -> int:
    """Return the most additions from a leaf to the root."""
    return 0 if isinstance(tree, int) else 1 + max(map(depth, tree))


def formula(tree: Tree | None) -> str:
    """Format `((0+1)+(2+3))`; a question mark where there is no tree."""
    if tree is None:
        return "?"
    return str(tree) if isinstance(tree, int) else f"({'+'.join(map(formula, tree))})"


def holds_nodes(tree: Tree, nodes: Sequence[Sequence[int]]) -> bool:
    """Return whether the ranks of each node are added up before anything of another node."""
    parts = parts_of(tree)
    return all(frozenset(node) in parts for node in nodes)
