"""How far a result on random floats is from what exact arithmetic gives, computed without MPI on one rank.

Sums are taken in integers and rounded once to the type, so that nothing is rounded twice on the way. Distances are in
units in the last place of the exact result (`ulp`).
"""

from fractions import Fraction
from math import expm1, frexp, inf, isfinite, isnan, ldexp, log1p
from typing import NamedTuple

import numpy as np

from ..runs.cell import splitmix64
from ..runs.dtypes import PRECISION
from .vectors import random_numbers

SMALLEST = {"float16": -24, "bfloat16": -133, "float32": -149, "float64": -1074}  # exponent of the smallest number > 0
COMPARED = 1024  # elements at most
EXTREME = {"max": np.maximum, "min": np.minimum}
LOW = 26  # bits of a significand that are summed apart: so 64 bits hold sums over 2^20 ranks
SLACK = 1 + 1e-9  # for the roundings of the bound itself


class Exact(NamedTuple):
    """What a reduction gives in exact arithmetic: [element]."""

    values: list[Fraction]
    magnitudes: np.ndarray  # float64: of a sum or an average that of |x|, which bounds its error; else 0


def accuracy(result: np.ndarray, size: int, seed: int, op: str, depth: int) -> dict:
    """Hold the result of `size` ranks on the random floats of `seed` against the exact one, correctly rounded.

    Gives `max_ulp` and `mean_ulp`; or in `wrong` and `reason` how many elements are none that `depth` additions one
    after the other can give, in whatever order: their error is at most ((1 + u)^depth - 1) * sum |x| (Higham, Accuracy
    and Stability of Numerical Algorithms, 2002, 4.2). Nothing for a product, or for a vector without elements.
    """
    if op == "prod" or not result.size:
        return {}
    dtype, elements = result.dtype.name, compared_elements(result.size)
    numbers = result[elements].astype(float).tolist()
    correct = exact(seed, size, elements, dtype, op)
    bounds = error_bounds(correct.magnitudes, dtype, op, depth).tolist()
    wrong = sum(not _is_within(*compared) for compared in zip(numbers, correct.values, bounds))
    ulps = [distance(number, nearest(value, dtype), dtype) for number, value in zip(numbers, correct.values)]
    if wrong:
        violation = f"further from the exact {op} than additions of depth {depth} can end"
        return {"wrong": wrong, "reason": f"on random floats {wrong} of {len(ulps)} elements are {violation}"}
    return {"max_ulp": max(ulps), "mean_ulp": sum(ulps) / len(ulps)}


def compared_elements(count: int) -> np.ndarray:
    """The numbers of the elements that are compared, int64: all, or one of each of COMPARED stretches of the vector."""
    stretches = min(count, COMPARED)
    edges = np.arange(stretches + 1) * count // stretches
    return edges[:-1] + (splitmix64(0, np.arange(stretches)) % np.diff(edges).astype(np.uint64)).astype(np.int64)


def exact(seed: int, size: int, elements: np.ndarray, dtype: str, op: str) -> Exact:
    """The sum, avg, max or min over the inputs of `size` ranks at the elements of these numbers."""
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
    """The largest errors that `depth` additions one after the other can make: float64 [element].

    The division of an average is one rounding more, and may end among the numbers below the smallest normal one.
    """
    roundings, smallest = (depth + 1, ldexp(1.0, SMALLEST[dtype])) if op == "avg" else (depth, 0.0)
    return SLACK * expm1(roundings * log1p(ldexp(1.0, -PRECISION[dtype]))) * magnitudes + smallest


def _is_within(number: float, correct: Fraction, bound: float) -> bool:
    """Whether `number` is finite and at most `bound` from `correct`."""
    return isfinite(number) and abs(Fraction(number) - correct) <= bound


def nearest(value: Fraction, dtype: str) -> float:
    """The number of the type `dtype` that is nearest to `value`, ties to even: rounded once, whatever its type.

    `value` is within the range of the type: it does not overflow.
    """
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()  # or one more than that of the value
    if abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    unit = max(exponent + 1 - PRECISION[dtype], SMALLEST[dtype])
    return ldexp(float(round(value / Fraction(2) ** unit)), unit)


def distance(number: float, correct: float, dtype: str) -> float:
    """How far `number` is from `correct`, in units in the last place of `correct`; both are numbers of `dtype`.

    0 for equal infinities and for two NaN; infinite where only one of them is NaN, or an infinity of its sign.
    """
    if number == correct or (isnan(number) and isnan(correct)):
        return 0.0
    if not (isfinite(number) and isfinite(correct)):
        return inf
    return abs(number - correct) / ulp(correct, dtype)


def ulp(number: float, dtype: str) -> float:
    """The unit in the last place of `number`, a finite number of the type `dtype`.

    It is 2^(e - precision + 1) for 2^e <= |x| < 2^(e + 1), and below the smallest normal number, zero included, the
    smallest number of the type (Goldberg, What Every Computer Scientist Should Know About Floating-Point Arithmetic,
    1991; Muller et al., Handbook of Floating-Point Arithmetic, 2nd edition, 2.3.2).
    """
    if number == 0:
        return ldexp(1.0, SMALLEST[dtype])
    _, exponent = frexp(number)  # of |number| in [1/2, 1)
    return ldexp(1.0, max(exponent - PRECISION[dtype], SMALLEST[dtype]))
