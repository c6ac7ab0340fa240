"""Which sizes come next where time may not suffice, so that what is left out in the end hurts least.

Sizes are measured in sets, one set after the other, and the cells of a set in random order: so a slow drift of the
machine does not fall upon one size or one algorithm, and time that runs out cuts the sizes of one set only. Whole sizes
must be complete, for only then can algorithms be compared. The sizes of a set lie in the widest gaps between those
before them, but one that would take too much of the time that is left waits for cheaper ones.
"""

from collections.abc import Mapping, Sequence

LARGEST_SHARE = 1 / 3  # of the time left: a size that is expected to take more has to wait
SHARE_OF_SET = 1 / 2  # of the time left: what the sizes of a set are expected to take together, at most
SCALES_FROM = 4 * 1024  # bytes: from here on the cost of a size grows at most as its bytes do
ALIKE, FIRST = 64 * 1024, 3  # the first set: so many sizes of at most so many bytes, whose cells cost about the same


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


def next_set(waiting: Sequence[int], spent_s: Mapping[int, float], left_s: float) -> list[int]:
    """Those of the `waiting` sizes (bytes, as `spread_sizes` has them) that come next: never none.

    `spent_s` holds the seconds that each size before took, all its algorithms together; `left_s` are left. Where no
    size is worth its time, the smallest comes alone.
    """
    chosen, expected_s = [], 0.0
    for size in waiting:
        size_s = _expected_s(size, spent_s)
        if not spent_s:
            fits = size <= ALIKE and len(chosen) < FIRST
        else:
            fits = size_s <= LARGEST_SHARE * left_s and expected_s + size_s <= SHARE_OF_SET * left_s
        if fits:
            chosen.append(size)
            expected_s += size_s
    return chosen or [min(waiting)]


def _expected_s(size: int, spent_s: Mapping[int, float]) -> float:
    """In proportion to the largest size below it, at most what a larger one took; 0 where nothing is known."""
    above = [spent_s[measured] for measured in spent_s if measured >= size]
    below = [measured for measured in spent_s if measured < size]
    expected = max((spent_s[measured] for measured in below), default=0.0)
    if below and max(below) >= SCALES_FROM:
        expected = max(expected, spent_s[max(below)] * size / max(below))
    return min([expected, *above]) if above else expected
