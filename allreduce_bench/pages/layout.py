"""Where every rank stands in the natural picture of an algorithm, in units of a picture that is WIDTH wide."""

from collections.abc import Sequence
from itertools import combinations
from math import ceil, cos, pi, sin, sqrt
from typing import NamedTuple

from .drawing import Drawing, Edges, parents_of, trees_of

WIDTH = 640.0
MARGIN = 8.0
FLATNESS = 0.78  # the height of a rank's box, in widths
WIDEST_BOX = 96.0
TILT = 0.42  # of the ranks of a node, so that links between nodes pass beside their boxes
FREE, CROWDED = 0.78, 0.9  # widths of boxes over those of boxes that touch
MANY = 20  # ranks: up to here there is room between the boxes for messages
NODE_RADIUS = 100.0  # of the circle of the ranks of a node
NODE_HEAD = 13.0  # above them, for the node's name, in a picture one node wide
NODE_GAP = 0.6  # between nodes, over the width of a box
LEVEL = 84.0  # between the rows of a tree

Point = tuple[float, float]


class Frame(NamedTuple):
    """A box round the ranks of one node: its upper left corner, width and height."""

    x: float
    y: float
    width: float
    height: float


class Layout(NamedTuple):
    """The centres of the ranks' boxes, and what stands round them.

    Of two trees each has its own boxes: `places[tree][rank]`; otherwise there is one. Block b travels in the tree
    `tree_of_block[b]`.
    """

    height: float
    box_width: float
    box_height: float
    places: tuple[tuple[Point, ...], ...]
    tree_of_block: tuple[int, ...]
    edges: tuple[tuple[tuple[int, int], ...], ...]  # of each tree: the pairs of ranks that exchange messages
    frames: tuple[Frame, ...]


def layout_of(drawing: Drawing, widest: float = WIDEST_BOX) -> Layout:
    """Place the ranks of a drawing; their boxes are as wide as there is room for, about `widest` at most."""
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
            places = _face_to_face(*places)
    elif drawing.shape == "nodes":
        points, frames = _nodes(drawing.nodes, widest)
        places = [points]
    elif drawing.shape == "hypercube":
        places = [_hypercube(drawing.ranks, trees[0])]
    elif drawing.shape == "star":
        places = [_star(drawing.ranks, trees[0])]
    else:
        places = [_circle(drawing.ranks)]
    return _fitted(places, frames, tree_of_block, [tuple(sorted(edges)) for edges in trees], widest)


def _trees(drawing: Drawing) -> list[Edges]:
    """The edges of each tree; of other shapes all edges at once."""
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
    """The rank that first holds the whole sum of a block."""
    for round_ in drawing.rounds:
        for rank, held in enumerate(round_.held):
            if len(held[block]) == drawing.ranks:
                return rank
    return 0


def _tree(edges: Edges, ranks: int, root: int) -> list[Point]:
    """In-order columns and a row a level, the root on top."""
    parents = parents_of(edges, ranks, root)
    children: list[list[int]] = [[] for _ in range(ranks)]
    for rank, parent in enumerate(parents):
        if parent is not None:
            children[parent].append(rank)
    points: list[Point] = [(0.0, 0.0)] * ranks
    column = 0

    def place(rank: int, level: int) -> None:
        nonlocal column
        own, lower = children[rank], [child for child in children[rank] if child < rank]
        half = own[: len(own) // 2]
        left = lower if len(own) == 1 or 0 < len(lower) < len(own) else half
        for child in left:
            place(child, level + 1)
        points[rank] = (float(column), float(level))
        column += 1
        for child in own:
            if child not in left:
                place(child, level + 1)

    place(root, 0)
    return [(x * WIDTH / (ranks + 1), y * LEVEL) for x, y in points]


def _face_to_face(first: list[Point], second: list[Point]) -> list[list[Point]]:
    """The first tree above, the second upside down below it."""
    middle = max(y for _, y in first) + LEVEL
    depth = max(y for _, y in second)
    return [first, [(x, middle + depth - y) for x, y in second]]


def _circle(ranks: int, radius: float = 270.0) -> list[Point]:
    """Clockwise from the top; of two ranks, from the left."""
    quarter = pi / 2 if ranks == 2 else 0.0
    turns = (2 * pi * rank / ranks - quarter for rank in range(ranks))
    return [(radius * sin(turn), -radius * cos(turn)) for turn in turns]


def _star(ranks: int, edges: Edges) -> list[Point]:
    centre = next(rank for rank in range(ranks) if sum(rank in edge for edge in edges) == ranks - 1)
    points = _circle(ranks - 1)
    points.insert(centre, (0.0, 0.0))
    return points


def _hypercube(ranks: int, edges: Edges) -> list[Point]:
    """Cubes side by side; a rank with a single partner, where ranks are no power of two, stands beside it."""
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


def _nodes(nodes: Sequence[Sequence[int]], widest: float) -> tuple[list[Point], list[Frame]]:
    """A frame a node, in rows that run to and fro; in each its ranks on a circle."""
    columns, most = ceil(sqrt(len(nodes))), max(map(len, nodes))
    circles = [_turned(len(ranks), NODE_RADIUS * min(1, most / 3)) for ranks in nodes]
    box, head = min(widest, *(CROWDED * _closest(circle, 2 * widest) for circle in circles)), NODE_HEAD * columns
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


def _turned(ranks: int, radius: float) -> list[Point]:
    """The circle of the ranks of a node."""
    turn = pi / 4 - TILT if ranks == 4 else TILT / 2
    angles = [2 * pi * index / ranks - turn for index in range(ranks)]
    return [(radius * sin(angle), -radius * cos(angle)) for angle in angles] if ranks > 1 else [(0.0, 0.0)]


def _fitted(
    places: Sequence[Sequence[Point]],
    frames: Sequence[Frame],
    tree_of_block: tuple[int, ...],
    edges: Sequence[tuple],
    widest: float,
) -> Layout:
    """Scale the picture to its width, with boxes as large as do not touch each other."""
    points = [point for points in places for point in points]
    crowded = frames or len(points) > MANY * len(places)
    box = min(widest, (CROWDED if crowded else FREE) * _closest(points, widest))
    tall = box * FLATNESS
    xs, ys = zip(*points)
    left = min([min(xs) - box / 2, *(frame.x for frame in frames)])
    right = max([max(xs) + box / 2, *(frame.x + frame.width for frame in frames)])
    top = min([min(ys) - tall / 2, *(frame.y for frame in frames)])
    bottom = max([max(ys) + tall / 2, *(frame.y + frame.height for frame in frames)])
    scale = min(1.25, (WIDTH - 2 * MARGIN) / (right - left))
    shift = (WIDTH - scale * (right - left)) / 2

    def moved(x: float, y: float) -> Point:
        return round(shift + scale * (x - left), 1), round(MARGIN + scale * (y - top), 1)

    return Layout(
        height=round(2 * MARGIN + scale * (bottom - top), 1),
        box_width=round(box * scale, 1),
        box_height=round(tall * scale, 1),
        places=tuple(tuple(moved(*point) for point in points) for points in places),
        tree_of_block=tree_of_block,
        edges=tuple(edges),
        frames=tuple(
            Frame(*moved(frame.x, frame.y), round(frame.width * scale, 1), round(frame.height * scale, 1))
            for frame in frames
        ),
    )


def _closest(points: Sequence[Point], widest: float) -> float:
    """The width of the largest boxes that do not touch each other."""
    pairs = combinations(points, 2)
    return min((max(abs(a - c), abs(b - d) / FLATNESS) for (a, b), (c, d) in pairs), default=widest)
