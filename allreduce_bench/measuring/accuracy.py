"""Accuracy of a result on random floats, against exact arithmetic, computed without MPI on one rank.

Sums are taken in integers.
"""

from fractions import Fraction
from math import expm1, isfinite, ldexp, log1p
from typing import NamedTuple

import numpy as np

from ..runs.cell import splitmix64
from ..runs.dtypes import PRECISION
from .vectors import random_numbers

SMALLEST = {"float16": -24, "bfloat16": -133, "float32": -149, "float64": -1074}  # exponent of the smallest number > 0
COMPARED = 1024  # most elements
EXTREME = {"max": np.maximum, "min": np.minimum}
LOW = 26  # low bits of a significand, summed separately: so 64 bits hold sums over 2^20 ranks
SLACK = 1 + 1e-9  # allows for rounding in the bound itself


class Exact(NamedTuple):
    """Result of a reduction in exact arithmetic: [element]."""

    values: list[Fraction]
    magnitudes: np.ndarray  # float64: sum or average of |x|, which bounds the error; 0 for max and min


def accuracy(result: np.ndarray, size: int, seed: int, op: str, depth: int) -> dict:
    """Compare the result of `size` ranks on the random floats of `seed` with the exact one.

    Returns in `wrong` and `reason` how many elements exceed the error bound for `depth` consecutive additions in any
    order, ((1 + u)^depth - 1) * sum |x| (Higham, Accuracy and Stability of Numerical Algorithms, 2002, 4.2). Empty if
    none does, for a product, or for a vector without elements.
    """
    if op == "prod" or not result.size:
        return {}
    dtype, elements = result.dtype.name, compared_elements(result.size)
    numbers = result[elements].astype(float).tolist()
    correct = exact(seed, size, elements, dtype, op)
    bounds = error_bounds(correct.magnitudes, dtype, op, depth).tolist()
    wrong = sum(not _is_within(*compared) for compared in zip(numbers, correct.values, bounds))
    if not wrong:
        return {}
    violation = f"further from the exact {op} than additions of depth {depth} can end"
    return {"wrong": wrong, "reason": f"on random floats {wrong} of {len(numbers)} elements are {violation}"}


def compared_elements(count: int) -> np.ndarray:
    """Return the indices of the elements to compare, int64: all, or one in each of COMPARED stretches of the vector."""
    stretches = min(count, COMPARED)
    edges = np.arange(stretches + 1) * count // stretches
    return edges[:-1] + (splitmix64(0, np.arange(stretches)) % np.diff(edges).astype(np.uint64)).astype(np.int64)


def exact(seed: int, size: int, elements: np.ndarray, dtype: str, op: str) -> Exact:
    """Return the exact sum, avg, max or min over the inputs of `size` ranks at these elements."""
    numbers_of_ranks = (random_numbers(seed, rank, elements, dtype, op) for rank in range(size))
    if op in EXTREME:
        extreme = next(numbers_of_ranks).floats()
        for numbers in numbers_of_ranks:
            EXTREME[op](extreme, numbers.floats(), out=extreme)
        return Exact([Fraction(value) for value in extreme.tolist()], np.zeros(len(elements)))
    high, low = np.zeros(len(elements), np.int64), np.zeros(len(elements), np.int64)
    magnitudes, unit = np.zeros(len(elements)), 0
    for numbers in numbers_of_ranks:
        high += numbers.sign * (numbers.significand >> LOW << numbers.shift)
        low += numbers.sign * (numbers.significand % (1 << LOW) << numbers.shift)
        magnitudes += np.abs(numbers.floats())
        unit = numbers.unit
    divisor = size if op == "avg" else 1
    totals = [(above << LOW) + below for above, below in zip(high.tolist(), low.tolist())]
    return Exact([Fraction(total, divisor << -unit) for total in totals], magnitudes / divisor)


def error_bounds(magnitudes: np.ndarray, dtype: str, op: str, depth: int) -> np.ndarray:
    """Return the error bounds for `depth` consecutive additions: float64 [element].

    The division of an average adds one rounding, and may end among the subnormal numbers.
    """
    roundings, smallest = (depth + 1, ldexp(1.0, SMALLEST[dtype])) if op == "avg" else (depth, 0.0)
    return SLACK * expm1(roundings * log1p(ldexp(1.0, -PRECISION[dtype]))) * magnitudes + smallest


def _is_within(number: float, correct: Fraction, bound: float) -> bool:
    """Return whether `number` is finite and at most `bound` from `correct`."""
    return isfinite(number) and abs(Fraction(number) - correct) <= bound
