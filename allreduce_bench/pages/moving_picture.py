"""A drawing that moves, as one GIF: the messages of each round travel, then the boxes fill up."""

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from .clearance import clear_spots
from .drawing import Drawing
from .moment import DPI, Spot, draw_messages, draw_ranks, draw_ways
from .scene import Scene, Way, scene, ways
from .sentences import LEGEND, of_round, title

WIDTH, HEIGHT, MOST_HEIGHT = 560, 520, 900  # pixels of the ranks, of a few and of many, at most; a tree is so high
HEAD, FOOT = 58, 40  # pixels
NARROWEST = 480  # pixels that the words need
MOST_FRAMES = 150  # about: of many rounds each has fewer
FRAME_MS, SEEN_MS, END_MS = 70, 700, 2500  # of a message on its way, before it leaves, and of the end
COLOURS = 128
BEGIN, END = 0.3, 0.78  # where messages are best seen before they leave, and where they vanish


class Frame(NamedTuple):
    """One picture, RGB, and how long it is seen."""

    pixels: np.ndarray
    duration_ms: int


def gif(drawing: Drawing, names: Sequence[str]) -> bytes:
    """The GIF of all rounds of `drawing`, which begins again after its end; `names` stand above the ranks' boxes."""
    found = list(frames(drawing, names))
    first, *others = _with_palette([frame.pixels for frame in found])
    durations = [frame.duration_ms for frame in found]
    file = io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=others, duration=durations, loop=0, disposal=1)
    return file.getvalue()


def frames(drawing: Drawing, names: Sequence[str]) -> Iterator[Frame]:
    """The pictures in their order: for each round what is about to leave, the messages on their way, and the end."""
    side = WIDTH if drawing.ranks <= 8 else MOST_HEIGHT
    placed = scene(drawing, names, side, HEIGHT if drawing.ranks <= 8 else MOST_HEIGHT)
    steps = steps_of(len(drawing.rounds))
    with style.context("default"):
        held = drawing.start
        for number, round_ in enumerate(drawing.rounds):
            figure, axes = _picture(placed, number)
            draw_ranks(axes, placed, held)
            sent = ways(placed, round_.messages)
            draw_ways(axes, placed, sent)
            yield from _on_their_way(figure, axes, placed, sent, steps)
            held = round_.held
        figure, axes = _picture(placed, len(drawing.rounds))
        draw_ranks(axes, placed, held)
        yield Frame(_drawn(figure), END_MS)


def steps_of(rounds: int) -> int:
    """How many places of its way each message is seen at: seven, in a long picture fewer."""
    return max(2, min(7, MOST_FRAMES // max(rounds, 1)))


def _on_their_way(figure: Figure, axes: Axes, scene: Scene, sent: Sequence[Way], steps: int) -> Iterator[Frame]:
    """The messages of one round at each of `steps` places of their ways; only they are drawn anew."""
    canvas = figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    canvas.draw()
    background = canvas.copy_from_bbox(figure.bbox)
    begins = clear_spots(scene, sent, BEGIN)
    for step in range(steps):
        share = step / (steps - 1)
        canvas.restore_region(background)
        artists = draw_messages(axes, scene, sent, [_moved(begin, share) for begin in begins])
        for artist in sorted(artists, key=lambda artist: artist.get_zorder()):
            axes.draw_artist(artist)
            artist.remove()
        yield Frame(np.asarray(canvas.buffer_rgba())[..., :3].copy(), SEEN_MS if step == 0 else FRAME_MS)


def _moved(begin: Spot, share: float) -> Spot:
    """From `begin` to the receiver, slowly at both ends."""
    eased = share * share * (3 - 2 * share)
    return Spot(begin.share + (END - begin.share) * eased, begin.lift * (1 - eased))


def _picture(scene: Scene, number: int) -> tuple[Figure, Axes]:
    """An empty picture with what is said of round `number`."""
    wide, high = scene.size
    width, height = round(max(wide, NARROWEST)), round(high) + HEAD + FOOT
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
    FigureCanvasAgg(figure)
    figure.text(10 / width, 1 - 10 / height, title(scene.drawing), size=12, va="top", parse_math=False)
    figure.text(10 / width, 1 - 34 / height, of_round(scene.drawing, number), size=9.5, va="top", color="#404040")
    figure.text(10 / width, 9 / height, LEGEND, size=7, va="bottom", color="#595959")
    left = (width - wide) / 2
    return figure, figure.add_axes((left / width, FOOT / height, wide / width, high / height))


def _drawn(figure: Figure) -> np.ndarray:
    canvas = figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _with_palette(pictures: Sequence[np.ndarray]) -> Iterator[Image.Image]:
    """The pictures in the most frequent of their colours; rarer ones, at the edges of letters, become the nearest."""
    counts: Counter = Counter()
    for picture in pictures:
        image = Image.fromarray(picture)
        counts.update({colour: number for number, colour in image.getcolors(image.width * image.height) or ()})
    every = np.array(sorted(counts, key=lambda colour: (-counts[colour], colour)))
    chosen = every[:COLOURS]
    nearest = np.zeros(1 << 24, np.uint8)
    nearest[_coded(every)] = [np.abs(chosen - colour).sum(axis=1).argmin() for colour in every]
    for picture in pictures:
        image = Image.fromarray(nearest[_coded(picture)])
        image.putpalette(chosen.astype(np.uint8).tobytes())
        yield image


def _coded(colours: np.ndarray) -> np.ndarray:
    """0xrrggbb of each colour."""
    return colours.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
