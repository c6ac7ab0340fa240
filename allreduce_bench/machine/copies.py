"""Copies of memory on this node, which some processors make slowly between places a few bytes apart.

glibc copies 2 KiB and more with `rep movsb` if the processor reports that this is fast; AMD Zen 3 and 4 take 5 to 9
times as long for an offset of 1 to 31 bytes modulo a page (glibc bug 30994).
"""

from time import perf_counter

from . import PAGE_NBYTES

COPIED_NBYTES, DELTA, TURNS, COPIES = 64 * 1024, 16, 20, 4


def close_copy_factor() -> float:
    """Return the time ratio of copies with and without an offset of DELTA bytes modulo a page.

    COPIED_NBYTES are copied; each time is the shortest of TURNS turns, which take 1 ms together.
    """
    import numpy as np  # late: only `doctor` asks

    block = np.zeros(2 * COPIED_NBYTES + 3 * PAGE_NBYTES, np.uint8)
    first = -block.ctypes.data % PAGE_NBYTES
    source = block[first : first + COPIED_NBYTES]
    least_s = {0: float("inf"), DELTA: float("inf")}
    for _ in range(TURNS):
        for delta in least_s:
            begin = first + COPIED_NBYTES + PAGE_NBYTES + delta
            into = block[begin : begin + COPIED_NBYTES]
            begun = perf_counter()
            for _ in range(COPIES):
                np.copyto(into, source)
            least_s[delta] = min(least_s[delta], perf_counter() - begun)
    return least_s[DELTA] / least_s[0]
