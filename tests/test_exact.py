"""The vectors that every result is held against must themselves be exact, and must show what went wrong."""

import numpy as np
import pytest

from allreduce_bench.exact import PERIOD, POISON, expected, operand

KINDS = [
    (op, dtype) for op in ("sum", "prod", "max", "min", "avg") for dtype in ("float32", "float64", "int32", "int64")
]
KINDS = [kind for kind in KINDS if kind[0] != "avg" or kind[1].startswith("float")]
COMBINE = {"sum": np.add, "avg": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
COUNT = 2 * PERIOD + 7


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
    operands = [operand(rank, COUNT, dtype, op) for rank in range(size)]
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
        operands = [operand(rank, count, dtype, op) for rank in range(size)]
        for rank in range(size):
            for damaged in (operands[:rank] + operands[rank + 1 :], [*operands, operands[rank]]):
                wrong = combine(damaged, op, size, dtype) != reference
                assert all(wrong[start : start + 4].any() for start in range(0, max(1, count - 3))), (size, rank)


@pytest.mark.parametrize("op, outermost", [("max", max), ("min", min)])
def test_the_rank_that_decides_an_extreme_is_missed(op, outermost):
    for size in (2, 5, 31):
        operands = [operand(rank, 50, "float32", op) for rank in range(size)]
        decides = outermost(range(size), key=lambda rank: operands[rank].sum())
        damaged = combine([own for rank, own in enumerate(operands) if rank != decides], op, size, "float32")
        assert np.count_nonzero(damaged != expected(size, 50, "float32", op)) >= 30


@pytest.mark.parametrize("op, dtype", KINDS)
def test_poison_is_never_a_result(op, dtype):
    for size in range(1, 65):
        assert not np.any(expected(size, PERIOD, dtype, op) == POISON)


@pytest.mark.parametrize("op", ["sum", "max", "min", "avg"])
@pytest.mark.parametrize("shift", [1, 2, 3, 64, 256, 1021, 1024, 4096])
def test_an_element_in_anothers_place_is_seen(op, shift):
    reference = expected(4, 8192, "float32", op)
    assert np.count_nonzero(reference[shift:] != reference[:-shift]) > 0.5 * (len(reference) - shift)


@pytest.mark.parametrize("count", [0, 1, PERIOD - 1, PERIOD, PERIOD + 1])
def test_any_count_is_the_beginning_of_the_same_vector(count):
    for op in ("sum", "prod"):
        assert np.array_equal(operand(3, count, "float64", op), operand(3, COUNT, "float64", op)[:count])
        assert np.array_equal(expected(3, count, "float64", op), expected(3, COUNT, "float64", op)[:count])
