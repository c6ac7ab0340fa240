"""Times far from those of both neighbouring sizes."""

import pytest

from allreduce_bench.evaluation.outliers import outliers


@pytest.mark.parametrize(
    "times_us, far",
    [
        ([6390, 399466, 8947], [1]),
        ([10, 20, 40, 80], []),
        ([10, 9, 80, 81], []),
        ([100, 40, 110], [1]),
        ([399466, 6390, 8947], []),  # the first has one neighbour
        ([10, 40, 41, 42], []),
    ],
)
def test_an_outlier_is_far_from_both_neighbours(times_us, far):
    rows = [
        {"competitor": "native", "ranks": 4, "size_bytes": 8 << number, "time_s": time_us * 1e-6}
        for number, time_us in enumerate(times_us)
    ]
    assert [rows.index(one.row) for one in outliers(rows)] == far
