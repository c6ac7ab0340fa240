"""Where the ranks of a drawing stand: as a ring, a tree, a pair of trees, a star, a grid of a hypercube, or nodes.

A place is the middle of a rank's box. Places have no unit; the largest box that overlaps no other follows from them.
"""

from collections.abc import Sequence
from math import ceil, copysign, cos, log2, pi, sin, sqrt
from typing import NamedTuple

from .drawing import Drawing

ASPECT = 1.25  # width of a box over its height
FILLED = 0.64  # of the way between two boxes; the rest is left to the messages
TALLEST = 0.8  # height of a box at most; the circle has radius 1
NODE_GAP = 1.5  # between nodes, in places within a node
MIDDLE = 0.7  # from the line between two trees to the lowest interior ranks


class Place(NamedTuple):
    """The middle of a box: x to the right, y upwards."""

    x: float
    y: float


Parents = tuple[int | None, ...]  # of each rank in one tree; None at the root


def places(drawing: Drawing) -> list[Place]:
    """The place of each rank, in the shape that the algorithm has."""
    if drawing.ranks <= 2 or drawing.shape == "ring":
        return _circle(range(drawing.ranks))
    if drawing.shape == "nodes":
        return _nodes(drawing.nodes)
    if drawing.shape == "hypercube":
        return _grid(drawing.ranks)
    if drawing.shape == "star":
        return _star(drawing)
    trees = reduction_trees(drawing)
    if drawing.shape == "tree" and len(trees) == 1:
        return _tree(trees[0])
    if drawing.shape == "two_trees" and len(trees) == 2:
        return _two_trees(*trees)
    return _circle(range(drawing.ranks))


def box(placed: Sequence[Place]) -> tuple[float, float]:
    """Width and height of the largest box that every place has room for."""
    height = TALLEST
    for number, one in enumerate(placed):
        for other in placed[:number]:
            room = max(abs(one.x - other.x) / ASPECT, abs(one.y - other.y))
            height = min(height, FILLED * room)
    return height * ASPECT, height


def reduction_trees(drawing: Drawing) -> list[Parents]:
    """The trees along which blocks are added up, one for all blocks that take the same way; none where a rank hands a
    block on twice or not at all, as an exchange does.
    """
    trees: dict[Parents, None] = {}
    for block in range(drawing.blocks):
        parents: list[int | None] = [None] * drawing.ranks
        for message in (message for round_ in drawing.rounds for message in round_.messages):
            if message.reduce and block in message.blocks:
                if parents[message.source] is not None:
                    return []
                parents[message.source] = message.dest
        if parents.count(None) != 1 or max(map(len, _levels(parents)), default=0) == 0:
            return []
        trees[tuple(parents)] = None
    return list(trees)


def _levels(parents: Sequence[int | None]) -> list[list[int]]:
    """The ranks of a tree by their distance from the root, each after its parent's elder children."""
    levels = [[rank for rank, parent in enumerate(parents) if parent is None]]
    while levels[-1]:
        levels.append([rank for above in levels[-1] for rank, parent in enumerate(parents) if parent == above])
    return levels[:-1]


def _circle(ranks: Sequence[int], radius: float = 1.0) -> list[Place]:
    """Clockwise, the first at the top; two of them side by side."""
    if len(ranks) == 1:
        return [Place(0, 0)]
    first = pi if len(ranks) == 2 else pi / 2
    angles = [first - 2 * pi * turn / len(ranks) for turn in range(len(ranks))]
    return [Place(radius * cos(angle), radius * sin(angle)) for angle in angles]


def _star(drawing: Drawing) -> list[Place]:
    """One rank in the middle that every message starts or ends at; without such a rank a circle."""
    messages = [message for round_ in drawing.rounds for message in round_.messages]
    hubs = [rank for rank in range(drawing.ranks) if all(rank in (one.source, one.dest) for one in messages)]
    if not hubs:
        return _circle(range(drawing.ranks))
    around = iter(_circle(range(drawing.ranks - 1)))
    return [Place(0, 0) if rank == hubs[0] else next(around) for rank in range(drawing.ranks)]


def _grid(ranks: int) -> list[Place]:
    """Rows of a power of two: ranks that differ in one bit stand in one row or in one column."""
    columns = 1 << ceil(log2(ranks) / 2)
    rows = ceil(ranks / columns)
    return [
        Place((rank % columns - (columns - 1) / 2) * ASPECT, (rows - 1) / 2 - rank // columns) for rank in range(ranks)
    ]


def _tree(parents: Parents) -> list[Place]:
    """The root at the top; each level is spread over the width."""
    levels = _levels(parents)
    widest = max(map(len, levels))
    placed = {}
    for depth, level in enumerate(levels):
        room = max(len(level), min(2**depth, widest))
        for turn, rank in enumerate(level):
            placed[rank] = Place(((turn + 0.5) / room - 0.5) * widest * ASPECT, -depth * _height(levels))
    return [placed[rank] for rank in range(len(parents))]


def _height(levels: list[list[int]]) -> float:
    """Between two levels: so much that the picture is not much wider than high."""
    return max(1.25, max(map(len, levels)) * ASPECT / 1.8 / len(levels))


def _two_trees(first: Parents, second: Parents) -> list[Place]:
    """Ranks from left to right; who is interior in the first tree stands above, who is in the second stands below."""
    heights = [[_above_leaves(rank, tree) for rank in range(len(tree))] for tree in (first, second)]
    levels = [up - down for up, down in zip(*heights)]
    higher = max(map(abs, levels)) - 1
    step = max(0.6, (len(first) * ASPECT / 4 / 1.7 - MIDDLE) / higher) if higher else 0.0
    return [
        Place(rank * ASPECT / 2, copysign(MIDDLE + (abs(level) - 1) * step, level) if level else 0.0)
        for rank, level in enumerate(levels)
    ]


def _above_leaves(rank: int, parents: Parents) -> int:
    """The most edges from `rank` down to a leaf."""
    children = [child for child, parent in enumerate(parents) if parent == rank]
    return 1 + max(_above_leaves(child, parents) for child in children) if children else 0


def _nodes(nodes: Sequence[Sequence[int]]) -> list[Place]:
    """Each node a block of ranks, the blocks in rows; every other row runs backwards, so that neighbours stay near."""
    wide = ceil(sqrt(max(map(len, nodes))))
    high = ceil(max(map(len, nodes)) / wide)
    columns = ceil(sqrt(len(nodes)))
    placed = {}
    for number, ranks in enumerate(nodes):
        column, row = _snake(number, columns)
        for turn, rank in enumerate(ranks):
            x, y = _snake(turn, wide)
            placed[rank] = Place((column * (wide - 1 + NODE_GAP) + x) * ASPECT, -row * (high - 1 + NODE_GAP) - y)
    return [placed[rank] for rank in range(len(placed))]


def _snake(number: int, columns: int) -> tuple[int, int]:
    """Column and row of what stands at `number` in rows that run to and fro."""
    row, column = divmod(number, columns)
    return (columns - 1 - column if row % 2 else column), row
