"""Layout of an algorithm's ranks in its natural shape, in units of a picture WIDTH wide."""

from collections.abc import Sequence
from itertools import combinations
from math import ceil, cos, pi, sin, sqrt
from typing import NamedTuple

from .drawing import Drawing, Edges, parents_of, trees_of

WIDTH = 640.0
PAGE_MARGIN = 8.0
FLATNESS = 0.56  # the height of a rank's box, in widths
WIDEST_BOX = 96.0
SQUASH = 0.7  # the height of a ring, in widths: boxes are flat, and so are screens
TILT = 0.42  # radians; turns the ranks of a node, so that links between nodes pass beside their boxes
FREE, CROWDED = 0.78, 0.9  # width of a box over the width at which boxes touch
MANY = 20  # ranks; up to here there is room for messages between the boxes
NODE_RADIUS = 100.0  # of the circle of the ranks of a node
NODE_HEAD = 13.0  # above them, for the node's name, in a picture of one column of nodes
NODE_GAP = 0.6  # between nodes, in widths of a box
LEVEL, MOST_HEIGHT = 100.0, 900.0  # between the rows of a tree, and of all rows

Point = tuple[float, float]


class Frame(NamedTuple):
    """Box around the ranks of one node: its upper left corner, width and height."""

    x: float
    y: float
    width: float
    height: float


class Layout(NamedTuple):
    """Centres of the ranks' boxes, and what surrounds them.

    `places[tree][rank]`: each of two trees has its own boxes; other shapes have one list. Block b travels in the tree
    `tree_of_block[b]`.
    """

    height: float
    box_width: float
    box_height: float
    places: tuple[tuple[Point, ...], ...]
    tree_of_block: tuple[int, ...]
    edges: tuple[tuple[tuple[int, int], ...], ...]  # of each tree: the pairs of ranks that exchange messages
    frames: tuple[Frame, ...]


def layout_of(drawing: Drawing) -> Layout:
    """Place the ranks of a drawing; boxes are as wide as fits, about WIDEST_BOX at most."""
    trees = _trees(drawing)
    tree_of_block = (0,) * drawing.blocks
    frames: list[Frame] = []
    if drawing.shape in ("tree", "two_trees"):
        tree_of_block = tuple(_tree_of(block, drawing, trees) for block in range(drawing.blocks))
        places = [
            _tree(edges, drawing.ranks, _root(drawing, tree_of_block.index(number)))
            for number, edges in enumerate(trees)
        ]
        if len(places) == 2:
            places[1] = _lower_second_tree(*places)
        places = _bring_rows_closer(places)
    elif drawing.shape == "nodes":
        points, frames = _nodes(drawing.nodes)
        places = [points]
    elif drawing.shape == "hypercube":
        places = [_hypercube(drawing.ranks, trees[0])]
    elif drawing.shape == "star":
        places = [_star(drawing.ranks, trees[0])]
    else:
        places = [_circle(drawing.ranks)]
    return _fit_to_width(places, frames, tree_of_block, [tuple(sorted(edges)) for edges in trees])


def _trees(drawing: Drawing) -> list[Edges]:
    """Return the edges of each tree; for other shapes one set of all edges."""
    rounds = [round_.messages for round_ in drawing.rounds]
    if drawing.shape in ("tree", "two_trees"):
        return trees_of(drawing.ranks, rounds)
    pairs = ((message.source, message.dest) for messages in rounds for message in messages)
    return [frozenset((min(pair), max(pair)) for pair in pairs)]


def _tree_of(block: int, drawing: Drawing, trees: Sequence[Edges]) -> int:
    pairs = {
        (min(message.source, message.dest), max(message.source, message.dest))
        for round_ in drawing.rounds
        for message in round_.messages
        if block in message.blocks
    }
    return next(number for number, edges in enumerate(trees) if pairs == edges)


def _root(drawing: Drawing, block: int) -> int:
    """Return the rank that first holds the whole sum of a block."""
    for round_ in drawing.rounds:
        for rank, held in enumerate(round_.held):
            if len(held[block]) == drawing.ranks:
                return rank
    return 0


