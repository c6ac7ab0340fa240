"""The clock that times every call: how finely it counts, and what asking it costs."""

from itertools import pairwise
from time import get_clock_info, perf_counter

READINGS = 1000


def timer() -> dict:
    """Of perf_counter, in seconds: `resolution_s` as declared, `cost_s` of a call, `step_s` the smallest step seen.

    `step_s` is None where it did not move during READINGS calls.
    """
    readings = [perf_counter() for _ in range(READINGS)]
    steps = [later - earlier for earlier, later in pairwise(readings) if later > earlier]
    return {
        "resolution_s": get_clock_info("perf_counter").resolution,
        "cost_s": (readings[-1] - readings[0]) / (READINGS - 1),
        "step_s": min(steps, default=None),
    }
