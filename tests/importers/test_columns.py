"""Which column of a CSV holds what."""

import warnings

import pytest
from made_logs import log, times

from allreduce_bench.importers import Asked, LogWarning, read


@pytest.mark.parametrize(
    "name, seconds",
    [("time_s", 2.0), ("latency_us", 2e-6), ("avg (ms)", 2e-3), ("t_max[usec]", 2e-6), ("p50_ns", 2e-9)],
)
def test_the_name_of_a_column_says_its_unit(tmp_path, name, seconds):
    assert read(log(tmp_path, f"ranks;size;{name}\n4;8;2\n"))[0].time_s == pytest.approx(seconds)


def test_a_csv_with_names_of_its_own_is_read_as_column_says(tmp_path):
    columns = {"time_us": "speed", "size_bytes": "big", "ranks": "many"}
    (row,) = read(log(tmp_path, "many\tbig\tspeed\n4\t8\t2\n"), Asked(columns=columns))
    assert (row.ranks, row.size_bytes, row.time_s) == (4, 8, pytest.approx(2e-6))


def test_columns_that_are_not_read_but_differ_are_named(tmp_path):
    with pytest.warns(LogWarning, match="'gpu' is ignored.*differ: 'A', 'B'.*gpu=VALUE"):
        read(log(tmp_path, "ranks,size_bytes,time_us,gpu\n4,8,1,A\n4,8,2,B\n"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = read(log(tmp_path, "ranks,size_bytes,time_us,gpu\n4,8,1,A\n4,8,2,B\n"), Asked(where={"gpu": "B*"}))
    assert times(rows) == {8: 2}
