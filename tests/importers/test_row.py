"""One row of a log."""

from allreduce_bench.importers import Imported


def test_the_time_is_the_median_of_what_is_timed():
    row = Imported("a", 3, "T", "a", 8, "csv_t", times_s=(9.0, 1.0, 3.0, 2.0), warmups=1, iterations=10)
    assert (row.time_s, row.place) == (2.0, "a, line 3")


def test_a_row_that_is_not_done_has_no_time():
    row = Imported("a", 3, "T", "a", 8, "csv_t", times_s=(9.0,), state="wrong")
    assert row.time_s is None
