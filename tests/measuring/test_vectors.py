"""The exact vectors are exact and show who is missing; the random floats use every bit and repeat as they should."""

import numpy as np
import pytest
from interpreters import FULL

from allreduce_bench.executing.sendrecv import UFUNCS
from allreduce_bench.measuring import vectors
from allreduce_bench.measuring.vectors import (
    EXPONENTS,
    MOST_CALLS,
    PERIODS,
    RANDOM_PERIOD,
    Check,
    calls_for_all,
    exact_inputs,
    poison,
    random_operand,
    values_of_calls,
)
from allreduce_bench.runs.cell import splitmix64
from allreduce_bench.runs.dtypes import DTYPES, MOST_RANKS, OPS, PRECISION, is_float, narrow, teach_numpy

NOT_MISSED = "who is missing is seen: at some element nobody else has the result"
TOGETHER = "missing or doubled together"

teach_numpy("bfloat16")
KINDS = [(op, dtype) for op in ("sum", "prod", "max", "min", "avg") for dtype in DTYPES]
KINDS = [kind for kind in KINDS if kind[0] != "avg" or is_float(kind[1])]
NARROW = [dtype for dtype in DTYPES if narrow(dtype)]
COMBINE = {"sum": np.add, "avg": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
SIZES = range(1, 65) if FULL else (1, 2, 3, 4, 7, 33, 64)
SEED = 7


def combine(operands, op: str, size: int, dtype: str) -> np.ndarray:
    """The operands combined from left to right in their own type."""
    result = operands[0].copy()
    for other in operands[1:]:
        COMBINE[op](result, other, out=result)
    return result / np.dtype(dtype).type(size) if op == "avg" else result


def inputs_of_all(check: Check) -> tuple[list[np.ndarray], np.ndarray]:
    """The input of every rank, and the result; what the ranks have in common is computed once."""
    elements = vectors._elements(check)
    return [vectors._operand(check, elements, rank) for rank in range(check.size)], exact_inputs(check, 0)[1]


def of_all_checks(size: int, count: int, dtype: str, op: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What every rank contributes over the checks that come before the timing, [rank, element]; and the results."""
    checks = [Check(size, count, dtype, op, seed, number) for number in range(calls_for_all(size, count, dtype, op))]
    found = [inputs_of_all(check) for check in checks]
    return np.hstack([np.array(operands) for operands, _ in found]), np.hstack([result for _, result in found])


@pytest.mark.parametrize("op, dtype", KINDS)
@pytest.mark.parametrize("size", [1, 2, 3, 33, 200])
def test_the_result_does_not_depend_on_the_order(op, dtype, size):
    operands, reference = inputs_of_all(Check(size, 9000, dtype, op, seed=size, number=size))
    assert reference.dtype == operands[0].dtype == dtype and 1000 < reference.size <= max(PERIODS)
    bits = f"u{reference.itemsize}"
    assert np.array_equal(combine(operands, op, size, dtype).view(bits), reference.view(bits))
    random = np.random.default_rng(size)
    for _ in range(3):  # any tree of any order: two of what is there become one
        heap = list(operands)
        while len(heap) > 1:
            one, other = (heap.pop(int(random.integers(len(heap)))) for _ in range(2))
            heap.append(COMBINE[op](one, other))
        assert np.array_equal(combine(heap, op, size, dtype).view(bits), reference.view(bits))


@pytest.mark.parametrize("op, dtype", KINDS)
@pytest.mark.parametrize("count", [1, 3, 7, 64, 300] if FULL else [1, 3, 64])
def test_any_one_or_two_ranks_that_are_missing_doubled_or_swapped_change_a_result(op, dtype, count):
    """Up to 64 ranks, over the checks before the timing; to double a rank is no fault in max and min."""
    for size in SIZES:
        given, results = of_all_checks(size, count, dtype, op, seed=1000 * size + count)
        wide = given.astype(float if is_float(dtype) else np.int64)
        if op in ("max", "min"):
            extreme = wide == results.astype(wide.dtype)
            alone = extreme[:, extreme.sum(axis=0) == 1]
            assert alone.any(axis=1).all(), (size, NOT_MISSED)
            continue
        if op == "avg":
            sums = wide.sum(axis=0)

            def unseen(change, sums=sums, size=size, results=results):
                rounded = (sums + change).astype(dtype) / np.dtype(dtype).type(size)
                return np.array_equal(rounded, results)

            pairs = [(a, b) for a in range(size) for b in range(a + 1)][:: max(1, size // 8)]
            assert not any(unseen(sign * wide[a]) for a in range(size) for sign in (-1, 1)), size
            assert not any(unseen(sign * (wide[a] + wide[b])) for a, b in pairs if a != b for sign in (-1, 1)), size
            assert not any(unseen(wide[a] - wide[b]) for a, b in pairs if a != b), size
            continue
        shown = wide[:, results != 0]  # in products zeros hide everything
        neutral = 1 if op == "prod" else 0
        inverse = -shown if op == "sum" else shown if not is_float(dtype) else 1 / shown
        assert (shown != neutral).any(axis=1).all(), size
        for rank in range(size):
            others = np.arange(size) != rank
            assert (shown != shown[rank]).any(axis=1)[others].all(), (size, rank, "taken for another")
            assert (inverse != shown[rank]).any(axis=1)[others].all(), (size, rank, TOGETHER)


@pytest.mark.parametrize("dtype, whole", [("float16", 2**11), ("bfloat16", 2**8)])
@pytest.mark.parametrize("op", ["sum", "avg"])
def test_16_bit_sums_stay_exact_up_to_the_most_ranks(op, dtype, whole):
    """No sum of positive units in any order is above the largest number up to which all whole ones are exact."""
    size = MOST_RANKS[dtype, op]
    check = Check(size, 300, dtype, op, SEED)
    operands, result = inputs_of_all(check)
    wide = sum(operand.astype("float64") for operand in operands)
    assert np.array_equal(wide.astype(dtype).astype(float), wide)
    correct = wide.astype(dtype) / np.dtype(dtype).type(size) if op == "avg" else wide.astype(dtype)
    assert np.array_equal(correct, result)
    units = wide / 2.0 ** vectors._elements(check).unit
    assert np.array_equal(units, np.rint(units)) and whole // 8 < units.max() <= whole
    assert MOST_RANKS[dtype, "avg"] == whole  # by which the sum is divided


@pytest.mark.parametrize("op, dtype", KINDS)
def test_poison_is_never_a_result_and_zeros_are_positive(op, dtype):
    for size in (1, 2, 5, 64):
        result = exact_inputs(Check(size, 4000, dtype, op, SEED), 0)[1]
        assert not np.any(result == np.array(poison(dtype, op), dtype))
        zeros = result == 0
        assert 0 < np.count_nonzero(zeros) <= 4000 / 8 + 1
        assert not np.signbit(result[zeros].astype(float)).any()
        assert op not in ("max", "min") or {-1, 1} <= set(np.sign(result.astype(float)).tolist())


@pytest.mark.parametrize("op, dtype", KINDS)
@pytest.mark.parametrize("shift", [1, 2, 3, 8, 64, 256, 1021, 4093])
def test_an_element_in_anothers_place_is_seen(op, shift, dtype):
    seen = np.zeros(8192 - shift, bool)
    for number in range(5):
        reference = np.resize(exact_inputs(Check(4, 8192, dtype, op, SEED, number), 0)[1], 8192)
        seen |= reference[shift:] != reference[:-shift]
    assert seen.mean() > 0.99


@pytest.mark.parametrize("op, dtype", KINDS)
def test_every_check_party_and_rank_has_inputs_of_its_own(op, dtype):
    found = [
        exact_inputs(Check(4, 64, dtype, op, seed, number), rank)[0].tobytes()
        for seed in (1, 2)
        for number in range(20)
        for rank in range(4)
    ]
    assert len(set(found)) == len(found)
    results = [exact_inputs(Check(4, 1, dtype, op, 1, number), 0)[1].item() for number in range(20)]
    assert sum(one == other for one, other in zip(results, results[1:])) <= 2


@pytest.mark.parametrize("size", [1, 3, 64])
def test_no_elements_have_no_inputs(size):
    assert all(vector.size == 0 for vector in exact_inputs(Check(size, 0, "float32", "sum"), 0))
    assert calls_for_all(size, 0, "float32", "sum") <= MOST_CALLS


def test_the_generator_is_splitmix64():
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]  # of the seed 1234567
    assert splitmix64(1234567, np.arange(3)).tolist() == published


@pytest.mark.parametrize("dtype", sorted(PRECISION))
def test_the_floats_use_every_bit_sign_and_exponent(dtype):
    floats, precision = random_operand(SEED, 3, RANDOM_PERIOD, dtype, "sum"), PRECISION[dtype]
    assert floats.dtype == dtype
    parts, exponents = np.frexp(floats.astype(float))
    assert set(np.sign(parts).tolist()) == {-1, 1} and set(exponents.tolist()) == set(range(1 - EXPONENTS[dtype], 1))
    significand = np.ldexp(np.abs(parts), precision).astype(np.int64)
    assert significand.min() < 2 ** (precision - 1) * 1.01 and 2**precision * 0.99 < significand.max()
    assert np.bitwise_or.reduce(significand) == 2**precision - 1


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


@pytest.mark.parametrize("dtype, op", [(d, op) for d in DTYPES for op in OPS if op != "avg" or is_float(d)])
def test_numbers_of_calls_are_given_back_by_every_operation(dtype, op):
    for size in (2, 3, 64, 256, min(MOST_RANKS.get((dtype, op), 10**4), 10**4)):
        given, result, (neutral,) = values_of_calls(size, dtype, op)
        others = UFUNCS[op](np.full_like(given, neutral), neutral)
        found = UFUNCS[op](UFUNCS[op](others, given), others)
        found = np.divide(found, size, out=found) if op == "avg" else found
        assert found.tobytes() == result.tobytes() and len(set(result.tolist())) == len(given) > 100
