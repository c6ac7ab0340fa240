"""A library that switches is the fastest of several algorithms."""

import numpy as np
import pandas as pd
from made_models import series

from allreduce_bench.models.series import FittedSeries, fit_series

FINE = tuple(8 * 4**power for power in range(12))


def test_a_library_that_switches_is_the_fastest_of_two():
    """It takes recursive doubling below, and the ring above the size where that becomes faster."""
    ranks = (4, 8, 16, 32)
    doubling = series("recursive_doubling", ranks, FINE, theta=(5e-6, 4e-10))
    ring = series("ring", ranks, FINE, theta=(3e-6, 1e-10))
    times = np.minimum(doubling["time_s"], ring["time_s"]) * np.random.default_rng(1).normal(1, 0.03, len(ring))
    points = ring.assign(time_s=times, competitor="native", nodes=pd.NA)
    (found,) = fit_series(points)
    assert isinstance(found, FittedSeries) and {part.priced_as for part in found.model.parts} >= {"recursive_doubling"}
    assert len(found.model.parts) > 1 and found.scores.errors["leave_largest_p_out"].median < 0.1
