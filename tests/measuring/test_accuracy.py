"""Results on random floats against exact arithmetic: in whatever order they are added, and when they are wrong."""

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreters import FULL

from allreduce_bench.measuring.accuracy import COMPARED, accuracy, compared_elements, error_bounds, exact
from allreduce_bench.measuring.vectors import RANDOM_PERIOD, random_numbers, random_operand
from allreduce_bench.runs.dtypes import PRECISION, teach_numpy

teach_numpy("bfloat16")
DTYPES = sorted(PRECISION)
SEED = 7


def operands(size: int, count: int, dtype: str, op: str = "sum") -> list[np.ndarray]:
    return [random_operand(SEED, rank, count, dtype, op) for rank in range(size)]


def test_the_compared_elements_are_all_or_one_of_every_stretch():
    assert compared_elements(5).tolist() == [0, 1, 2, 3, 4] and compared_elements(COMPARED).tolist() == list(
        range(COMPARED)
    )
    count = 10**7 + 3
    places = compared_elements(count)
    assert np.array_equal(places * COMPARED // count, np.arange(COMPARED))
    assert len(set((places % 4096).tolist())) > COMPARED / 2  # not the same place of every block


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["sum", "avg", "max", "min"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 64, *[256] * FULL])
def test_exact_results_are_those_of_fractions(dtype, op, size):
    vectors = operands(size, 2 * RANDOM_PERIOD, dtype, op)
    places = np.array([0, 1, 17, RANDOM_PERIOD - 1, RANDOM_PERIOD, RANDOM_PERIOD + 17])
    found = exact(SEED, size, places, dtype, op)
    for place, value, magnitude in zip(places, found.values, found.magnitudes):
        terms = [Fraction(float(vector[place])) for vector in vectors]
        share = size if op == "avg" else 1
        assert value == (max(terms) if op == "max" else min(terms) if op == "min" else sum(terms) / share)
        assert magnitude == pytest.approx(0 if op in ("max", "min") else float(sum(map(abs, terms)) / share))


def test_sums_over_very_many_ranks_do_not_overflow(monkeypatch):
    """As if all of 16,384 ranks had the same numbers."""
    monkeypatch.setattr(
        "allreduce_bench.measuring.accuracy.random_numbers", lambda seed, rank, *rest: random_numbers(seed, 0, *rest)
    )
    found = exact(SEED, 1 << 14, np.arange(40), "float64", "sum")
    assert found.values == [
        Fraction(value) * (1 << 14) for value in random_operand(SEED, 0, 40, "float64", "sum").tolist()
    ]


def summed(vectors: list[np.ndarray], random: np.random.Generator) -> tuple[np.ndarray, int]:
    """The sum by some tree, any two of what is left at a time, and the tree's height."""
    heap = [(vector, 0) for vector in vectors]
    while len(heap) > 1:
        one, other = (heap.pop(int(random.integers(len(heap)))) for _ in range(2))
        heap.append((one[0] + other[0], 1 + max(one[1], other[1])))
    return heap[0]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(DTYPES), st.integers(1, 40), st.integers(0))
def test_every_order_of_additions_is_within_the_bound_of_its_depth(dtype, size, seed):
    found, depth = summed(operands(size, 300, dtype), np.random.default_rng(seed))
    assert accuracy(found, size, SEED, "sum", depth) == {}
    average = (found / np.dtype(dtype).type(size)).astype(dtype)
    assert accuracy(average, size, SEED, "avg", depth) == {}


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_beyond_the_bound_is_wrong(dtype):
    size, count, depth = 5, 200, 4
    found = sum(operands(size, count, dtype)[1:], operands(size, count, dtype)[0])
    bound = error_bounds(exact(SEED, size, np.arange(count), dtype, "sum").magnitudes, dtype, "sum", depth)
    found[10] += np.dtype(dtype).type(4 * bound[10])
    found[20] = np.nan
    found[30] = np.inf
    facts = accuracy(found, size, SEED, "sum", depth)
    assert facts["wrong"] == 3
    words = "on random floats 3 of 200 elements are further from the exact sum than additions of depth 4 can end"
    assert facts["reason"] == words


def test_a_missing_input_is_wrong_and_a_correctly_rounded_sum_is_not():
    size, count = 4, 1000
    values = exact(SEED, size, np.arange(count), "float64", "sum").values
    assert accuracy(np.array([float(value) for value in values]), size, SEED, "sum", 1) == {}
    lacking = reduce(np.add, operands(size - 1, count, "float32"))
    assert accuracy(lacking, size, SEED, "sum", 3)["wrong"] == count


def test_extremes_are_exact_or_wrong():
    found = reduce(np.maximum, operands(5, 100, "float16", "max"))
    assert accuracy(found, 5, SEED, "max", 4) == {}
    found[7] = np.nextafter(found[7], np.float16(9))
    assert accuracy(found, 5, SEED, "max", 4)["wrong"] == 1


def test_of_products_and_of_nothing_nothing_is_known():
    assert accuracy(np.ones(3, "float32"), 2, SEED, "prod", 1) == {}
    assert accuracy(np.empty(0, "float32"), 2, SEED, "sum", 1) == {}
