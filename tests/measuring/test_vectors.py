"""The exact vectors are exact and show what went wrong; the random floats use every bit and repeat as they should."""

from itertools import product

import numpy as np
import pytest

from allreduce_bench.measuring.vectors import (
    EXACT_PERIOD,
    EXPONENTS,
    POISON,
    RANDOM_PERIOD,
    exact_operand,
    expected,
    random_numbers,
    random_operand,
)
from allreduce_bench.runs.dtypes import DTYPES, MOST_RANKS, PRECISION, is_float, narrow, teach_numpy
from allreduce_bench.runs.shuffle import splitmix64

teach_numpy("bfloat16")
KINDS = [(op, dtype) for op in ("sum", "prod", "max", "min", "avg") for dtype in DTYPES]
KINDS = [kind for kind in KINDS if kind[0] != "avg" or is_float(kind[1])]
NARROW = [dtype for dtype in DTYPES if narrow(dtype)]
COMBINE = {"sum": np.add, "avg": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
SEED = 7
COUNT = 2 * EXACT_PERIOD + 7


def combine(operands, op: str, size: int, dtype: str) -> np.ndarray:
    """The operands combined from left to right in their own type."""
    result = operands[0].copy()
    for other in operands[1:]:
        COMBINE[op](result, other, out=result)
    return result / np.dtype(dtype).type(size) if op == "avg" else result


@pytest.mark.parametrize("op, dtype", KINDS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 33, 64])
def test_the_result_does_not_depend_on_the_order(op, dtype, size):
    reference = expected(size, COUNT, dtype, op)
    operands = [exact_operand(rank, COUNT, dtype, op) for rank in range(size)]
    assert reference.dtype == operands[0].dtype == dtype
    assert np.array_equal(combine(operands, op, size, dtype), reference)
    random = np.random.default_rng(size)
    for _ in range(3):  # any tree of any order: two of what is there become one
        heap = list(operands)
        while len(heap) > 1:
            one, other = (heap.pop(int(random.integers(len(heap)))) for _ in range(2))
            heap.append(COMBINE[op](one, other))
        assert np.array_equal(combine(heap, op, size, dtype), reference)


@pytest.mark.parametrize("op, dtype", [kind for kind in KINDS if kind[0] in ("sum", "avg", "prod")])
@pytest.mark.parametrize("count", [1, 2, 5, 1000])
def test_a_rank_that_is_missing_or_counted_twice_is_seen(op, dtype, count):
    """In every block of four elements too, since an algorithm may lose a single block."""
    for size in (2, 3, 8, 31, 64):
        reference = expected(size, count, dtype, op)
        operands = [exact_operand(rank, count, dtype, op) for rank in range(size)]
        for rank in range(size):
            for damaged in (operands[:rank] + operands[rank + 1 :], [*operands, operands[rank]]):
                wrong = combine(damaged, op, size, dtype) != reference
                assert all(wrong[start : start + 4].any() for start in range(0, max(1, count - 3))), (size, rank)


@pytest.mark.parametrize("dtype", NARROW)
def test_a_16_bit_sum_misses_every_one_of_many_ranks_within_64_elements(dtype):
    size = MOST_RANKS[dtype, "sum"]
    for rank in (1, 63, 64, 65, 500, 1000, size - 1):
        seen = np.flatnonzero(exact_operand(rank, EXACT_PERIOD, dtype, "sum"))
        assert np.diff(seen, prepend=-1, append=EXACT_PERIOD).max() <= (64 if rank > 63 else 1)


@pytest.mark.parametrize("dtype, whole", [("float16", 2**11), ("bfloat16", 2**8)])
def test_16_bit_sums_stay_exact_up_to_the_most_ranks(dtype, whole):
    """No sum of positive units in any order is above the largest number up to which all whole ones are exact."""
    size = MOST_RANKS[dtype, "sum"]
    reference = expected(size, EXACT_PERIOD, dtype, "sum").astype("float64")
    unit = 2.0 ** (np.arange(1, EXACT_PERIOD + 1) % 3 * 4 + np.arange(1, EXACT_PERIOD + 1) % 1021 % 4 - 7)
    units = reference / unit
    assert np.all(units == np.round(units)) and size // 16 < units.max() <= whole
    wide = sum(exact_operand(rank, EXACT_PERIOD, dtype, "sum").astype("float64") for rank in range(size))
    assert np.array_equal(wide, reference)
    assert MOST_RANKS[dtype, "avg"] == whole  # by which the sum is divided


@pytest.mark.parametrize("dtype", NARROW)
def test_two_ranks_of_a_16_bit_sum_are_not_taken_for_each_other(dtype):
    operands = [exact_operand(rank, 11, dtype, "sum").tobytes() for rank in range(64)]
    assert len(set(operands)) == 64


