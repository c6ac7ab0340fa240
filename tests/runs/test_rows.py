"""Rows of CSV files: what does not fit its column is damage."""

import pytest

from allreduce_bench.runs.rows import RunError, checked_row

COLUMNS = ["competitor", "ranks", "size_bytes", "clock_error_s", "state"]
GOOD = ["ring", "2", "8", "1e-06", "done"]


@pytest.mark.parametrize(
    "line, words",
    [
        ("ring,2,8", "3 fields, expected 5"),
        ("ring,,8,1e-06,done", "ranks is ''"),
        ("ring,two,8,1e-06,done", "ranks is 'two'"),
        ("ring,2,8,nan,done", "clock_error_s is 'nan'"),
        ("ring,2,8,1e-06,perhaps", "state is 'perhaps'"),
    ],
)
def test_what_does_not_fit_its_column_is_named(line, words):
    with pytest.raises(RunError, match=words):
        checked_row(COLUMNS, line.split(","))
