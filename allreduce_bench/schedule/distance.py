"""Distance of schedules on a torus: elements times the links that they pass.

Ranks fill the torus in order, those along its last dimension are neighbours, as `torus:4x4` numbers them. A message
goes along one dimension after the other, from the first to the last, each time the shorter way round, and of two
equally long ones up (dimension order: Dally and Seitz, IEEE Transactions on Computers, 1987). The directions of a link
are counted apart.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

from . import Schedule, elements


class Distance(NamedTuple):
    """Elements on the links of a torus."""

    passed: int  # times links, in all
    busiest: int  # over the link, in the direction, that carries most


def distance(schedules: Sequence[Schedule], dimensions: Sequence[int]) -> Distance:
    """Count what `schedules` send over the links of a torus of `dimensions`, whose product is the number of ranks."""
    moved, carried = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for rank, steps in enumerate(schedules):
        for step in steps:
            if step.dest is not None:
                moved[rank, step.dest] += elements(step.send)
    for (source, dest), number in moved.items():
        for link in links_between(source, dest, dimensions):
            carried[link] += number
    return Distance(carried.total(), max(carried.values(), default=0))


def links_between(source: int, dest: int, dimensions: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the links from rank `source` to rank `dest`, each as its two ranks."""
    at, stride = source, prod(dimensions)
    for length in dimensions:
        stride //= length
        place, ahead = at // stride % length, (dest // stride - at // stride) % length
        direction = 1 if 2 * ahead <= length else -1
        for _ in range(min(ahead, length - ahead)):
            beyond = (place + direction) % length
            following = at + (beyond - place) * stride
            yield at, following
            at, place = following, beyond
