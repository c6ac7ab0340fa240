"""Whether this processor copies slowly between places that are a few bytes apart modulo a page: see docs/placement.md.

glibc copies 2 KiB to about 1 MiB with `rep movsb` where the processor says that this is fast; AMD Zen 3 and 4 take 5 to
9 times as long for a difference of 1 to 31 bytes (glibc bug 30994).
"""

from time import perf_counter

import numpy as np

from . import PAGE_NBYTES

NBYTES, DELTA = 64 * 1024, 16
TURNS, COPIES = 20, 4
SLOW = 1.5  # times as long: what a factor above it does to an all-reduce is seen


def close_copy_factor() -> float:
    """The time of a copy of NBYTES to a place DELTA bytes behind modulo a page, over that without such a difference.

    Each is the shortest of TURNS turns, which take 1 ms together.
    """
    block = np.zeros(2 * NBYTES + 3 * PAGE_NBYTES, np.uint8)
    first = -block.ctypes.data % PAGE_NBYTES
    source = block[first : first + NBYTES]
    least_s = {0: float("inf"), DELTA: float("inf")}
    for _ in range(TURNS):
        for delta in least_s:
            begin = first + NBYTES + PAGE_NBYTES + delta
            into = block[begin : begin + NBYTES]
            begun = perf_counter()
            for _ in range(COPIES):
                np.copyto(into, source)
            least_s[delta] = min(least_s[delta], perf_counter() - begun)
    return least_s[DELTA] / least_s[0]
