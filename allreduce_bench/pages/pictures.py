"""Rounds of a drawing as an image: side by side in one PNG, or moving in one GIF.

The PNG has a panel for each round, and one for the end. In the GIF the messages of each round travel, then the boxes
fill up.
"""

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil, log
from typing import NamedTuple

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from ..schedule.algorithm import AlgorithmError
from ..watching.progress import Progress, unsaid
from .drawing import LEGEND, Drawing, round_sentence, title
from .scene import DPI, Scene, Spot, Way, clear_spots, draw_messages, draw_ranks, draw_ways, scene, ways

# PNG
PANELS = {4: 420, 8: 560, 32: 640}  # ranks at most -> pixels: width of a panel, and height of a tree in it
PNG_HEAD, PNG_FOOT, PANEL_HEAD, PANEL_GAP = 46, 44, 26, 34  # pixels
PNG_NARROWEST = 640  # pixels that the words need
PNG_SHAPE = 1.6  # target ratio of width to height of the image
MOST_PANELS = 100
PNG_SHARE = 0.42  # preferred position of messages on their ways: off the middle, where those of an exchange meet
EMPTY_COST = 1.5  # cost if half the places stay empty; a ratio wrong by the factor e costs 1

# GIF
WIDTH, HEIGHT, MOST_HEIGHT = 560, 520, 900  # pixels for the ranks, few and many; per tree for the height
GIF_HEAD, GIF_FOOT = 58, 40  # pixels
GIF_NARROWEST = 480  # pixels that the words need
MOST_FRAMES = 150  # approximate; with many rounds each has fewer
FRAME_MS, SEEN_MS, END_MS = 70, 700, 2500  # message on its way, before it leaves, end of the picture
COLOURS = 128  # shared by all frames
BEGIN, END = 0.3, 0.78  # preferred position of messages before they leave, and where they vanish


def png(drawing: Drawing, names: Sequence[str]) -> bytes:
    """Draw the PNG of all rounds of `drawing`; `names` stand above the ranks' boxes.

    A panel shows the messages of its round and what every rank holds before them; the last one the end. Raises
    AlgorithmError if there are too many rounds.
    """
    if len(drawing.rounds) >= MOST_PANELS:
        raise AlgorithmError(
            f"{drawing.algorithm}: {len(drawing.rounds)} rounds; a .png file shows fewer than {MOST_PANELS}; use a "
            "longer --segment, or name a .gif or .html file"
        )
    side = next(side for most, side in PANELS.items() if drawing.ranks <= most)
    with style.context("default"):
        figure = _png_figure(scene(drawing, names, side, side))
        file = io.BytesIO()
        FigureCanvasAgg(figure).print_png(file, metadata={"Software": None})
    return file.getvalue()


def _png_figure(scene: Scene) -> Figure:
    drawing, panels = scene.drawing, len(scene.drawing.rounds) + 1
    wide, high = scene.size
    panel_width, panel_height = wide + PANEL_GAP, high + PANEL_HEAD + PANEL_GAP / 3
    columns = _columns(panels, panel_width / panel_height)
    width, height = (
        max(columns * panel_width, PNG_NARROWEST),
        ceil(panels / columns) * panel_height + PNG_HEAD + PNG_FOOT,
    )
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
    figure.text(10 / width, 1 - 14 / height, title(drawing), size=13, va="top", parse_math=False)
    figure.text(10 / width, 12 / height, LEGEND, size=8, va="bottom", color="#595959")
    for number, held in enumerate([drawing.start, *(round_.held for round_ in drawing.rounds)]):
        row, column = divmod(number, columns)
        left, top = column * panel_width + 10, PNG_HEAD + row * panel_height + PANEL_HEAD
        axes = figure.add_axes((left / width, 1 - (top + high) / height, wide / width, high / height))
        draw_ranks(axes, scene, held)
        if number < len(drawing.rounds):
            sent = ways(scene, drawing.rounds[number].messages)
            draw_ways(axes, scene, sent)
            draw_messages(axes, scene, sent, clear_spots(scene, sent, PNG_SHARE))
        axes.set_title(round_sentence(drawing, number), size=9, loc="left", pad=6)
    return figure


