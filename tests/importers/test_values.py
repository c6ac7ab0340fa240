"""Single values of a log."""

import pytest

from allreduce_bench.importers import LogError
from allreduce_bench.importers.lines import (
    dtype_of,
    itemsize_of,
    listed,
    op_of,
    real,
    seconds,
    shown,
    time_fields,
    whole,
    wrong_fields,
)


def test_types_and_operations_get_our_names_where_there_are_some():
    assert [dtype_of(text) for text in ("MPI_FLOAT", "ncclHalf", "MPI_CHAR.", "")] == [
        "float32",
        "float16",
        "char",
        None,
    ]
    assert [op_of(text) for text in ("MPI_SUM", "none", "")] == ["sum", None, None]
    assert (itemsize_of("float64"), itemsize_of(None)) == (8, 1)


@pytest.mark.parametrize(
    "read", [lambda: whole("1.5", "n", "a"), lambda: real("-1", "n", "a"), lambda: real("nan", "n", "a")]
)
def test_numbers_that_are_none_are_refused(read):
    with pytest.raises(LogError, match="a: n is "):
        read()


def test_numbers_are_read_in_their_units():
    assert (whole("12.0", "n", "a"), real("1e3", "x", "a"), seconds("2", 1e-6, "t", "a")) == (12, 1000.0, 2e-6)
    with pytest.raises(LogError, match="which is implausible"):
        seconds("1e9", 1.0, "t", "a")


def test_a_time_of_0_and_wrong_elements_have_a_state():
    assert time_fields(1.0, "1 s") == {"times_s": (1.0,)} and time_fields(0.0, "0 s")["state"] == "left out"
    assert wrong_fields("0", "a") == {"wrong": 0} and wrong_fields("1e+01", "a")["state"] == "wrong"


def test_what_is_quoted_is_short_and_in_one_line():
    assert shown(" a\nb ") == "'a?b'" and len(shown("x" * 100)) == 45
    assert listed(range(4), 2) == "0, 1 and 2 more"
