"""The map of the fastest algorithm as a table that a page shows first: rank counts down, sizes across."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from ..evaluation.grade import NOT_RELIABLE
from ..units import format_size, format_time, in_ranks, three_digits
from .figure import styles
from .figures.winners import UNTOLD, winners
from .live_chart import cell_id, look_json
from .verdict_sentence import printed_factor

MOST_NAMED = 9  # sizes of a table with room for names


class MapCell(NamedTuple):
    """The winner at one size and rank count."""

    winner: str  # empty: none
    gains: bool  # several are equal, and native is slower
    text: str  # its factor, or the mark of the standing
    words: str  # all that is known
    cell: str  # id of the cell with the lowest time, whose calls the page may hold
    pale: bool  # the times are not reliable


def winner_table(frame: pd.DataFrame) -> dict[str, Any] | None:
    """Return sizes, lines of cells (None: nothing to compare) and looks of the winners; None: no two were ranked."""
    won = winners(frame)
    if won.empty:
        return None
    pale = set(frame.loc[frame["grade"] == NOT_RELIABLE, "ranks"])
    sizes = sorted(won["size_bytes"].unique())
    cells = {(row["ranks"], row["size_bytes"]): _cell(row, row["ranks"] in pale) for row in won.to_dict("records")}
    styled = styles(frame["competitor"])
    names = [name for name in styled if name in set(won["winner"])]
    return {
        "sizes": [format_size(int(size_bytes)) for size_bytes in sizes],
        "lines": [
            (in_ranks([ranks]), [cells.get((ranks, size_bytes)) for size_bytes in sizes])
            for ranks in sorted(won["ranks"].unique(), reverse=True)
        ],
        "looks": {name: look_json(styled[name]) for name in names},
        "named": len(sizes) <= MOST_NAMED,
    }


def _cell(row: Mapping[Any, Any], pale: bool) -> MapCell:
    ranks, size_bytes = int(row["ranks"]), int(row["size_bytes"])
    factor = three_digits(printed_factor(row["over_s"], row["time_s"]))
    standing = {
        "=": "; no single winner: others are equal within 5 %",
        "?": "; no winner: others are not told apart from it",
    }.get(UNTOLD.get(row["standing"], ""), "")
    words = (
        f"{format_size(size_bytes)} on {in_ranks([ranks])}: {row['lowest']} {format_time(row['time_s'])}, "
        f"{factor} times as fast as {row['over']} ({format_time(row['over_s'])}){standing}"
    )
    text = f"{factor}×" if row["winner"] or row["gains"] else UNTOLD[row["standing"]]
    return MapCell(row["winner"], row["gains"], text, words, cell_id(ranks, row["lowest"], size_bytes), pale)
