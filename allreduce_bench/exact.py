"""Integer-valued vectors whose all-reduce is exact, so that every order of summation gives the same bits.

Rank r contributes `(i mod 1021) + w(r) * (i mod 3)` to element number i, counted from 1, w(r) = 7r mod 31 + 1; sums
stay below 2^24 up to 15,000 ranks. To a product it contributes f(r), 2 on the even ranks below 32 and else -1, and +1
or -1 in turn where i is a multiple of 3. A rank that is missing or counted twice in a sum or a product changes the
result, and so does an element of a sum in another's place.
"""

from collections.abc import Callable
from math import prod

import numpy as np

PERIOD = 2 * 3 * 1021  # of all vectors, in elements; a block of a power of two of elements is never a multiple of it
POISON = -7  # no result of any operation: marks what an all-reduce failed to write


def operand(rank: int, count: int, dtype: str, op: str) -> np.ndarray:
    """The input of `rank`: `count` elements."""
    if op == "prod":
        return _vector(count, dtype, lambda i: np.where(i % 3, _factor(rank), _sign(i)))
    return _vector(count, dtype, lambda i: i % 1021 + _weight(rank) * (i % 3))


def expected(size: int, count: int, dtype: str, op: str) -> np.ndarray:
    """What all-reducing the inputs of `size` ranks must give, computed without MPI: `count` elements."""
    if op == "prod":
        factor = prod(map(_factor, range(size)))
        return _vector(count, dtype, lambda i: np.where(i % 3, factor, _sign(i) ** size))
    weights = [_weight(rank) for rank in range(size)]
    if op in ("max", "min"):
        extreme = max(weights) if op == "max" else min(weights)
        return _vector(count, dtype, lambda i: i % 1021 + extreme * (i % 3))
    total = _vector(count, dtype, lambda i: size * (i % 1021) + sum(weights) * (i % 3))
    return np.divide(total, size, out=total) if op == "avg" else total


def _vector(count: int, dtype: str, formula: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    period = formula(np.arange(1, PERIOD + 1)).astype(dtype)
    vector = np.empty(count, dtype)
    whole = count - count % PERIOD
    vector[:whole].reshape(-1, PERIOD)[:] = period
    vector[whole:] = period[: count - whole]
    return vector


def _weight(rank: int) -> int:
    return 7 * rank % 31 + 1


def _factor(rank: int) -> int:
    return 2 if rank < 32 and rank % 2 == 0 else -1


def _sign(index: np.ndarray) -> np.ndarray:
    return 1 - 2 * (index % 2)
