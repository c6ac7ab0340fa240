"""Random floats whose sum depends on the order of summation: the same for every launch, algorithm and MPI.

Element i of a rank is made from the seed of the run, the rank and i mod 65,537 alone, so that any rank can make the
inputs of all. It is a number of splitmix64 (Steele, Lea and Flood, 2014), cut into a random sign, all bits of the
type's significand, and one of 16 exponents (of 8 in 16 bits): 2^-16 <= |x| < 1. To a product it contributes one of two
exponents, 1/2 <= |x| < 2, so that products over many ranks neither vanish nor overflow soon.

numpy's own generators would cost every rank their import.
"""

from typing import NamedTuple

import numpy as np

from ..runs.dtypes import PRECISION
from ..runs.shuffle import splitmix64

PERIOD = 65537  # a prime: no block of a vector repeats in the next one
CALLS = 6  # of an all-reduce on the same floats, with --check bits: those after the first must give its bits again
EXPONENTS = {"float16": 8, "bfloat16": 8, "float32": 16, "float64": 16}


class Numbers(NamedTuple):
    """Numbers `sign * significand * 2^(shift + unit)`: int64 [element], and the exponent that they have in common."""

    sign: np.ndarray
    significand: np.ndarray  # of as many bits as the type has
    shift: np.ndarray  # from 0 up to, not including, the number of exponents
    unit: int

    def floats(self) -> np.ndarray:
        """The numbers as float64 [element], exactly."""
        return np.ldexp((self.sign * self.significand).astype(float), self.shift + self.unit)


def operand(seed: int, rank: int, count: int, dtype: str, op: str) -> np.ndarray:
    """The input of `rank`: `count` elements of a floating-point type."""
    period = numbers(seed, rank, np.arange(min(count, PERIOD)), dtype, op).floats()
    return np.resize(period.astype(dtype), count)


def numbers(seed: int, rank: int, elements: np.ndarray, dtype: str, op: str) -> Numbers:
    """What `rank` contributes to the elements of these numbers, int64 [element]."""
    precision, exponents = PRECISION[dtype], 2 if op == "prod" else EXPONENTS[dtype]
    start = int(splitmix64(seed, np.array([rank]))[0])  # so that no two ranks have neighbouring numbers
    bits = splitmix64(start, elements % PERIOD)
    return Numbers(
        sign=1 - 2 * (bits & np.uint64(1)).astype(np.int64),
        significand=(bits >> np.uint64(65 - precision)).astype(np.int64) + (1 << precision - 1),
        shift=(bits >> np.uint64(1)).astype(np.int64) % exponents,
        unit=-precision if op == "prod" else 1 - precision - exponents,
    )
