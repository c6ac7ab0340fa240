"""Units in the last place, and the nearest number of a type: by hand, and against numpy and the bits themselves."""

from fractions import Fraction
from math import inf, ldexp, nan, nextafter, ulp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allreduce_bench.measuring.accuracy import SMALLEST, distance, nearest
from allreduce_bench.measuring.accuracy import ulp as unit
from allreduce_bench.runs.dtypes import PRECISION, teach_numpy

teach_numpy("bfloat16")
DTYPES = sorted(PRECISION)
BITS = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32, "float64": np.uint64}
LARGEST = {"float16": 0x7BFF, "bfloat16": 0x7F7F, "float32": 0x7F7FFFFF, "float64": 0x7FEFFFFFFFFFFFFF}


def number(bits: int, dtype: str) -> float:
    """The number of a type that has these bits."""
    return float(np.array([bits], BITS[dtype]).view(dtype)[0])


@pytest.mark.parametrize(
    "found, correct, dtype, ulps",
    [
        (1.0, 1.0, "float32", 0),
        (1.0 + 2**-23, 1.0, "float32", 1),
        (1.0 - 2**-24, 1.0, "float32", 0.5),  # numbers are closer together below a power of two
        (1.0, 1.0 - 2**-24, "float32", 1),
        (-3.0, -3.0 - 2**-21, "float32", 2),
        (1.0 + 2**-52, 1.0, "float64", 1),
        (2.0, 1.0, "float16", 1024),
        (1.0, 1.0 + 2**-7, "bfloat16", 1),
        (0.0, -0.0, "float32", 0),
        (ldexp(1.0, -149), 0.0, "float32", 1),
        (-ldexp(3.0, -1074), 0.0, "float64", 3),
        (ldexp(5.0, -24), ldexp(2.0, -24), "float16", 3),  # both subnormal
        (ldexp(1.0, -14), ldexp(1023.0, -24), "float16", 1),  # the smallest normal number and the one below it
        (nan, nan, "float32", 0),
        (inf, inf, "float32", 0),
        (nan, 1.0, "float32", inf),
        (1.0, nan, "float32", inf),
        (inf, 1.0, "float32", inf),
        (inf, -inf, "float32", inf),
    ],
)
def test_distances_by_hand(found, correct, dtype, ulps):
    assert distance(found, correct, dtype) == ulps


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_unit_is_the_distance_to_the_next_number(dtype):
    random = np.random.default_rng(1)
    for bits in [0, 1, 2, *random.integers(0, LARGEST[dtype], 500, np.uint64, endpoint=False).tolist()]:
        assert unit(number(bits, dtype), dtype) == number(bits + 1, dtype) - number(bits, dtype)
        assert unit(-number(bits, dtype), dtype) == unit(number(bits, dtype), dtype)


def test_the_unit_of_a_double_is_that_of_the_standard_library():
    for value in (0.0, 5e-324, 2.2e-308, 0.1, 1.0, 3.0, 1e300):
        assert unit(value, "float64") == ulp(value)


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(DTYPES), st.integers(0), st.fractions(0, 1))
def test_the_nearest_number_is_one_of_the_two_around_and_a_tie_goes_to_the_even_one(dtype, bits, between):
    bits %= LARGEST[dtype]
    low, high = number(bits, dtype), number(bits + 1, dtype)
    value = Fraction(low) + (Fraction(high) - Fraction(low)) * between
    half = Fraction(1, 2)
    expected = high if between > half or (between == half and bits % 2) else low
    assert nearest(value, dtype) == expected
    assert nearest(-value, dtype) == -expected


def test_a_value_is_rounded_once():
    """Halfway between two float32, but for a bit that float64 does not hold: rounded to float64 first, it goes down."""
    above = 1 + Fraction(1, 2**24) + Fraction(1, 2**80)
    assert nearest(above, "float32") == 1 + 2**-23
    assert np.float32(float(above)) == 1


@given(st.fractions(-1000, 1000))
def test_to_float64_it_rounds_as_python_does(value):
    assert nearest(value, "float64") == float(value)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_smallest_number_is_the_smallest(dtype):
    assert number(1, dtype) == ldexp(1.0, SMALLEST[dtype])
    assert nearest(Fraction(number(1, dtype)) / 2, dtype) == 0  # a tie, to even
    assert nearest(Fraction(nextafter(number(1, dtype) / 2, 1)) if dtype != "float64" else Fraction(5e-324), dtype) > 0
