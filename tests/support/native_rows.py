"""Rows of a library's own all-reduce, and of mock-ups: a time at each size, noise between launches."""

import random

from allreduce_bench.evaluation.summary_row import SummaryRow
from allreduce_bench.stats import launch_interval, median

SIZES = (1024, 2048, 4096, 8192)


def native_row(competitor: str, size_bytes: int, time_s: float, ranks=4, launches=5, noise=0.01, **more) -> SummaryRow:
    """A row of `summarise`, called from Python."""
    drawn = random.Random(f"{competitor} {size_bytes} {ranks}")
    medians = {str(launch): time_s * drawn.gauss(1, noise) for launch in range(launches)}
    low, high = launch_interval(list(medians.values())) if launches > 2 else (0.9 * time_s, 1.1 * time_s)
    row: SummaryRow = {"competitor": competitor, "ranks": ranks}
    row |= {"size_bytes": size_bytes, "launch_medians": medians, "time_low_s": low}
    interval = "launches" if launches > 2 else "range"
    return row | {"time_s": median(medians.values()), "time_high_s": high, "interval": interval, **more}


def linear(size_bytes: int) -> float:
    """Seconds."""
    return 1e-5 + 1e-8 * size_bytes
