"""A drawing on a picture of so many pixels: where each rank's box is, and the way that each message takes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .drawing import Drawing, Message
from .places import Place, box, places

BEND = 0.16  # how far the control point of a way lies to its left, over its length: so two opposite ways are apart
BEND_OF = {"ring": 0.4, "hypercube": 0.3}  # shape -> outwards; two of an exchange are far apart
WAY_POINTS = 96  # that are drawn of a way
MARGIN = 0.12  # around all boxes, over the height of one
NODE_MARGIN = 0.09  # of a node's frame around the boxes in it
NAME_ROOM = 0.26  # above a box, for its name, over its height


class Scene(NamedTuple):
    """A drawing with the places of its ranks, in units of the places, and the pixels of one such unit."""

    drawing: Drawing
    names: tuple[str, ...]  # of the ranks, above their boxes
    places: tuple[Place, ...]
    width: float  # of a rank's box
    height: float
    pixels: float

    @property
    def limits(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top of all that is drawn."""
        xs, ys = zip(*self.places)
        ways = [along(self, message, 0.5) for round_ in self.drawing.rounds for message in round_.messages]
        xs_of_ways, ys_of_ways = zip(*ways) if ways else (xs, ys)
        around = MARGIN * self.height + (NODE_MARGIN if len(self.drawing.nodes) > 1 else 0)
        across, upwards = self.width / 2 + around, self.height / 2 + around
        half = self.width * 0.4  # of what a way carries
        return (
            min(min(xs) - across, min(xs_of_ways) - half),
            max(max(xs) + across, max(xs_of_ways) + half),
            min(min(ys) - upwards, min(ys_of_ways) - MARGIN),
            max(max(ys) + upwards + NAME_ROOM * self.height, max(ys_of_ways) + MARGIN),
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
        """A length in units of the places, in pixels."""
        return length * self.pixels


def scene(drawing: Drawing, names: Sequence[str], width: float, height: float) -> Scene:
    """Place `drawing` so that it fits into `width` times `height` pixels."""
    placed = tuple(places(drawing))
    found = Scene(drawing, tuple(names), placed, *box(placed), 1.0)
    wide, high = found.size
    return found._replace(pixels=min(width / wide, height / high))


def along(scene: Scene, message: Message, way: float) -> Place:
    """Where a message is at the share `way` of its way, a quadratic Bézier curve from the middle of box to box."""
    x, y = _curve(scene, message, np.array([way]))[0]
    return Place(float(x), float(y))


def visible_way(scene: Scene, message: Message) -> np.ndarray:
    """Points (x, y) of the way of `message` between the boxes of its two ranks, names included; two at least."""
    points = _curve(scene, message, np.linspace(0, 1, WAY_POINTS))
    outside = np.ones(len(points), bool)
    for rank in (message.source, message.dest):
        middle = np.array(scene.places[rank]) + (0, NAME_ROOM * scene.height / 2)
        reach = scene.width / 2, (1 + NAME_ROOM) * scene.height / 2
        outside &= (np.abs(points - middle) > reach).any(axis=1)
    return points[outside] if outside.sum() > 1 else points[WAY_POINTS // 2 - 1 : WAY_POINTS // 2 + 1]


def _curve(scene: Scene, message: Message, ways: np.ndarray) -> np.ndarray:
    start, end = np.array(scene.places[message.source]), np.array(scene.places[message.dest])
    across = np.array([start[1] - end[1], end[0] - start[0]])
    bend = (start + end) / 2 + scene.bend * across
    way = ways[:, None]
    return (1 - way) ** 2 * start + 2 * way * (1 - way) * bend + way**2 * end
