"""One moment of a drawing on matplotlib's axes: what every rank holds, and what is on its way.

A rank is a box with one row for each block of the vector. A row has one slot for each rank; a slot is filled where the
row holds the contribution of that rank, and the row has its full colour where it holds all of them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyBboxPatch, Rectangle

from .colours import colour_of
from .drawing import Message, letters, word
from .places import Place
from .scene import NAME_ROOM, NODE_MARGIN, Scene, along, visible_way

DPI = 100
EMPTY, EDGE, INK, NODE = "#ececec", "#767676", "#1a1a1a", "#f6f6f6"
LIGHTER = 0.45  # towards white: a sum that lacks contributions
LEAST_LETTER, LEAST_ROW = 9.0, 4.0  # pixels that letters in slots, and lines between rows, need
MOST_WORDS = 8  # ranks: sums of more are drawn as rows, not as words

Held = Sequence[Sequence[frozenset[int]]]


def draw_ranks(axes: Axes, scene: Scene, held: Held) -> None:
    """The boxes of all ranks with what they hold."""
    left, right, bottom, top = scene.limits
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    axes.set_axis_off()
    if len(scene.drawing.nodes) > 1:
        for ranks in scene.drawing.nodes:
            axes.add_patch(_frame(scene, ranks))
    blocks = range(scene.drawing.blocks)
    for name, place, contents in zip(scene.names, scene.places, held):
        _rows(axes, scene, (place, scene.width, scene.height), blocks, contents)
        _letters(axes, scene, place, contents)
        above, size = place.y + scene.height * (0.5 + NAME_ROOM / 8), scene.in_pixels(NAME_ROOM * scene.height) * 0.7
        style: dict[str, Any] = {"size": _points(min(max(size, 10), 15)), "color": INK, "ha": "center", "va": "bottom"}
        axes.text(place.x, above, name, parse_math=False, zorder=4, **style)


def draw_ways(axes: Axes, scene: Scene, messages: Sequence[Message]) -> None:
    """The ways of `messages` as arrows: dashed where the receiver keeps what it gets instead of adding it."""
    head = max(4.0, min(11.0, scene.in_pixels(scene.height) / 9)) / scene.pixels
    lines = [visible_way(scene, message) for message in messages]
    colours = [_colour(scene, message) for message in messages]
    dashes = ["-" if message.reduce else (0, (3, 1.5)) for message in messages]
    width = head * scene.pixels / 7
    axes.add_collection(LineCollection(lines, colors=colours, linestyles=dashes, linewidths=width, zorder=3))
    heads = PolyCollection([_head(line, head) for line in lines], facecolors=colours, edgecolors="none", zorder=3)
    axes.add_collection(heads)


def draw_messages(axes: Axes, scene: Scene, messages: Sequence[Message], way: float) -> list[Artist]:
    """`messages` at the share `way` of their ways, as words (`a1+b1`) or as rows of slots; returns what was drawn."""
    drawn: list[Artist] = []
    for message in messages:
        place = along(scene, message, way)
        if says_words(scene, message):
            drawn.append(_words(axes, scene, message, place))
        else:
            share = 0.62 * len(message.blocks) / scene.drawing.blocks
            size = scene.width * 0.62, max(scene.height * share, 5 / scene.pixels)
            drawn += _rows(axes, scene, (place, *size), message.blocks, message.content, above=2)
    return drawn


def says_words(scene: Scene, message: Message) -> bool:
    """Whether a message is drawn as words and not as rows."""
    return scene.drawing.ranks <= MOST_WORDS and len(message.blocks) == 1


def _words(axes: Axes, scene: Scene, message: Message, place: Place) -> Artist:
    words = word(message.content[0], message.blocks[0], letters(scene.drawing.ranks))
    size = _points(max(9.0, min(16.0, scene.in_pixels(scene.height) / 6, scene.in_pixels(scene.width) / len(words))))
    frame = {"boxstyle": "round,pad=0.3", "facecolor": _colour(scene, message), "edgecolor": "white", "linewidth": 0.8}
    style: dict[str, Any] = {
        "size": size,
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
    """A box of the middle, width and height `where`, with a row for each of `blocks`."""
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
    """The colours of one row, ranks × RGB."""
    full = np.array(to_rgb(colour_of(block, scene.drawing.blocks)))
    filled = full if len(content) == scene.drawing.ranks else full + (1 - full) * LIGHTER
    return np.array([filled if rank in content else to_rgb(EMPTY) for rank in range(scene.drawing.ranks)])


def _letters(axes: Axes, scene: Scene, place: Place, contents: Sequence[frozenset[int]]) -> None:
    """The letters of the contributions in their slots, where there is room for them."""
    ranks, blocks = scene.drawing.ranks, scene.drawing.blocks
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


def _frame(scene: Scene, ranks: Sequence[int]) -> FancyBboxPatch:
    """The box of a node."""
    xs, ys = zip(*(scene.places[rank] for rank in ranks))
    left, bottom = min(xs) - scene.width / 2, min(ys) - scene.height / 2
    width, height = max(xs) - min(xs) + scene.width, max(ys) - min(ys) + scene.height * (1 + NAME_ROOM)
    style = f"round,pad={NODE_MARGIN},rounding_size={NODE_MARGIN}"
    return FancyBboxPatch((left, bottom), width, height, boxstyle=style, facecolor=NODE, edgecolor=EDGE, zorder=0)


def _head(line: np.ndarray, length: float) -> np.ndarray:
    """The corners of the arrowhead at the end of `line`."""
    tip = line[-1]
    before = line[np.argmax(np.hypot(*(line - tip).T) <= 1.2 * length)]
    along = (tip - before) / (np.hypot(*(tip - before)) or 1.0)
    across = np.array([-along[1], along[0]]) * 0.42
    return np.array([tip, tip - length * (along + across), tip - length * (along - across)])


def _colour(scene: Scene, message: Message) -> str:
    """That of the block; grey where several travel together."""
    return colour_of(message.blocks[0], scene.drawing.blocks) if len(message.blocks) == 1 else "#4a4a4a"


def _points(pixels: float) -> float:
    """The size of a font in points."""
    return pixels * 72 / DPI
