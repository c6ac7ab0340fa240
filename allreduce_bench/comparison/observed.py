"""Cells of too few launches for an interval: how many of them took longer, by how much and where, as was observed."""

from collections.abc import Sequence
from typing import NamedTuple

from ..evaluation.directions import Direction, directions, directions_words
from .compared_cell import ComparedCell


class Observed(NamedTuple):
    """All observed cells of a comparison."""

    cells: int
    launches: tuple[int, int]  # the most of a cell, of baseline and new
    threshold: float  # a share
    directions: tuple[Direction, ...]  # by the ratios as they are printed

    def __str__(self) -> str:
        """`25 of 25 slower, 1.6 to 25 times (most: native 32 MiB, 8 ranks); one launch a side: no interval`."""
        before, after = self.launches
        launches = f"{before} launches a side" if before == after else f"{before} and {after} launches"
        words = "one launch a side" if before == after == 1 else launches
        return f"{directions_words(self.directions, self.threshold)}; {words}: no interval"


def observed(cells: Sequence[ComparedCell], threshold: float) -> Observed | None:
    """What was observed; None: every cell has enough launches. `threshold` is a share."""
    found = [cell for cell in cells if cell.observed]
    if not found:
        return None
    launches = max(cell.launches[0] for cell in found), max(cell.launches[1] for cell in found)
    ratios = {cell.name: cell.printed_ratio or 1.0 for cell in found}
    return Observed(len(found), launches, threshold, directions(ratios, threshold))
