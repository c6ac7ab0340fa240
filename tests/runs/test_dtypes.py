"""Types of elements: what numpy knows of them, and what is said of 16-bit ones."""

import numpy as np
import pytest

from allreduce_bench.runs import dtypes
from allreduce_bench.runs.dtypes import (
    DTYPES,
    PRECISION,
    DtypeError,
    arithmetic_findings,
    is_float,
    narrow,
    teach_numpy,
)


@pytest.mark.parametrize("name", DTYPES)
def test_sizes_are_those_of_numpy(name):
    teach_numpy(name)
    assert np.dtype(name).itemsize == DTYPES[name]
    assert is_float(name) == (name in PRECISION)


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_precision_is_that_of_numpy(name):
    assert np.finfo(name).nmant + 1 == PRECISION[name]


def test_only_16_bit_types_have_a_finding():
    assert {name for name in DTYPES if arithmetic_findings(name)} == {name for name in DTYPES if narrow(name)}
    (finding,) = arithmetic_findings("bfloat16")
    assert finding["code"] == "arithmetic" and "no such type" in finding["text"]


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(dtypes.PACKAGE_OF, "bfloat16", "no_such_package")
    with pytest.raises(DtypeError, match="needs the package no_such_package"):
        teach_numpy("bfloat16")