def _columns(panels: int, shape: float) -> int:
    """Return the number of columns for panels with width/height `shape`: ratio near PNG_SHAPE, few empty places."""

    def cost(columns: int) -> float:
        rows = ceil(panels / columns)
        return abs(log(columns * shape / rows / PNG_SHAPE)) + EMPTY_COST * (rows * columns / panels - 1)

    return min(range(1, panels + 1), key=cost)


class Frame(NamedTuple):
    """Frame of the GIF, RGB, and its duration."""

    pixels: np.ndarray
    duration_ms: int


def gif(drawing: Drawing, names: Sequence[str], progress: Progress = unsaid) -> bytes:
    """Draw the looping GIF of all rounds of `drawing`; `names` stand above the ranks' boxes.

    `progress` is told what comes next.
    """
    found = []
    for number, frame in enumerate(frames(drawing, names), start=1):
        found.append(frame)
        progress(f"draws the rounds: picture {number}")
    first, *others = _with_palette([frame.pixels for frame in found])
    durations = [frame.duration_ms for frame in found]
    file = io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=others, duration=durations, loop=0, disposal=1)
    return file.getvalue()


def frames(drawing: Drawing, names: Sequence[str]) -> Iterator[Frame]:
    """Yield the frames: for each round what is about to leave and the messages on their way, then the end."""
    side = WIDTH if drawing.ranks <= 8 else MOST_HEIGHT
    placed = scene(drawing, names, side, HEIGHT if drawing.ranks <= 8 else MOST_HEIGHT)
    steps = places_on_way(len(drawing.rounds))
    with style.context("default"):
        held = drawing.start
        for number, round_ in enumerate(drawing.rounds):
            figure, axes = _empty_frame(placed, number)
            draw_ranks(axes, placed, held)
            sent = ways(placed, round_.messages)
            draw_ways(axes, placed, sent)
            yield from _on_their_way(figure, axes, placed, sent, steps)
            held = round_.held
        figure, axes = _empty_frame(placed, len(drawing.rounds))
        draw_ranks(axes, placed, held)
        yield Frame(_pixels_of(figure), END_MS)


def places_on_way(rounds: int) -> int:
    """Return the number of frames per message: seven, fewer if there are many rounds."""
    return max(2, min(7, MOST_FRAMES // max(rounds, 1)))


def _on_their_way(figure: Figure, axes: Axes, scene: Scene, sent: Sequence[Way], steps: int) -> Iterator[Frame]:
    """Yield the messages of one round at each of `steps` positions; only the messages are redrawn."""
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
    """Move a message from `begin` to the receiver, slowly at both ends."""
    eased = share * share * (3 - 2 * share)
    return Spot(begin.share + (END - begin.share) * eased, begin.lift * (1 - eased))


def _empty_frame(scene: Scene, number: int) -> tuple[Figure, Axes]:
    """Return a figure with the texts of round `number`, and empty axes."""
    wide, high = scene.size
    width, height = round(max(wide, GIF_NARROWEST)), round(high) + GIF_HEAD + GIF_FOOT
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
    FigureCanvasAgg(figure)
    figure.text(10 / width, 1 - 10 / height, title(scene.drawing), size=12, va="top", parse_math=False)
    figure.text(10 / width, 1 - 34 / height, round_sentence(scene.drawing, number), size=9.5, va="top", color="#404040")
    figure.text(10 / width, 9 / height, LEGEND, size=7, va="bottom", color="#595959")
    left = (width - wide) / 2
    return figure, figure.add_axes((left / width, GIF_FOOT / height, wide / width, high / height))


def _pixels_of(figure: Figure) -> np.ndarray:
    canvas = figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _with_palette(pictures: Sequence[np.ndarray]) -> Iterator[Image.Image]:
    """Convert pictures to a palette of their most frequent colours; rarer ones, at letters' edges, take the nearest."""
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
    """Encode each colour as 0xrrggbb."""
    return colours.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
