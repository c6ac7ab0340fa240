"""Ratios of single times, without an interval: how many are above the threshold, how many below, and by how much.

These are what was observed and no verdict: nothing is said of how much launches differ.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..units import significant

DIRECTIONS = ("slower", "faster", "same")
DIGITS = 2  # of a factor that a single launch shows


class Direction(NamedTuple):
    """The ratios that are slower, those that are faster, or those within the threshold."""

    observed: str  # one of DIRECTIONS
    cells: int
    least: float  # factor between the two times, 1 or above, where they differ least
    most: float  # where they differ most
    where: str  # the name of that ratio


def direction_of(ratio: float, threshold: float) -> str:
    """One of DIRECTIONS; `threshold` is a share."""
    if ratio > 1 + threshold:
        return "slower"
    return "faster" if ratio < 1 / (1 + threshold) else "same"


def directions(ratios: Mapping[str, float], threshold: float) -> tuple[Direction, ...]:
    """Those of DIRECTIONS that some of the named ratios have; `threshold` is a share."""
    found = []
    for kind in DIRECTIONS:
        factors = {name: max(r, 1 / r) for name, r in ratios.items() if direction_of(r, threshold) == kind}
        if factors:
            most = max(factors, key=factors.__getitem__)
            found.append(Direction(kind, len(factors), min(factors.values()), factors[most], most))
    return tuple(found)


def directions_words(found: Sequence[Direction], threshold: float) -> str:
    """`20 of 25 slower, 1.6 to 25 times (most: 32 MiB); 5 within 5 %`."""
    first, *others = (_words(direction, threshold) for direction in found)
    count, rest = first.split(" ", 1)
    return "; ".join([f"{count} of {sum(direction.cells for direction in found)} {rest}", *others])


def _words(direction: Direction, threshold: float) -> str:
    if direction.observed == "same":
        return f"{direction.cells} within {threshold * 100:g} %"
    least, most = (significant(factor, DIGITS) for factor in (direction.least, direction.most))
    span = least if least == most else f"{least} to {most}"
    place = f"most: {direction.where}" if direction.cells > 1 else direction.where
    return f"{direction.cells} {direction.observed}, {span} times ({place})"
