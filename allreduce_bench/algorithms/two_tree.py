"""Two-tree: two binary trees carry one half of the vector each; who is interior in one is a leaf in the other.

The first tree is the in-order binary tree: odd ranks are interior, even ranks are leaves. The second is its mirror
image (even p) or the same shifted by one rank (odd p). A rank then has at most two parents and two children, and the
edges can be coloured 0 and 1 so that the two that leave a rank differ, and the two that enter it too. Edges of colour
c are used in rounds of parity c: at most one send and one receive per rank and round, and both links of every rank
stay busy. Both halves are pipelined in k segments, first reduced to the roots, then broadcast. For p = 4, k = 1:

    tree of half 1: root d, edges a to b, c to b, b to d        (in-order: b is left of the root d)
    tree of half 2: root a, edges d to c, b to c, c to a        (its mirror image)

    round   up 1                up 2                up 3            then the same edges downwards
    moves   a1 to b, d2 to c    c1 to b, b2 to c    b1 to d, c2 to a

The default segment is 128 KiB.
"""

from collections.abc import Iterator
from functools import lru_cache

from allreduce_bench.algorithms._tree_pipeline import (
    Starts,
    Timetable,
    Tree,
    pipeline_cost,
    pipelined,
    starts,
    timetable,
)
from allreduce_bench.schedule import Step, split
from allreduce_bench.schedule.algorithm import Cost, Topology, algorithm


@lru_cache(maxsize=4)
def in_order_tree(size: int) -> list[int | None]:
    """Return the parent of each rank in the in-order binary tree whose leaves are the even ranks; None at the root."""
    parents: list[int | None] = [None] * size
    spans: list[tuple[int, int, int | None]] = [(0, size // 2 + 1, None)]  # leaves 2*first to 2*(last-1), their parent
    for first, last, parent in spans:  # grows during iteration
        middle = (first + last + 1) // 2
        rank = 2 * first if last - first == 1 else 2 * middle - 1
        if rank < size:  # an even size has one leaf too many
            parents[rank] = parent
        if last - first > 1:
            spans += [(first, middle, rank), (middle, last, rank)]
    return parents


def second_tree(size: int) -> list[int | None]:
    """Mirror the first tree (even `size`) or shift it by one rank (odd): its interior ranks are the first's leaves."""
    first = in_order_tree(size)
    if size % 2 == 0:
        return [None if parent is None else size - 1 - parent for parent in reversed(first)]
    return [None if parent is None else (parent + 1) % size for parent in (first[-1], *first[:-1])]


def colour_edges(edges: list[tuple[int, int]]) -> list[int]:
    """Colour directed edges 0 and 1 so that two that leave the same rank differ, and two that enter it.

    Every edge shares its tail with at most one other edge and its head with at most one, so the conflicts form paths
    and cycles that alternate between tails and heads, which are of even length: walking along them alternates colours.
    """
    conflicts = [_sharing([edge[end] for edge in edges]) for end in (0, 1)]
    colour = [-1] * len(edges)
    for start in range(len(edges)):
        if colour[start] < 0:
            colour[start] = 0
            for end in (0, 1):  # along the path in both directions
                number, other = start, conflicts[end][start]
                while other >= 0 and colour[other] < 0:
                    colour[other] = 1 - colour[number]
                    end = 1 - end
                    number, other = other, conflicts[end][other]
    return colour


def _sharing(ends: list[int]) -> list[int]:
    """Return for each of `ends` the index of the other one with the same rank, or -1."""
    partners, first_of = [-1] * len(ends), dict[int, int]()
    for number, rank in enumerate(ends):
        if rank in first_of:
            partners[number], partners[first_of[rank]] = first_of[rank], number
        first_of[rank] = number
    return partners


@lru_cache(maxsize=4)
def two_trees(size: int) -> tuple[Timetable, Timetable]:
    """Return both trees with their timetables; the same on every rank."""
    parents = in_order_tree(size), second_tree(size)
    edges = [(rank, parent) for tree in parents for rank, parent in enumerate(tree) if parent is not None]
    colours = iter(colour_edges(edges))
    first, second = (Tree(tree, [0 if parent is None else next(colours) for parent in tree]) for tree in parents)
    return timetable(first, colours=2), timetable(second, colours=2)


def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
    """Return the cost of at most 2(h+k-1) rounds up and as many down, each of one segment of half the vector."""
    halves = [count - count // 2, count // 2]
    return pipeline_cost(_starts(size, topology), halves, segment, colours=min(2, size - 1) or 1)


@lru_cache(maxsize=1024)
def _starts(size: int, topology: Topology) -> Starts:
    return starts(two_trees(size) if size > 1 else (), topology)


@algorithm(
    cost=cost,
    exact=False,
    formula="4(h+k-1) (alpha + n/2k beta) + 2(h+k-1) n/2k gamma, h = floor(log2 p), k segments per half",
    segmented=True,
    known_as="NCCL Tree (double binary tree, without the chain inside a node)",
    why=(
        "As in tree, a level takes two rounds: at most 4h for one segment of each half, h = floor(log2 p), and 4 "
        "more for each further one. Both halves move at once: who is a leaf of one tree works in the other."
    ),
    best="medium vectors on many ranks, where the ring's latency hurts.",
    source=(
        'Sanders, Speck and Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", '
        "Parallel Computing 35(12), 2009; in NCCL since 2.4 (Jeaugey, 2019)."
    ),
)
def two_tree(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
    """Two binary trees carry one half each."""
    if size > 1:
        yield from pipelined(rank, two_trees(size), split(range(count), 2), segment, colours=2)
