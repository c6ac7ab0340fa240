"""Layout of an algorithm's ranks in its natural shape, and the drawing of one moment in matplotlib.

Units of the layout are those of a picture WIDTH wide.
"""

from collections.abc import Sequence
from itertools import combinations
from math import ceil, cos, pi, sin, sqrt
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyBboxPatch, Rectangle

from .drawing import Drawing, Edges, Message, colour_of, letters, parents_of, trees_of, word

WIDTH = 640.0
PAGE_MARGIN = 8.0
FLATNESS = 0.78  # the height of a rank's box, in widths
WIDEST_BOX_ON_A_PAGE = 96.0
TILT = 0.42  # radians; turns the ranks of a node, so that links between nodes pass beside their boxes
FREE, CROWDED = 0.78, 0.9  # width of a box over the width at which boxes touch
MANY = 20  # ranks; up to here there is room for messages between the boxes
NODE_RADIUS = 100.0  # of the circle of the ranks of a node
NODE_HEAD = 13.0  # above them, for the node's name, in a picture of one column of nodes
NODE_GAP = 0.6  # between nodes, in widths of a box
LEVEL = 84.0  # between the rows of a tree

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


def layout_of(drawing: Drawing, widest: float = WIDEST_BOX_ON_A_PAGE) -> Layout:
    """Place the ranks of a drawing; boxes are as wide as fits, about `widest` at most."""
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


def _face_to_face(first: list[Point], second: list[Point]) -> list[list[Point]]:
    """Place the first tree above, the second upside down below it."""
    middle = max(y for _, y in first) + LEVEL
    depth = max(y for _, y in second)
    return [first, [(x, middle + depth - y) for x, y in second]]


def _circle(ranks: int, radius: float = 270.0) -> list[Point]:
    """Place ranks clockwise from the top; two from the left."""
    quarter = pi / 2 if ranks == 2 else 0.0
    turns = (2 * pi * rank / ranks - quarter for rank in range(ranks))
    return [(radius * sin(turn), -radius * cos(turn)) for turn in turns]


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


