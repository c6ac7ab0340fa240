"""Single values of a log."""

import pytest

from allreduce_bench.importers import LogError
from allreduce_bench.importers.lines import Place, dtype_of, itemsize_of, op_of

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


def test_numbers_are_read_in_their_units():
    assert (PLACE.whole("12.0", "n"), PLACE.real("1e3", "x"), PLACE.seconds("2", 1e-6)) == (12, 1000.0, 2e-6)
    with pytest.raises(LogError, match="which is implausible"):
        PLACE.seconds("1e9", 1.0)