@pytest.mark.parametrize("op, outermost", [("max", max), ("min", min)])
def test_the_rank_that_decides_an_extreme_is_missed(op, outermost):
    for size, dtype in product((2, 5, 31), DTYPES):
        operands = [exact_operand(rank, 50, dtype, op) for rank in range(size)]
        decides = outermost(range(size), key=lambda rank: operands[rank].sum())
        damaged = combine([own for rank, own in enumerate(operands) if rank != decides], op, size, dtype)
        assert np.count_nonzero(damaged != expected(size, 50, dtype, op)) >= 30


@pytest.mark.parametrize("op, dtype", KINDS)
def test_poison_is_never_a_result(op, dtype):
    for size in range(1, 65):
        assert not np.any(expected(size, EXACT_PERIOD, dtype, op) == POISON)


@pytest.mark.parametrize("op", ["sum", "max", "min", "avg"])
@pytest.mark.parametrize("shift", [1, 2, 3, 64, 256, 1021, 1024, 4096])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_an_element_in_anothers_place_is_seen(op, shift, dtype):
    reference = expected(4, 8192, dtype, op)
    assert np.count_nonzero(reference[shift:] != reference[:-shift]) > 0.5 * (len(reference) - shift)


@pytest.mark.parametrize("count", [0, 1, EXACT_PERIOD - 1, EXACT_PERIOD, EXACT_PERIOD + 1])
def test_any_count_is_the_beginning_of_the_same_vector(count):
    for op in ("sum", "prod"):
        assert np.array_equal(exact_operand(3, count, "float64", op), exact_operand(3, COUNT, "float64", op)[:count])
        assert np.array_equal(expected(3, count, "float64", op), expected(3, COUNT, "float64", op)[:count])


@pytest.mark.parametrize("op, dtype", KINDS)
def test_inputs_that_begin_elsewhere_are_exact_too_and_others(op, dtype):
    results = [expected(4, COUNT, dtype, op, first) for first in range(3 if op == "prod" else 5)]
    for first, result in enumerate(results):
        operands = [exact_operand(rank, COUNT, dtype, op, first) for rank in range(4)]
        assert np.array_equal(combine(operands, op, 4, dtype), result)
        assert np.array_equal(exact_operand(1, COUNT, dtype, op)[first:], operands[1][: COUNT - first])
        assert all(not np.array_equal(result[:64], other[:64]) for other in results[:first])


def test_the_generator_is_splitmix64():
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]  # of the seed 1234567
    assert splitmix64(1234567, np.arange(3)).tolist() == published


@pytest.mark.parametrize("dtype", sorted(PRECISION))
def test_the_floats_use_every_bit_sign_and_exponent(dtype):
    found = random_numbers(SEED, 3, np.arange(RANDOM_PERIOD), dtype, "sum")
    floats, precision = random_operand(SEED, 3, RANDOM_PERIOD, dtype, "sum"), PRECISION[dtype]
    assert floats.dtype == dtype and np.array_equal(floats.astype(float), found.floats())  # nothing is rounded
    assert set(found.sign.tolist()) == {-1, 1} and set(found.shift.tolist()) == set(range(EXPONENTS[dtype]))
    low, high = int(found.significand.min()), int(found.significand.max())
    assert 2 ** (precision - 1) <= low < 2 ** (precision - 1) * 1.01 and 2**precision * 0.99 < high < 2**precision
    assert np.bitwise_or.reduce(found.significand) == 2**precision - 1
    magnitude = np.abs(found.floats())
    assert 2.0 ** -EXPONENTS[dtype] <= magnitude.min() and magnitude.max() < 1


def test_ranks_seeds_and_products_have_numbers_of_their_own_and_long_vectors_repeat_them():
    first = random_operand(SEED, 0, 2 * RANDOM_PERIOD + 5, "float32", "sum")
    assert np.array_equal(first[:RANDOM_PERIOD], first[RANDOM_PERIOD : 2 * RANDOM_PERIOD]) and np.array_equal(
        first[:5], first[-5:]
    )
    assert np.array_equal(first[:100], random_operand(SEED, 0, 100, "float32", "sum"))
    for other in (random_operand(SEED, 1, 100, "float32", "sum"), random_operand(SEED + 1, 0, 100, "float32", "sum")):
        assert not np.isin(other, first).any()
    factors = np.abs(random_operand(SEED, 0, 1000, "float32", "prod"))
    assert 0.5 <= factors.min() < 0.6 and 1.9 < factors.max() < 2
