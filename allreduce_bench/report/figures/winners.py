"""Maps of who wins where: rank counts up, sizes to the right; measured, and beside it what the models would choose."""

from math import ceil
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from ...models.curves import choices
from ...units import format_size, three_digits
from ..figure import MODELS, TIMES, Drawing, FigureData, ReportFigure
from .looks import LEGEND_WIDTH, PANELS_WIDTH, of_one_cache, styles

ROW_HEIGHT, MARGIN = 0.42, 1.0  # inches
MOST_WORDS = 26  # columns of one map that have room for a number in each
TIE = "////"
NAMED = 13  # sizes named on the axis, at most


class Look(NamedTuple):
    """What a map shows of its cells: columns of a frame."""

    title: str
    winner: str
    number: str  # written into the cell, where it is known
    tied: str | None = None  # flag: hatched


def draw_winners(data: FigureData) -> Drawing | None:
    """The map of who was fastest."""
    won = winners(data.frame)
    figure = winner_map(data.frame, won)
    return None if figure is None else Drawing(figure, f"{_caption_of_winners(won)}{data.warm_sentence}", won)


def draw_choices(data: FigureData) -> Drawing | None:
    """The maps of who was fastest and whom the models would choose."""
    chosen = choices(data.frame, data.compared)
    figure = choice_map(data.frame, chosen)
    return None if figure is None else Drawing(figure, f"{_caption_of_choices(chosen)}{data.warm_sentence}", chosen)


WINNERS = ReportFigure(stem="winners", section=TIMES, turn=40, draw=draw_winners)
CHOICES = ReportFigure(stem="choices", section=MODELS, turn=20, draw=draw_choices)


def _caption_of_winners(won: pd.DataFrame) -> str:
    ties = f"{(won['ties'] != '').sum()} of {len(won)}"
    return (
        "Who is fastest where. The number: time of native over time of the fastest; where native is fastest, or was not"
        f" measured, time of the second. Hatched: another cannot be told from the fastest (95 %), {ties} places."
        " Left blank: fewer than two algorithms measured."
    )


def _caption_of_choices(chosen: pd.DataFrame) -> str:
    regret, right = chosen["regret"], (chosen["regret"] == 1).sum()
    return (
        "Left, who was fastest; right, whom the models would choose, and the regret of it where it is another: time of"
        f" that choice over time of the fastest, both measured. Regret: median {three_digits(regret.median())}, at most"
        f" {three_digits(regret.max())}; the choice is the fastest in {right} of {len(chosen)} places. The models were"
        " fitted to these times."
    )


def winners(rows: pd.DataFrame) -> pd.DataFrame:
    """Who was fastest at each number of ranks and size: columns ranks, nbytes, winner, time_s, ties, over, speedup.

    `rows` are those of one run from `frames.summary`. Only what two algorithms or more were measured at has a winner;
    with a warm cache where that was measured. `ties` are the names that the data cannot tell from the winner, joined
    by spaces. `speedup` is the time of `over` over that of the winner: of native, or of the second where native wins or
    was not measured.
    """
    timed = rows[rows["time_s"].notna() & (rows["nbytes"] > 0) & (rows["ranks"] > 1)]
    lines = []
    for (ranks, nbytes), group in of_one_cache(timed).groupby(["ranks", "nbytes"]):
        if group["algorithm"].nunique() < 2:
            continue
        first, second, *_ = group.sort_values("time_s", kind="stable").to_dict("records")
        native = group.loc[group["algorithm"] == "native", "time_s"]
        alone = native.empty or first["algorithm"] == "native"
        over, time_s = (second["algorithm"], second["time_s"]) if alone else ("native", native.iloc[0])
        ties = " ".join(group.loc[group["rank_of_best"] == "tie", "algorithm"])
        values = (ranks, nbytes, first["algorithm"], first["time_s"], ties, over, time_s / first["time_s"])
        lines.append(values)
    return pd.DataFrame(lines, columns=["ranks", "nbytes", "winner", "time_s", "ties", "over", "speedup"])


