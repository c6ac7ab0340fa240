"""Inputs of all-reduces whose results are known: exact ones, and random floats.

EXACT: every order of summation gives the same bits. Rank r contributes `(i mod 1021) + w(r) * (i mod 3)` to element
number i, counted from 1, w(r) = 7r mod 31 + 1; sums stay below 2^24 up to 15,000 ranks. To a product it contributes
f(r), 2 on the even ranks below 28 and else -1, and +1 or -1 in turn where i is a multiple of 3. A rank that is missing
or counted twice in a sum or a product changes the result, and so does an element of a sum in another's place.

16 bits hold no such sums. There every element has a unit, a power of two between 2^-7 and 2^4 that tells its place, and
every rank contributes one or two units to it, as a bit of its number says; rank 0 adds a number that tells the place
again. Ranks from 64 on contribute to one element in 32 only. So a sum has at most 2^11 units in float16 up to 16,384
ranks, 2^8 in bfloat16 up to 1024, and a rank is missed within any 4 elements, or within any 64 if it is above 63.

Parties that all-reduce at the same time begin at elements of their own, so that what goes to another group is wrong
there: of a sum only parties 3063 apart have equal inputs, of a product 6.

RANDOM FLOATS: the sum depends on the order of summation; they are the same for every launch, algorithm and MPI. Element
i of a rank is made from the seed of the run, the rank and i mod 65,537 alone, so that any rank can make the inputs of
all. It is a number of splitmix64 (Steele, Lea and Flood, 2014), cut into a random sign, all bits of the type's
significand, and one of 16 exponents (of 8 in 16 bits): 2^-16 <= |x| < 1. To a product it contributes one of two
exponents, 1/2 <= |x| < 2, so that products over many ranks neither vanish nor overflow soon.

numpy's own generators would cost every rank their import.
"""

from collections.abc import Callable
from math import prod
from typing import NamedTuple

import numpy as np

from ..runs.dtypes import PRECISION
from ..runs.shuffle import splitmix64

EXACT_PERIOD = 2 * 3 * 1021  # elements: a block of a power of two of elements is never a multiple of it
POISON = -7  # no result of any operation: marks what an all-reduce failed to write
PLACES = {"float16": 251, "bfloat16": 61}  # numbers that tell the place of an element; of wider types 1021
EVERYWHERE = 64  # ranks that contribute to every element of a 16-bit sum
RANDOM_PERIOD = 65537  # a prime: no block of a vector repeats in the next one
CALLS = 6  # of an all-reduce on the same floats, with --check bits: those after the first must give its bits again
EXPONENTS = {"float16": 8, "bfloat16": 8, "float32": 16, "float64": 16}


def exact_operand(rank: int, count: int, dtype: str, op: str, first: int = 0) -> np.ndarray:
    """The input of `rank`: `count` elements from number `first`; parties that begin elsewhere have other inputs."""
    if op == "prod":
        return _periodic(count, dtype, first, lambda i: np.where(i % 3, _factor(rank), _sign(i)))
    if op in ("sum", "avg") and dtype in PLACES:
        return _periodic(count, dtype, first, lambda i: (_units(rank, dtype) * _unit())[i % 3063])
    return _periodic(count, dtype, first, lambda i: _place(i, dtype) + _weight(rank) * (i % 3))


def expected(size: int, count: int, dtype: str, op: str, first: int = 0) -> np.ndarray:
    """What all-reducing the inputs of `size` ranks must give, computed without MPI: `count` elements."""
    if op == "prod":
        factor = prod(map(_factor, range(size)))
        return _periodic(count, dtype, first, lambda i: np.where(i % 3, factor, _sign(i) ** size))
    weights = [_weight(rank) for rank in range(size)]
    if op in ("max", "min"):
        extreme = max(weights) if op == "max" else min(weights)
        return _periodic(count, dtype, first, lambda i: _place(i, dtype) + extreme * (i % 3))
    if dtype in PLACES:
        units = sum(_units(rank, dtype) for rank in range(size))
        total = _periodic(count, dtype, first, lambda i: (units * _unit())[i % 3063])
    else:
        total = _periodic(count, dtype, first, lambda i: size * _place(i, dtype) + sum(weights) * (i % 3))
    return np.divide(total, size, out=total) if op == "avg" else total


def _periodic(count: int, dtype: str, first: int, formula: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    period = formula(np.arange(first + 1, first + EXACT_PERIOD + 1)).astype(dtype)
    vector = np.empty(count, dtype)
    rest = count % EXACT_PERIOD
    vector[: count - rest].reshape(-1, EXACT_PERIOD)[:] = period
    vector[count - rest :] = period[:rest]
    return vector


def _weight(rank: int) -> int:
    return 7 * rank % 31 + 1


def _factor(rank: int) -> int:
    return 2 if rank < 28 and rank % 2 == 0 else -1


def _sign(index: np.ndarray) -> np.ndarray:
    return 1 - 2 * (index % 2)


def _place(index: np.ndarray, dtype: str) -> np.ndarray:
    return index % 1021 % PLACES.get(dtype, 1021)


def _unit() -> np.ndarray:
    """Of a 16-bit sum: float64 [i mod 3063]."""
    index = np.arange(3063)
    return 2.0 ** (index % 3 * 4 + index % 1021 % 4 - 7)


def _units(rank: int, dtype: str) -> np.ndarray:
    """How many units `rank` contributes to a 16-bit sum: int64 [i mod 3063]."""
    index = np.arange(3063)
    units = 1 + (rank >> index % 1021 % 11) % 2
    if rank >= EVERYWHERE:
        units[(index + rank) % 32 > 0] = 0
    return units + _place(index, dtype) if rank == 0 else units


class RandomNumbers(NamedTuple):
    """Numbers `sign * significand * 2^(shift + unit)`: int64 [element], and the exponent that they have in common."""

    sign: np.ndarray
    significand: np.ndarray  # of as many bits as the type has
    shift: np.ndarray  # from 0 up to, not including, the number of exponents
    unit: int

    def floats(self) -> np.ndarray:
        """The numbers as float64 [element], exactly."""
        return np.ldexp((self.sign * self.significand).astype(float), self.shift + self.unit)


def random_operand(seed: int, rank: int, count: int, dtype: str, op: str) -> np.ndarray:
    """The input of `rank`: `count` elements of a floating-point type."""
    period = random_numbers(seed, rank, np.arange(min(count, RANDOM_PERIOD)), dtype, op).floats()
    return np.resize(period.astype(dtype), count)


def random_numbers(seed: int, rank: int, elements: np.ndarray, dtype: str, op: str) -> RandomNumbers:
    """What `rank` contributes to the elements of these numbers, int64 [element]."""
    precision, exponents = PRECISION[dtype], 2 if op == "prod" else EXPONENTS[dtype]
    start = int(splitmix64(seed, np.array([rank]))[0])  # so that no two ranks have neighbouring numbers
    bits = splitmix64(start, elements % RANDOM_PERIOD)
    return RandomNumbers(
        sign=1 - 2 * (bits & np.uint64(1)).astype(np.int64),
        significand=(bits >> np.uint64(65 - precision)).astype(np.int64) + (1 << precision - 1),
        shift=(bits >> np.uint64(1)).astype(np.int64) % exponents,
        unit=-precision if op == "prod" else 1 - precision - exponents,
    )
