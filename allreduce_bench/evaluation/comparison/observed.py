"""Cells of too few launches for an interval: how many of them took longer, by how much and where, as was observed.

These are the times themselves and no verdict: nothing is said of how much launches differ.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ...units import significant
from .compared_cell import SLOWER_FASTER_SAME, ComparedCell

DIGITS = 2  # of a factor that a single launch shows


class Direction(NamedTuple):
    """The observed cells that are slower, those that are faster, or those within the threshold."""

    observed: str  # one of SLOWER_FASTER_SAME
    cells: int
    least: float  # factor between the sides, 1 or above, of the cell that differs least
    most: float  # of the cell that differs most
    where: str  # the name of that cell


class Observed(NamedTuple):
    """All observed cells of a comparison."""

    cells: int
    launches: tuple[int, int]  # the most of a cell, of baseline and new
    threshold: float  # a share
    directions: tuple[Direction, ...]  # those that have cells

    def __str__(self) -> str:
        """`25 of 25 slower, 1.6 to 25 times (most: native 32 MiB, 8 ranks); one launch a side: no interval`."""
        parts = [_words(direction, self.threshold) for direction in self.directions]
        parts[0] = parts[0].replace(" ", f" of {self.cells} ", 1)
        return f"{'; '.join(parts)}; {_launches_words(self.launches)}: no interval"


def observed(cells: Sequence[ComparedCell], threshold: float) -> Observed | None:
    """What was observed; None: every cell has enough launches. `threshold` is a share."""
    found = [cell for cell in cells if cell.observed]
    if not found:
        return None
    launches = max(cell.launches[0] for cell in found), max(cell.launches[1] for cell in found)
    directions = (_direction(kind, [cell for cell in found if cell.observed == kind]) for kind in SLOWER_FASTER_SAME)
    return Observed(len(found), launches, threshold, tuple(filter(None, directions)))


def _direction(kind: str, cells: Sequence[ComparedCell]) -> Direction | None:
    if not cells:
        return None
    factors = [_factor(cell) for cell in cells]
    most = max(factors)
    return Direction(kind, len(cells), min(factors), most, cells[factors.index(most)].name)


def _factor(cell: ComparedCell) -> float:
    """How many times the longer time is the shorter one, as printed."""
    ratio = cell.printed_ratio or 1.0
    return max(ratio, 1 / ratio)


def _words(direction: Direction, threshold: float) -> str:
    """`25 slower, 1.6 to 25 times (most: native 32 MiB, 8 ranks)`."""
    if direction.observed == "same":
        return f"{direction.cells} within {threshold * 100:g} %"
    least, most = (significant(factor, DIGITS) for factor in (direction.least, direction.most))
    span = least if least == most else f"{least} to {most}"
    place = f" (most: {direction.where})" if direction.cells > 1 else f" ({direction.where})"
    return f"{direction.cells} {direction.observed}, {span} times{place}"


def _launches_words(launches: tuple[int, int]) -> str:
    """`one launch a side`."""
    before, after = launches
    if before == after:
        return "one launch a side" if before == 1 else f"{before} launches a side"
    return f"{before} and {after} launches"