def _nodes(nodes: Sequence[Sequence[int]], widest: float) -> tuple[list[Point], list[Frame]]:
    """Place one frame per node, in rows that alternate in direction; in each its ranks on a circle."""
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
    """Place the ranks of a node on a circle."""
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
    """Scale the picture to WIDTH, with the largest boxes that do not touch each other."""
    points = [point for points in places for point in points]
    crowded = frames or len(points) > MANY * len(places)
    box = min(widest, (CROWDED if crowded else FREE) * _closest(points, widest))
    tall = box * FLATNESS
    xs, ys = zip(*points)
    left = min([min(xs) - box / 2, *(frame.x for frame in frames)])
    right = max([max(xs) + box / 2, *(frame.x + frame.width for frame in frames)])
    top = min([min(ys) - tall / 2, *(frame.y for frame in frames)])
    bottom = max([max(ys) + tall / 2, *(frame.y + frame.height for frame in frames)])
    scale = min(1.25, (WIDTH - 2 * PAGE_MARGIN) / (right - left))
    shift = (WIDTH - scale * (right - left)) / 2

    def moved(x: float, y: float) -> Point:
        return round(shift + scale * (x - left), 1), round(PAGE_MARGIN + scale * (y - top), 1)

    return Layout(
        height=round(2 * PAGE_MARGIN + scale * (bottom - top), 1),
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
    """Return the width at which the closest two boxes would touch."""
    pairs = combinations(points, 2)
    return min((max(abs(a - c), abs(b - d) / FLATNESS) for (a, b), (c, d) in pairs), default=widest)


# Drawing of one moment on matplotlib's axes: what every rank holds, and what is on its way
#
# The positions are those of the layout above, with y upwards. The box of a rank has its name at the top, and below one
# row for each block of the vector; with two trees a rank has a box in each, for the tree's blocks. A row has one slot
# for each rank, filled if the row holds that rank's contribution; a row with all of them has its full colour.


# Boxes
WIDEST_BOX = 210.0  # wider than on a page, since it shows more
WIDEST_OF = {"hypercube": 110.0}  # shape -> smaller, where ranks are close together
LEAST_BOX = 46.0  # pixels; narrower boxes would let names touch
FILLED = 0.9  # of the width of a box; messages travel between boxes
NAME_SHARE, NAME_PIXELS = 0.2, 13.0  # height of the name: share of the box, and least pixels
MARGIN = 4.0  # pixels

# Paths of messages
BEND = 0.16  # distance of the control point to the left, over the length: it separates opposite messages
BEND_OF = {"ring": 0.4, "hypercube": 0.3}  # shape -> stronger bend, to separate the messages of an exchange
LOW_OF = {"tree": 0.6, "two_trees": 0.6}  # shape -> share of the box height that is used
WAY_POINTS = 96  # points drawn of a way

# Contents
DPI = 100
EMPTY, EDGE, INK, NODE, TREE = "#ececec", "#767676", "#1a1a1a", "#f6f6f6", "#d0d0d0"
LIGHTER = 0.45  # mix with white for a sum that lacks contributions
LEAST_LETTER, LEAST_ROW = 12.0, 4.0  # least pixels for letters in slots, and for lines between rows
LETTER_WIDTH = 0.74  # of bold letters, over their size
MOST_WORDS = 8  # ranks; with more, sums are drawn as rows, not as words

# Candidate positions of messages on their ways, and the cost of leaving the preferred one; hiding a message costs 1
SPOT_SHARES = np.linspace(0.2, 0.8, 25)  # of a way
SPOT_LIFTS = np.linspace(-2, 2, 9)  # distance above the way, in heights of the message
LIFT_COST, SHARE_COST = 0.1, 0.1  # of leaving the way, of leaving the wished share

Held = Sequence[Sequence[frozenset[int]]]


class Place(NamedTuple):
    """Point: x to the right, y upwards."""

    x: float
    y: float


class Way(NamedTuple):
    """Path of a message's blocks in one tree, from the centre of a box to that of another."""

    source: Place
    dest: Place
    blocks: tuple[int, ...]
    content: tuple[frozenset[int], ...]  # of each block
    reduce: bool


class Scene(NamedTuple):
    """Drawing with its layout, and the pixels per unit of the layout."""

    drawing: Drawing
    names: tuple[str, ...]  # of the ranks, above what they hold
    layout: Layout
    pixels: float

    @property
    def places(self) -> tuple[tuple[Place, ...], ...]:
        """Return the centre of each rank's box in each tree."""
        return tuple(tuple(Place(x, -y) for x, y in points) for points in self.layout.places)

    @property
    def name_height(self) -> float:
        """Return the height of the upper part of a box, for the name."""
        return max(NAME_SHARE * self.layout.box_height, NAME_PIXELS / self.pixels)

    @property
    def width(self) -> float:
        """Return the width of what a rank holds."""
        return self.layout.box_width * FILLED

    @property
    def height(self) -> float:
        """Return the height of what a rank holds; trees leave room for messages between their levels."""
        low = LOW_OF.get(self.drawing.shape, 1.0)
        return (self.layout.box_height - self.name_height) * low

    @property
    def box(self) -> tuple[float, float]:
        """Return width and height of a rank's box, name included."""
        return self.width, self.height + self.name_height

    @property
    def limits(self) -> tuple[float, float, float, float]:
        """Return left, right, bottom and top of everything drawn."""
        messages = [message for round_ in self.drawing.rounds for message in round_.messages]
        middles = [along(self, way, 0.5) for way in ways(self, messages)]
        xs, ys = zip(*middles) if middles else zip(*self.places[0])
        across = [x for places in self.places for x, _ in places]
        frames = self.layout.frames
        aside = self.layout.box_width / 2 + MARGIN
        half = self.layout.box_width * 0.36  # half the width of a drawn message
        return (
            min(min(across) - aside, min(xs) - half, *(frame.x - MARGIN for frame in frames)),
            max(max(across) + aside, max(xs) + half, *(frame.x + frame.width + MARGIN for frame in frames)),
            min(-self.layout.height, min(ys) - half / 3) - MARGIN,
            max(0.0, max(ys) + half / 3) + MARGIN,
        )

    @property
    def bend(self) -> float:
        """Return how far ways bend from the straight line."""
        return BEND_OF.get(self.drawing.shape, BEND) if self.drawing.ranks > 2 else BEND

    @property
    def size(self) -> tuple[float, float]:
        """Return width and height of everything drawn, in pixels."""
        left, right, bottom, top = self.limits
        return (right - left) * self.pixels, (top - bottom) * self.pixels

    def in_pixels(self, length: float) -> float:
        """Convert a length from units of the layout to pixels."""
        return length * self.pixels


class Spot(NamedTuple):
    """Position of a message: share of its way, and distance above it in units of the layout."""

    share: float
    lift: float = 0.0


def scene(drawing: Drawing, names: Sequence[str], width: float, height: float) -> Scene:
    """Place `drawing` so that it fits into `width` pixels, and each tree of it into `height` pixels.

    It is larger if the names of many ranks would touch each other.
    """
    found = Scene(drawing, tuple(names), layout_of(drawing, WIDEST_OF.get(drawing.shape, WIDEST_BOX)), 1.0)
    wide, high = found.size
    fitting = min(width / wide, height * len(found.layout.places) / high)
    return found._replace(pixels=max(fitting, LEAST_BOX / found.layout.box_width))


def ways(scene: Scene, messages: Sequence[Message]) -> list[Way]:
    """Return the ways of `messages`; one whose blocks belong to two trees gets a way in each."""
    found = []
    for message in messages:
        for tree, places in enumerate(scene.places):
            own = {
                block: content
                for block, content in zip(message.blocks, message.content)
                if scene.layout.tree_of_block[block] == tree
            }
            if own:
                ends = places[message.source], places[message.dest]
                found.append(Way(*ends, tuple(own), tuple(own.values()), message.reduce))
    return found


def along(scene: Scene, way: Way, share: float) -> Place:
    """Return the position at `share` of a way, a quadratic Bézier curve from box to box."""
    x, y = _curve(scene, way, np.array([share]))[0]
    return Place(float(x), float(y))


def visible_way(scene: Scene, way: Way) -> np.ndarray:
    """Return points (x, y) of `way` between the boxes of its two ranks, names included; at least two."""
    points = _curve(scene, way, np.linspace(0, 1, WAY_POINTS))
    reach = np.array(scene.box) / 2
    outside = np.all([(np.abs(points - end) > reach).any(axis=1) for end in (way.source, way.dest)], axis=0)
    return points[outside] if outside.sum() > 1 else points[WAY_POINTS // 2 - 1 : WAY_POINTS // 2 + 1]


def _curve(scene: Scene, way: Way, shares: np.ndarray) -> np.ndarray:
    start, end = np.array(way.source), np.array(way.dest)
    across = np.array([start[1] - end[1], end[0] - start[0]])
    bend = (start + end) / 2 + scene.bend * across
    share = shares[:, None]
    return (1 - share) ** 2 * start + 2 * share * (1 - share) * bend + share**2 * end


def draw_ranks(axes: Axes, scene: Scene, held: Held) -> None:
    """Draw the boxes of all ranks with what they hold."""
    left, right, bottom, top = scene.limits
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    axes.set_axis_off()
    for number, frame in enumerate(scene.layout.frames):
        axes.add_patch(_node_box(scene, frame))
        corner = frame.x + 6 / scene.pixels, -frame.y - 5 / scene.pixels
        axes.text(*corner, f"node {number}", size=_points(10), color=INK, ha="left", va="top")
    for tree, places in enumerate(scene.places):
        if scene.drawing.shape in ("tree", "two_trees"):
            edges = [(places[one], places[other]) for one, other in scene.layout.edges[tree]]
            axes.add_collection(LineCollection(edges, colors=TREE, linewidths=1.2, zorder=0))
        blocks = [block for block, own in enumerate(scene.layout.tree_of_block) if own == tree]
        for name, place, contents in zip(scene.names, places, held):
            own = [contents[block] for block in blocks]
            below = place._replace(y=place.y - scene.name_height / 2)
            _rows(axes, scene, (below, scene.width, scene.height), blocks, own)
            _letters(axes, scene, below, own)
            _name(axes, scene, place, name)


def _name(axes: Axes, scene: Scene, place: Place, name: str) -> None:
    """Draw the name of a rank in the upper part of its box."""
    y = place.y + scene.box[1] / 2 - scene.name_height * 0.78
    size = _points(min(max(scene.in_pixels(scene.name_height) * 0.7, 10), 15))
    style: dict[str, Any] = {"size": size, "color": INK, "ha": "center", "va": "baseline"}
    axes.text(place.x, y, name, parse_math=False, zorder=4, **style)


def draw_ways(axes: Axes, scene: Scene, ways: Sequence[Way]) -> None:
    """Draw `ways` as arrows: dashed if the receiver overwrites instead of adding."""
    head = max(4.0, min(11.0, scene.in_pixels(scene.height) / 9)) / scene.pixels
    lines = [visible_way(scene, way) for way in ways]
    colours = [_colour(scene, way) for way in ways]
    dashes = ["-" if way.reduce else (0, (3, 1.5)) for way in ways]
    width = head * scene.pixels / 7
    axes.add_collection(LineCollection(lines, colors=colours, linestyles=dashes, linewidths=width, zorder=3))
    heads = PolyCollection([_head(line, head) for line in lines], facecolors=colours, edgecolors="none", zorder=3)
    axes.add_collection(heads)


def draw_messages(axes: Axes, scene: Scene, ways: Sequence[Way], spots: Sequence[Spot]) -> list[Artist]:
    """Draw the messages on `ways`, each at its spot, as words (`a1+b1`) or as rows; return the artists."""
    drawn: list[Artist] = []
    for way, spot in zip(ways, spots):
        x, y = along(scene, way, spot.share)
        place = Place(x, y + spot.lift)
        if says_words(scene, way):
            drawn.append(_words(axes, scene, way, place))
        else:
            drawn += _rows(axes, scene, (place, *extent(scene, way)), way.blocks, way.content, above=2)
    return drawn


def says_words(scene: Scene, way: Way) -> bool:
    """Return whether a message is drawn as words rather than rows."""
    return scene.drawing.ranks <= MOST_WORDS and len(way.blocks) == 1


def extent(scene: Scene, way: Way) -> tuple[float, float]:
    """Return width and height of a drawn message in units of the layout; approximate for words."""
    if says_words(scene, way):
        words, size = _words_and_size(scene, way)
        return (LETTER_WIDTH * len(words) + 0.8) * size / scene.pixels, 1.8 * size / scene.pixels
    share = 0.62 * len(way.blocks) / scene.layout.tree_of_block.count(scene.layout.tree_of_block[way.blocks[0]])
    return scene.width * 0.62, max(scene.height * share, 5 / scene.pixels)


def _words_and_size(scene: Scene, way: Way) -> tuple[str, float]:
    """Return the words of a message of one block, and the size of their letters in pixels."""
    words = word(way.content[0], way.blocks[0], letters(scene.drawing.ranks))
    wide, high = (scene.in_pixels(length) for length in (scene.layout.box_width, scene.layout.box_height))
    size = min(16.0, high / 5.5, 1.1 * wide / len(words))
    return words, max(9.0, size)


def _words(axes: Axes, scene: Scene, way: Way, place: Place) -> Artist:
    words, size = _words_and_size(scene, way)
    frame = {"boxstyle": "round,pad=0.3", "facecolor": _colour(scene, way), "edgecolor": "white", "linewidth": 0.8}
    style: dict[str, Any] = {
        "size": _points(size),
        "color": "white",
        "weight": "bold",
        "ha": "center",
        "va": "center",
        "parse_math": False,
    }
    return axes.text(place.x, place.y, words, bbox=frame, zorder=6, **style)


def _rows(
    axes: Axes,
    scene: Scene,
    where: tuple[Place, float, float],
    blocks: Sequence[int],
    contents: Sequence[frozenset[int]],
    above: int = 0,
) -> list[Artist]:
    """Draw a box with centre, width and height `where`, with a row for each of `blocks`."""
    place, width, height = where
    left, bottom = place.x - width / 2, place.y - height / 2
    extent = (left, left + width, bottom, bottom + height)
    slots = np.array([_slots(scene, block, content) for block, content in zip(blocks, contents)])
    order = 2 + above
    drawn: list[Artist] = [axes.imshow(slots, extent=extent, aspect="equal", interpolation="nearest", zorder=order)]
    if len(blocks) > 1 and scene.in_pixels(height) / len(blocks) >= LEAST_ROW:
        ys = np.linspace(bottom, bottom + height, len(blocks) + 1)[1:-1]
        lines = LineCollection([((left, y), (left + width, y)) for y in ys], colors="white", linewidths=0.8)
        drawn.append(axes.add_collection(lines, autolim=False))
        lines.set_zorder(order + 0.5)
    drawn.append(axes.add_artist(Rectangle((left, bottom), width, height, fill=False, edgecolor=EDGE, linewidth=0.8)))
    drawn[-1].set_zorder(order + 0.6)
    return drawn


def _slots(scene: Scene, block: int, content: frozenset[int]) -> np.ndarray:
    """Return the colours of one row, ranks × RGB."""
    full = np.array(to_rgb(colour_of(block, scene.drawing.blocks)))
    filled = full if len(content) == scene.drawing.ranks else full + (1 - full) * LIGHTER
    return np.array([filled if rank in content else to_rgb(EMPTY) for rank in range(scene.drawing.ranks)])


def _letters(axes: Axes, scene: Scene, place: Place, contents: Sequence[frozenset[int]]) -> None:
    """Draw the letters of the contributions in their slots, if there is room."""
    ranks, blocks = scene.drawing.ranks, len(contents)
    room = min(scene.in_pixels(scene.width) / ranks, scene.in_pixels(scene.height) / blocks)
    if room < LEAST_LETTER:
        return
    size = _points(min(room * 0.7, 13))
    for block, content in enumerate(contents):
        colour = "white" if len(content) == ranks else INK
        y = place.y + scene.height * (0.5 - (block + 0.5) / blocks)
        for rank, name in enumerate(letters(ranks)):
            x = place.x + scene.width * ((rank + 0.5) / ranks - 0.5)
            if rank in content:
                axes.text(x, y, name, size=size, color=colour, ha="center", va="center_baseline", zorder=3)


def _node_box(scene: Scene, frame: Frame) -> FancyBboxPatch:
    """Return the box of a node."""
    corner, rounding = (frame.x, -frame.y - frame.height), 8 / scene.pixels
    style = f"round,pad=0,rounding_size={rounding}"
    return FancyBboxPatch(corner, frame.width, frame.height, boxstyle=style, facecolor=NODE, edgecolor=EDGE, zorder=0)


def _head(line: np.ndarray, length: float) -> np.ndarray:
    """Return the corners of the arrowhead at the end of `line`."""
    tip = line[-1]
    before = line[np.argmax(np.hypot(*(line - tip).T) <= 1.2 * length)]
    along = (tip - before) / (np.hypot(*(tip - before)) or 1.0)
    across = np.array([-along[1], along[0]]) * 0.42
    return np.array([tip, tip - length * (along + across), tip - length * (along - across)])


def _colour(scene: Scene, way: Way) -> str:
    """Return the colour of a message's block; grey for several blocks."""
    return colour_of(way.blocks[0], scene.drawing.blocks) if len(way.blocks) == 1 else "#4a4a4a"


def _points(pixels: float) -> float:
    """Convert a font size from pixels to points."""
    return pixels * 72 / DPI


def clear_spots(scene: Scene, ways: Sequence[Way], wished: float) -> list[Spot]:
    """Find the spot near share `wished` of each way where its message covers boxes and other messages least."""
    half = scene.box[0] / 2, scene.box[1] / 2
    taken = [(*place, *half) for places in scene.places for place in places]
    left, right, bottom, top = scene.limits
    centre, room = np.array([left + right, bottom + top]) / 2, np.array([right - left, top - bottom])
    shares, lifts = (grid.ravel() for grid in np.meshgrid(SPOT_SHARES, SPOT_LIFTS))
    spots = []
    for way in ways:
        wide, high = extent(scene, way)
        middles = np.tile([along(scene, way, share) for share in SPOT_SHARES], (len(SPOT_LIFTS), 1))
        middles[:, 1] += lifts * high
        hidden = _hidden(middles, (wide / 2, high / 2), np.array(taken)) / (wide * high)
        outside = (np.abs(middles - centre) > (room - (wide, high)) / 2).any(axis=1)
        best = np.argmin(hidden + outside + LIFT_COST * np.abs(lifts) + SHARE_COST * np.abs(shares - wished))
        taken.append((*middles[best], wide / 2, high / 2))
        spots.append(Spot(float(shares[best]), float(lifts[best] * high)))
    return spots


def _hidden(middles: np.ndarray, half: tuple[float, float], taken: np.ndarray) -> np.ndarray:
    """Return the area that boxes of half size `half` at `middles` share with all of `taken` (centres, half sizes)."""
    first = np.maximum(middles[:, None] - half, taken[:, :2] - taken[:, 2:])
    last = np.minimum(middles[:, None] + half, taken[:, :2] + taken[:, 2:])
    return np.clip(last - first, 0, None).prod(axis=2).sum(axis=1)