def winner_map(rows: pd.DataFrame, won: pd.DataFrame) -> Figure | None:
    """The map of `winners`; `rows` are those it was made of, whose algorithms decide the colours."""
    look = Look("measured: fastest, and how many times faster", "winner", "speedup", "tied")
    return _maps(rows, won.assign(tied=won["ties"] != ""), [look])


def choice_map(rows: pd.DataFrame, chosen: pd.DataFrame) -> Figure | None:
    """Who was fastest, beside whom the models would choose, and what that costs; see `models.curves.choices`."""
    looks = [
        Look("measured: fastest", "fastest", "", "tied"),
        Look("by the models: their choice, and its regret", "chosen", "regret"),
    ]
    missed = chosen["regret"].where(chosen["fastest"] != chosen["chosen"])
    return _maps(rows, chosen.assign(regret=missed), looks)


def _maps(rows: pd.DataFrame, cells: pd.DataFrame, looks: list[Look]) -> Figure | None:
    if cells.empty:
        return None
    colours = {name: str(style["color"]) for name, style in styles(rows["algorithm"]).items()}
    ranks, sizes = sorted(cells["ranks"].unique()), sorted(cells["nbytes"].unique())
    names = pd.unique(cells[[look.winner for look in looks]].to_numpy().ravel())
    height = MARGIN + ROW_HEIGHT * len(ranks)
    legend_height = 0.4 + 0.19 * (len(names) + 3)
    figure = Figure(figsize=(PANELS_WIDTH + LEGEND_WIDTH, max(height, legend_height)), layout="constrained")
    panels = figure.subplots(1, len(looks), squeeze=False, sharey=True)[0]
    for axes, look in zip(panels, looks):
        for cell in cells.to_dict("records"):
            _draw_cell(axes, cell, look, ranks.index(cell["ranks"]), sizes.index(cell["nbytes"]), colours, len(sizes))
        _name_axes(axes, ranks, sizes, look.title, ceil(len(sizes) * len(looks) / NAMED))
    panels[0].set_ylabel("ranks")
    handles: list[Patch] = [Patch(facecolor=colours[name], label=name) for name in colours if name in names]
    if any(cells[look.tied].any() for look in looks if look.tied):
        handles.append(Patch(facecolor="#b8b8b8", edgecolor="white", hatch=TIE, label="tied with another\n(95 %)"))
    if len(cells) < len(ranks) * len(sizes):
        handles.append(Patch(facecolor="white", edgecolor="#c8c8c8", label="nothing to compare"))
    figure.legend(handles=handles, loc="outside right upper", frameon=False, fontsize=8.5)
    return figure


def _draw_cell(
    axes: Axes, cell: dict, look: Look, row: int, column: int, colours: dict[str, str], columns: int
) -> None:
    colour, tied = colours[cell[look.winner]], bool(look.tied and cell[look.tied])
    shape = Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=colour, edgecolor="white", linewidth=0.8)
    if tied:
        shape.set_hatch(TIE)
    axes.add_patch(shape)
    number = cell[look.number] if look.number else np.nan
    if np.isfinite(number) and columns <= MOST_WORDS:
        red, green, blue = to_rgb(colour)
        ink = "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else "black"
        words = f"{number:.1f}" if number < 9.95 else f"{number:.0f}"
        plain = {"boxstyle": "round,pad=0.25", "facecolor": colour, "edgecolor": "none"}  # no hatch behind the number
        axes.text(column, row, words, ha="center", va="center", color=ink, fontsize=8, bbox=plain)


def _name_axes(axes: Axes, ranks: list[int], sizes: list[int], title: str, every: int) -> None:
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    axes.set_ylim(-0.5, len(ranks) - 0.5)
    axes.set_xticks(range(0, len(sizes), every), [format_size(size) for size in sizes[::every]], fontsize=8)
    axes.set_yticks(range(len(ranks)), [str(count) for count in ranks], fontsize=8)
    axes.set_xlabel("size of the vector")
    axes.set_title(title, fontsize=10)
    axes.tick_params(length=2)
