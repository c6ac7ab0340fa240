"""Map of the fastest algorithm over ranks (vertical) and sizes (horizontal)."""

from itertools import groupby
from math import ceil
from operator import itemgetter

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from ...evaluation.verdict import EQUAL, FASTEST, SLOWER, UNCLEAR
from ...runs.competitor import Competitor
from ...units import format_size
from ..figure import (
    HATCHES,
    LEGEND_WIDTH,
    PANELS_WIDTH,
    TIMES,
    Drawing,
    FigureData,
    ReportFigure,
    styles,
)
from ..verdict_sentence import printed_factor

ROW_HEIGHT, MARGIN = 0.42, 1.0  # inches
MOST_WORDS = 26  # columns of a map with room for a number in each cell
GREY, GAIN = "#d9d9d9", "#d5ead9"  # no winner; several are equal, and native is slower
UNTOLD = {EQUAL: "=", UNCLEAR: "?"}  # standing of the lowest time -> text of the cell without a winner
NAMED = 13  # sizes named on the axis, at most
CELL, CELL_BY_TIME = itemgetter("ranks", "size_bytes"), itemgetter("ranks", "size_bytes", "time_s")


def draw_winners(data: FigureData) -> Drawing | None:
    """Draw the map of the fastest algorithm."""
    won = winners(data.frame)
    figure = winner_map(data.frame, won)
    return None if figure is None else Drawing(figure, f"{_caption_of_winners(won)}", won)


WINNERS = ReportFigure(stem="winners", section=TIMES, turn=40, draw=draw_winners)


def _caption_of_winners(won: pd.DataFrame) -> str:
    told = (won["winner"] != "").sum()
    return (
        f"Fastest algorithm: determined in {told} of {len(won)} cells (lower in nearly all launches, and by 5 %). "
        "Number: time of native / time of the fastest; where native is the fastest or not ranked: time of the second "
        "fastest / time of the fastest. =: several are equal within 5 %, green where native is slower than they. Grey: "
        "no winner; ?: the lowest time cannot be distinguished from others. White: fewer than two algorithms have a "
        "time that can be ranked."
    )


