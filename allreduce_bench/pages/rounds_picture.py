"""All rounds of a drawing side by side, as one PNG: a panel for each round, and one for the start."""

import io
from collections.abc import Sequence
from math import ceil, log

from matplotlib import style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..schedule.algorithm import AlgorithmError
from .clearance import clear_spots
from .drawing import Drawing
from .moment import DPI, draw_messages, draw_ranks, draw_ways
from .scene import Scene, scene, ways
from .sentences import LEGEND, of_round, title

PANELS = {4: 420, 8: 560, 32: 640}  # ranks at most -> pixels, width of a panel and height of a tree in it
HEAD, FOOT, PANEL_HEAD, PANEL_GAP = 46, 44, 26, 34  # pixels
NARROWEST = 640  # pixels that the words need
SHAPE = 1.6  # width over height of the whole, about
MOST_PANELS = 100
WAY = 0.42  # where messages are best on their ways: not in the middle, where two of an exchange meet
EMPTY_COST = 1.5  # of a picture with as many empty places as panels, against one that is e times too wide


def png(drawing: Drawing, names: Sequence[str]) -> bytes:
    """The PNG of all rounds of `drawing`; `names` stand above the ranks' boxes.

    A panel shows the messages of its round and what every rank holds before them; the last one what all hold then.
    Raises AlgorithmError where there are too many rounds.
    """
    if len(drawing.rounds) >= MOST_PANELS:
        raise AlgorithmError(
            f"{drawing.algorithm}: {len(drawing.rounds)} rounds; a .png file shows fewer than {MOST_PANELS}; "
            "use a longer --segment, or name a .gif or .html file"
        )
    side = next(side for most, side in PANELS.items() if drawing.ranks <= most)
    with style.context("default"):
        figure = _figure(scene(drawing, names, side, side))
        file = io.BytesIO()
        FigureCanvasAgg(figure).print_png(file, metadata={"Software": None})
    return file.getvalue()


def _figure(scene: Scene) -> Figure:
    drawing, panels = scene.drawing, len(scene.drawing.rounds) + 1
    wide, high = scene.size
    panel_width, panel_height = wide + PANEL_GAP, high + PANEL_HEAD + PANEL_GAP / 3
    columns = _columns(panels, panel_width / panel_height)
    width, height = max(columns * panel_width, NARROWEST), ceil(panels / columns) * panel_height + HEAD + FOOT
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
    figure.text(10 / width, 1 - 14 / height, title(drawing), size=13, va="top", parse_math=False)
    figure.text(10 / width, 12 / height, LEGEND, size=8, va="bottom", color="#595959")
    for number, held in enumerate([drawing.start, *(round_.held for round_ in drawing.rounds)]):
        row, column = divmod(number, columns)
        left, top = column * panel_width + 10, HEAD + row * panel_height + PANEL_HEAD
        axes = figure.add_axes((left / width, 1 - (top + high) / height, wide / width, high / height))
        draw_ranks(axes, scene, held)
        if number < len(drawing.rounds):
            sent = ways(scene, drawing.rounds[number].messages)
            draw_ways(axes, scene, sent)
            draw_messages(axes, scene, sent, clear_spots(scene, sent, WAY))
        axes.set_title(of_round(drawing, number), size=9, loc="left", pad=6)
    return figure


def _columns(panels: int, shape: float) -> int:
    """How many panels, `shape` times as wide as high, stand in a row: nearly SHAPE, and few empty places."""

    def cost(columns: int) -> float:
        rows = ceil(panels / columns)
        return abs(log(columns * shape / rows / SHAPE)) + EMPTY_COST * (rows * columns / panels - 1)

    return min(range(1, panels + 1), key=cost)
