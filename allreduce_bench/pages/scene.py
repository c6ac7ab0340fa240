"""A drawing on a picture of so many pixels: where each rank's box is, and the way that each message takes.

The places are those of `layout`, with y upwards. The box of `layout` has the name of its rank above, and what the rank
holds below.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .drawing import Drawing, Message
from .layout import Layout, layout_of

WIDEST_BOX = 210.0  # there is more in a box than on a page
WIDEST_OF = {"hypercube": 110.0}  # shape -> where ranks stand near to each other
LEAST_BOX = 46.0  # pixels of the width of a box, so that names beside each other do not touch
FILLED = 0.9  # of the width of a box; between boxes are messages
NAME_SHARE, NAME_PIXELS = 0.2, 13.0  # of the height of a box, and at least
BEND = 0.16  # how far the control point of a way lies to its left, over its length: so two opposite ways are apart
BEND_OF = {"ring": 0.4, "hypercube": 0.3}  # shape -> outwards; two of an exchange are far apart
LOW_OF = {"tree": 0.6, "two_trees": 0.6}  # shape -> of the room for a box
WAY_POINTS = 96  # that are drawn of a way
MARGIN = 4.0


class Place(NamedTuple):
    """A point: x to the right, y upwards."""

    x: float
    y: float


class Way(NamedTuple):
    """What travels of a message in one tree, from the middle of a box to that of another."""

    source: Place
    dest: Place
    blocks: tuple[int, ...]
    content: tuple[frozenset[int], ...]  # of each block
    reduce: bool


class Scene(NamedTuple):
    """A drawing with its layout, and the pixels of one unit of the layout."""

    drawing: Drawing
    names: tuple[str, ...]  # of the ranks, above what they hold
    layout: Layout
    pixels: float

    @property
    def places(self) -> tuple[tuple[Place, ...], ...]:
        """The middle of the box of each rank in each tree."""
        return tuple(tuple(Place(x, -y) for x, y in points) for points in self.layout.places)

    @property
    def name_height(self) -> float:
        """The height of the upper part of a box, for the name."""
        return max(NAME_SHARE * self.layout.box_height, NAME_PIXELS / self.pixels)

    @property
    def width(self) -> float:
        """Of what a rank holds."""
        return self.layout.box_width * FILLED

    @property
    def height(self) -> float:
        """Of what a rank holds; trees leave room to the messages between their levels."""
        low = LOW_OF.get(self.drawing.shape, 1.0)
        return (self.layout.box_height - self.name_height) * low

    @property
    def box(self) -> tuple[float, float]:
        """Width and height of what a rank holds and its name."""
        return self.width, self.height + self.name_height

    @property
    def limits(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top of all that is drawn."""
        messages = [message for round_ in self.drawing.rounds for message in round_.messages]
        middles = [along(self, way, 0.5) for way in ways(self, messages)]
        xs, ys = zip(*middles) if middles else zip(*self.places[0])
        across = [x for places in self.places for x, _ in places]
        frames = self.layout.frames
        aside = self.layout.box_width / 2 + MARGIN
        half = self.layout.box_width * 0.36  # of what a way carries
        return (
            min(min(across) - aside, min(xs) - half, *(frame.x - MARGIN for frame in frames)),
            max(max(across) + aside, max(xs) + half, *(frame.x + frame.width + MARGIN for frame in frames)),
            min(-self.layout.height, min(ys) - half / 3) - MARGIN,
            max(0.0, max(ys) + half / 3) + MARGIN,
        )

    @property
    def bend(self) -> float:
        """How far ways leave the straight line."""
        return BEND_OF.get(self.drawing.shape, BEND) if self.drawing.ranks > 2 else BEND

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in pixels of all that is drawn."""
        left, right, bottom, top = self.limits
        return (right - left) * self.pixels, (top - bottom) * self.pixels

    def in_pixels(self, length: float) -> float:
        """A length in units of the layout, in pixels."""
        return length * self.pixels


def scene(drawing: Drawing, names: Sequence[str], width: float, height: float) -> Scene:
    """Place `drawing` so that it fits into `width` pixels, and each tree of it into `height` pixels.

    It is larger where the names of many ranks would touch each other.
    """
    found = Scene(drawing, tuple(names), layout_of(drawing, WIDEST_OF.get(drawing.shape, WIDEST_BOX)), 1.0)
    wide, high = found.size
    fitting = min(width / wide, height * len(found.layout.places) / high)
    return found._replace(pixels=max(fitting, LEAST_BOX / found.layout.box_width))


def ways(scene: Scene, messages: Sequence[Message]) -> list[Way]:
    """The ways of `messages`; one whose blocks belong to two trees travels in both."""
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
    """Where a message is at the share `share` of its way, a quadratic Bézier curve from box to box."""
    x, y = _curve(scene, way, np.array([share]))[0]
    return Place(float(x), float(y))


def visible_way(scene: Scene, way: Way) -> np.ndarray:
    """Points (x, y) of `way` between the boxes of its two ranks, names included; two at least."""
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
