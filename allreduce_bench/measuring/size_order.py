"""Which size comes next where time may not suffice, so that what is left out in the end hurts least.

Whole sizes are measured one after the other: only then can algorithms be compared. Each new size lies in the widest
gap between those before it, but one that would take too much of the time that is left waits for cheaper ones.
"""

from collections.abc import Mapping, Sequence

LARGEST_SHARE = 1 / 3  # of the time left: a size that is expected to take more has to wait
SCALES_FROM = 4 * 1024  # bytes: from here on the cost of a size grows at most as its bytes do


def spread_sizes(sizes: Sequence[int]) -> list[int]:
    """The first of the ascending `sizes`, the middle, the last, the middles of the halves, and so on."""
    order, gaps = [0, (len(sizes) - 1) // 2, len(sizes) - 1], [(0, (len(sizes) - 1) // 2)]
    gaps.append((gaps[0][1], len(sizes) - 1))
    for low, high in gaps:  # grows while it is read
        middle = (low + high) // 2
        if low < middle < high:
            order.append(middle)
            gaps += [(low, middle), (middle, high)]
    return [sizes[i] for i in dict.fromkeys(order)]


def next_size(waiting: Sequence[int], spent_s: Mapping[int, float], left_s: float) -> int:
    """The first of the `waiting` sizes (bytes) that is worth its time, else the smallest.

    `spent_s` holds the seconds that each size before took, all its algorithms together.
    """
    return next((size for size in waiting if _expected_s(size, spent_s) <= LARGEST_SHARE * left_s), min(waiting))


def _expected_s(size: int, spent_s: Mapping[int, float]) -> float:
    """In proportion to the largest size below it, at most what a larger one took; 0 where nothing is known."""
    above = [spent_s[measured] for measured in spent_s if measured >= size]
    below = [measured for measured in spent_s if measured < size]
    expected = max((spent_s[measured] for measured in below), default=0.0)
    if below and max(below) >= SCALES_FROM:
        expected = max(expected, spent_s[max(below)] * size / max(below))
    return min([expected, *above]) if above else expected