def _tree(edges: Edges, ranks: int, root: int) -> list[Point]:
    """Place a tree: in-order columns, one row per level, the root on top; neighbours in a row have a column between."""
    parents = parents_of(edges, ranks, root)
    children: list[list[int]] = [[] for _ in range(ranks)]
    for rank, parent in enumerate(parents):
        if parent is not None:
            children[parent].append(rank)
    points: list[Point] = [(0.0, 0.0)] * ranks
    column, before = 0, -1  # the next column, and the level of the rank before it

    def place(rank: int, level: int) -> None:
        nonlocal column, before
        own, lower = children[rank], [child for child in children[rank] if child < rank]
        half = own[: len(own) // 2]
        left = lower if len(own) == 1 or 0 < len(lower) < len(own) else half
        for child in left:
            place(child, level + 1)
        column += level == before
        points[rank] = (float(column), float(level))
        column, before = column + 1, level
        for child in own:
            if child not in left:
                place(child, level + 1)

    place(root, 0)
    return [(x * WIDTH / (ranks + 1), y * LEVEL) for x, y in points]


def _lower_second_tree(first: list[Point], second: list[Point]) -> list[Point]:
    """Return the second tree's points moved below the first tree."""
    lowest = max(y for _, y in first) + LEVEL
    return [(x, lowest + y) for x, y in second]


def _bring_rows_closer(places: Sequence[Sequence[Point]]) -> list[list[Point]]:
    """Return the places with their rows closer, where they are too many."""
    share = min(1.0, MOST_HEIGHT / (max(y for points in places for _, y in points) or 1))
    return [[(x, y * share) for x, y in points] for points in places]


def _circle(ranks: int, radius: float = 270.0) -> list[Point]:
    """Place ranks on an ellipse, clockwise from the top; two from the left."""
    quarter = pi / 2 if ranks == 2 else 0.0
    turns = (2 * pi * rank / ranks - quarter for rank in range(ranks))
    return [(radius * sin(turn), -SQUASH * radius * cos(turn)) for turn in turns]


def _star(ranks: int, edges: Edges) -> list[Point]:
    centre = next(rank for rank in range(ranks) if sum(rank in edge for edge in edges) == ranks - 1)
    points = _circle(ranks - 1)
    points.insert(centre, (0.0, 0.0))
    return points


def _hypercube(ranks: int, edges: Edges) -> list[Point]:
    """Place cubes side by side; ranks beyond a power of two stand beside their only partner."""
    partners: list[set[int]] = [set() for _ in range(ranks)]
    for first, second in edges:
        partners[first].add(second)
        partners[second].add(first)
    core = [rank for rank in range(ranks) if len(partners[rank]) > 1 or ranks == 2]
    steps = [(190.0, 0.0), (0.0, 190.0), (92.0, 92.0), (372.0, 0.0), (0.0, 372.0)]
    points: list[Point] = [(0.0, 0.0)] * ranks
    for place, rank in enumerate(core):
        bits = [step for bit, step in enumerate(steps) if place >> bit & 1]
        points[rank] = (sum(x for x, _ in bits), sum(y for _, y in bits))
    for rank in set(range(ranks)) - {*core}:
        (partner,) = partners[rank]
        x, y = points[partner]
        points[rank] = (x - 48, y - 46)
    return points


def _nodes(nodes: Sequence[Sequence[int]]) -> tuple[list[Point], list[Frame]]:
    """Place one frame per node, in rows that alternate in direction; in each its ranks on a circle."""
    columns, most = ceil(sqrt(len(nodes))), max(map(len, nodes))
    circles = [_node_circle(len(ranks), NODE_RADIUS * min(1, most / 3)) for ranks in nodes]
    box, head = (
        min(WIDEST_BOX, *(CROWDED * _closest_distance(circle, 2 * WIDEST_BOX) for circle in circles)),
        NODE_HEAD * columns,
    )
    xs, ys = zip(*(point for circle in circles for point in circle))
    wide, tall = max(xs) - min(xs) + box * 1.1, max(ys) - min(ys) + box * (FLATNESS + 0.1) + head
    points: dict[int, Point] = {}
    frames = []
    for number, (ranks, circle) in enumerate(zip(nodes, circles)):
        row, place = divmod(number, columns)
        column = columns - 1 - place if row % 2 else place
        x, y = column * (wide + box * NODE_GAP), row * (tall + box * NODE_GAP)
        top = y + min(ys) - box * (FLATNESS + 0.1) / 2 - head
        frames.append(Frame(x + min(xs) - box * 0.55, top, wide, tall))
        points.update({rank: (x + right, y + down) for rank, (right, down) in zip(ranks, circle)})
    return [points[rank] for rank in sorted(points)], frames


def _node_circle(ranks: int, radius: float) -> list[Point]:
    """Place the ranks of a node on a circle."""
    turn = pi / 4 - TILT if ranks == 4 else TILT / 2
    angles = [2 * pi * index / ranks - turn for index in range(ranks)]
    return [(radius * sin(angle), -radius * cos(angle)) for angle in angles] if ranks > 1 else [(0.0, 0.0)]


def _fit_to_width(
    places: Sequence[Sequence[Point]],
    frames: Sequence[Frame],
    tree_of_block: tuple[int, ...],
    edges: Sequence[tuple],
) -> Layout:
    """Scale the picture to WIDTH, with the largest boxes that do not touch each other."""
    points = [point for points in places for point in points]
    crowded = frames or len(points) > MANY * len(places)
    box = min(WIDEST_BOX, (CROWDED if crowded else FREE) * _closest_distance(points, WIDEST_BOX))
    tall = box * FLATNESS
    xs, ys = zip(*points)
    left = min([min(xs) - box / 2, *(frame.x for frame in frames)])
    right = max([max(xs) + box / 2, *(frame.x + frame.width for frame in frames)])
    top = min([min(ys) - tall / 2, *(frame.y for frame in frames)])
    bottom = max([max(ys) + tall / 2, *(frame.y + frame.height for frame in frames)])
    scale = min(1.25, (WIDTH - 2 * PAGE_MARGIN) / (right - left))
    shift = (WIDTH - scale * (right - left)) / 2

    def move(x: float, y: float) -> Point:
        return round(shift + scale * (x - left), 1), round(PAGE_MARGIN + scale * (y - top), 1)

    return Layout(
        height=round(2 * PAGE_MARGIN + scale * (bottom - top), 1),
        box_width=round(box * scale, 1),
        box_height=round(tall * scale, 1),
        places=tuple(tuple(move(*point) for point in points) for points in places),
        tree_of_block=tree_of_block,
        edges=tuple(edges),
        frames=tuple(
            Frame(*move(frame.x, frame.y), round(frame.width * scale, 1), round(frame.height * scale, 1))
            for frame in frames
        ),
    )


def _closest_distance(points: Sequence[Point], widest: float) -> float:
    """Return the width at which the closest two boxes would touch."""
    pairs = combinations(points, 2)
    return min((max(abs(a - c), abs(b - d) / FLATNESS) for (a, b), (c, d) in pairs), default=widest)
