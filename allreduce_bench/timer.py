"""The clock that times every call: how finely it counts, and what asking it costs."""

from itertools import pairwise
from time import get_clock_info, perf_counter

READINGS, BLOCK = 1000, 100


def timer() -> dict:
    """Of perf_counter, in seconds: `resolution_s` as declared, `step_s` the smallest step seen, `cost_s` of a call.

    `step_s` is None where it did not move during READINGS calls. The cost is that of the fastest BLOCK: a process that
    had to wait for its turn in between says nothing about the clock.
    """
    readings = [perf_counter() for _ in range(READINGS)]
    steps = [later - earlier for earlier, later in pairwise(readings) if later > earlier]
    return {
        "resolution_s": get_clock_info("perf_counter").resolution,
        "cost_s": min(end - begin for begin, end in zip(readings, readings[BLOCK:])) / BLOCK,
        "step_s": min(steps, default=None),
    }