def winners(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the fastest algorithm at each rank count and size.

    Columns: ranks, size_bytes, winner, lowest, standing, time_s, over, over_s, speedup, gains. `rows` are of one run
    from `summary.summary`. Only where two algorithms or more can be ranked. `lowest` has the lowest time, `time_s`;
    `standing` is whether it is shown to be the fastest, and `winner` is empty if not. `over` is native, or the second
    if native is the lowest or not ranked, `over_s` its time, and `speedup` that over the lowest. `gains`: several are
    equal, and native is shown to be slower than the lowest.
    """
    few = rows[["ranks", "size_bytes", "competitor", "standing", "time_s"]]  # of a hundred columns
    ranked = few[few["standing"].notna() & (few["ranks"] > 1)]
    records = ranked.to_dict("records")  # a frame for each cell takes much longer
    row_of = {(row["ranks"], row["size_bytes"], row["competitor"]): row for row in reversed(records)}
    lines = []
    for (ranks, size_bytes), group in groupby(sorted(records, key=CELL_BY_TIME), key=CELL):
        first, *others = group
        if not others:
            continue
        lowest, standing, time_s = first["competitor"], first["standing"], first["time_s"]
        native = row_of.get((ranks, size_bytes, Competitor(lowest).native_beside))
        over: dict = others[0] if native is None or native is first else native
        gains = standing == EQUAL and native is over and over["standing"] == SLOWER
        beside = over["competitor"], over["time_s"], over["time_s"] / time_s, gains
        lines.append((ranks, size_bytes, lowest if standing == FASTEST else "", lowest, standing, time_s, *beside))
    columns = ["ranks", "size_bytes", "winner", "lowest", "standing", "time_s", "over", "over_s", "speedup", "gains"]
    return pd.DataFrame(lines, columns=columns)


def winner_map(rows: pd.DataFrame, won: pd.DataFrame) -> Figure | None:
    """Draw the map of `winners`; `rows` are its source, whose algorithms decide the colours."""
    is_won = won["winner"] != ""
    factors = [printed_factor(*times_s) for times_s in zip(won["over_s"], won["time_s"])]
    text = pd.Series(map(_number, factors), won.index, dtype=str)
    marks = won["standing"].map(UNTOLD)
    return _map(rows, won.assign(text=text.where(is_won, marks.where(~won["gains"].astype(bool), "= " + text))))


def _number(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def _map(rows: pd.DataFrame, cells: pd.DataFrame) -> Figure | None:
    if cells.empty:
        return None
    colours = {name: str(style["color"]) for name, style in styles(rows["competitor"]).items()}
    ranks, sizes = sorted(cells["ranks"].unique()), sorted(cells["size_bytes"].unique())
    names = cells["winner"].unique()
    height = MARGIN + ROW_HEIGHT * len(ranks)
    legend_height = 0.4 + 0.19 * (len(names) + 3)
    figure = Figure(figsize=(PANELS_WIDTH + LEGEND_WIDTH, max(height, legend_height)), layout="constrained")
    axes = figure.subplots()
    for cell in cells.to_dict("records"):
        _draw_cell(axes, cell, ranks.index(cell["ranks"]), sizes.index(cell["size_bytes"]), colours, len(sizes))
    _name_axes(axes, ranks, sizes, ceil(len(sizes) / NAMED))
    handles = [Patch(facecolor=colours[name], label=name) for name in colours if name in names]
    for handle in handles:
        _hatch(handle, str(handle.get_label()))
    if cells["gains"].any():
        handles.append(Patch(facecolor=GAIN, edgecolor="white", label="several equal,\nnative slower"))
    if (is_open := cells["winner"] == "").any() and not cells.loc[is_open, "gains"].all():
        handles.append(Patch(facecolor=GREY, edgecolor="white", label="no winner"))
    if len(cells) < len(ranks) * len(sizes):
        handles.append(Patch(facecolor="white", edgecolor="#c8c8c8", label="nothing to compare"))
    figure.legend(handles=handles, loc="outside right upper", frameon=False, fontsize=8.5)
    return figure


def _draw_cell(axes: Axes, cell: dict, row: int, column: int, colours: dict[str, str], columns: int) -> None:
    colour = colours.get(cell["winner"], GAIN if cell["gains"] else GREY)
    field = Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=colour, edgecolor="white", linewidth=0.8)
    _hatch(field, cell["winner"])
    axes.add_patch(field)
    if columns <= MOST_WORDS:
        red, green, blue = to_rgb(colour)
        ink = "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else "black"
        # on a ground of its own, because hatching crosses letters
        ground = {"facecolor": colour, "edgecolor": "none", "pad": 1.5} if cell["text"] else None
        axes.text(column, row, cell["text"], ha="center", va="center", color=ink, fontsize=8.5, bbox=ground)


def _hatch(field: Patch, competitor: str) -> None:
    """Hatch the field of a competitor run another way than the usual one: its algorithm has one colour."""
    if hatch := HATCHES.get(Competitor(competitor).way):
        field.set(hatch=hatch, edgecolor="white")


def _name_axes(axes: Axes, ranks: list[int], sizes: list[int], every: int) -> None:
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    axes.set_ylim(-0.5, len(ranks) - 0.5)
    axes.set_xticks(range(0, len(sizes), every), [format_size(size) for size in sizes[::every]], fontsize=8.5)
    axes.set_yticks(range(len(ranks)), [str(count) for count in ranks], fontsize=8.5)
    axes.set_xlabel("size of the vector")
    axes.set_title("measured: fastest algorithm and its speed-up", fontsize=10)
    axes.set_ylabel("ranks")
    axes.tick_params(length=2)
