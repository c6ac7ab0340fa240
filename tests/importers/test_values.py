"""Single values of a log."""

import pytest

from allreduce_bench.importers import LogError
from allreduce_bench.importers.lines import Place, dtype_of, itemsize_of, listed, op_of, shown, time_fields

PLACE = Place("a")


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
    "read", [lambda: PLACE.whole("1.5", "n"), lambda: PLACE.real("-1", "n"), lambda: PLACE.real("nan", "n")]
)
def test_numbers_that_are_none_are_refused(read):
    with pytest.raises(LogError, match="a: n is "):
        read()


def test_numbers_are_read_in_their_units():
    assert (PLACE.whole("12.0", "n"), PLACE.real("1e3", "x"), PLACE.seconds("2", 1e-6)) == (12, 1000.0, 2e-6)
    with pytest.raises(LogError, match="which is implausible"):
        PLACE.seconds("1e9", 1.0)


def test_a_time_of_0_and_wrong_elements_have_a_state():
    assert time_fields(1.0, "1 s") == {"times_s": (1.0,)} and time_fields(0.0, "0 s")["state"] == "left out"
    assert PLACE.wrong("0") == {"wrong": 0} and PLACE.wrong("1e+01")["state"] == "wrong"


def test_what_is_quoted_is_short_and_in_one_line():
    assert shown(" a\nb ") == "'a?b'" and len(shown("x" * 100)) == 45
    assert listed(range(4), 2) == "0, 1 and 2 more"
