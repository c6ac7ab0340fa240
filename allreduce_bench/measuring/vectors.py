"""Inputs of all-reduces with known results: exact ones, and random floats.

EXACT: every order of reduction gives the same bits. Element i of a rank is drawn by splitmix64 (Steele, Lea and Flood,
2014) from the seed, the number of the check, the rank and i modulo a prime, which changes from check to check. It has a
place in a cycle, through which the checks go. All inputs at its last place are +0, to detect a result of -0, too.
- sum, avg: a rank contributes a digit, 1 to 3, and 8 times its own weight times a number of the element. The digits of
  a rank over the cycle encode its number in base 3. 16 bits are too few for that: there a single rank, another one at
  each element, adds such a number, and many ranks contribute digits in groups, at a place each.
- prod: one rank, another one at each element, contributes a number of many bits, the others 1; the signs are a code.
- max, min: at each place another rank is the only extreme one, above zero or below it.
So over a cycle any one or two ranks that are missing, doubled or swapped change the result (doubling one is no fault in
max and min). A vector shorter than the cycle has as many checks as that takes, up to 64 ranks; beyond, MOST_CALLS of
them, which detect the fault as often as they cover the cycle: the seed draws where in it the first one begins.
Concurrent groups have seeds of their own.

RANDOM FLOATS: their sum depends on the order of summation; they are the same for every launch, algorithm and MPI.
Element i of a rank depends only on the seed of the run, the rank and i mod 65,537, so that any rank can make all
inputs. It is such a number, split into a random sign, all bits of the type's significand, and one of 16 exponents (of 8
in 16 bits): 2^-16 <= |x| < 1. To a product it contributes one of two exponents, 1/2 <= |x| < 2, so that products over
many ranks neither vanish nor overflow soon.

numpy's own generators would cost every rank their import.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..runs.cell import splitmix64
from ..runs.dtypes import PRECISION, is_float, narrow

PERIODS = (4093, 4091, 4079)  # elements, primes, in turn: no two elements have the same place in all checks
LEAST_CYCLE = 8  # places, so that few elements are zero
MOST_CALLS = 65  # of a one-element vector before it is timed: a cycle of 64 ranks
UNITS, LOWEST_UNIT = 12, -7  # of floats: exponents by which elements differ
MOST_NUMBERS = 1021  # of calls, before they come back; a prime
RANDOM_PERIOD = 65537  # a prime: no block of a vector repeats in the next one
CALLS = 6  # of an all-reduce on the same floats, with --check bits: all must give the bits of the first
EXPONENTS = {"float16": 8, "bfloat16": 8, "float32": 16, "float64": 16}


class Check(NamedTuple):
    """Parameters of a check's inputs; the same on all ranks that all-reduce together."""

    size: int  # number of these ranks
    length: int  # elements of a vector
    dtype: str
    op: str
    seed: int = 0
    number: int = 0  # index among the checks of a cell


class _Elements(NamedTuple):
    """Draws for the elements of a period: int64 [element] each."""

    place: np.ndarray  # in the cycle
    shift: np.ndarray  # 0, 1 or 2; rotates the digits of all ranks
    sign: np.ndarray  # -1 or 1
    unit: np.ndarray  # exponent of two
    rank: np.ndarray  # rank that contributes another number than the others
    number: np.ndarray  # up to 48 bits


def cycle(size: int, dtype: str, op: str) -> int:
    """Return the places after which the inputs of `size` ranks show any one or two missing or doubled ranks."""
    places = {"max": size, "min": size, "prod": size.bit_length()}.get(op)
    return max(LEAST_CYCLE, 1 + (places or _groups(size, dtype, op) * _digits(size, dtype, op)))


def calls_for_all(size: int, count: int, dtype: str, op: str) -> int:
    """Return how many checked calls cover the cycle with vectors of `count` elements, MOST_CALLS at most."""
    return min(MOST_CALLS, -(-cycle(size, dtype, op) // max(1, count)))


def values_of_calls(size: int, dtype: str, op: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return numbers of calls that one of `size` ranks gives, of which the operation gives back every bit.

    Also the results, and [1] what the other ranks give: the neutral value.
    """
    given = np.arange(1, min(MOST_NUMBERS + 1, _capacity(dtype, op))).astype(dtype)
    neutral = poison(dtype, "min" if op == "max" else "max") if op in ("max", "min") else int(op == "prod")
    result = np.divide(given, size, out=given.copy()) if op == "avg" else given
    return given, result, np.array([neutral]).astype(dtype)


def exact_inputs(check: Check, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the input of `rank`, and the result of all-reducing those of all ranks, without MPI: a period of each."""
    elements = _elements(check)
    return _operand(check, elements, rank), _result(check, elements)


def poison(dtype: str, op: str) -> float:
    """Return a value that `op` preserves and never results in: it marks elements not written, or wrongly read."""
    if is_float(dtype):
        return -np.inf if op == "min" else np.inf
    limits = np.iinfo(dtype)
    return limits.min if op == "min" else limits.max


def _elements(check: Check) -> _Elements:
    """Draw the elements of a period, and their places in the cycle."""
    places, variant = cycle(check.size, check.dtype, check.op), check.number % len(PERIODS)
    period = PERIODS[variant] if 2 * places < PERIODS[variant] else 2 * (places + variant) + 1
    index = np.arange(min(check.length, period))
    first, start = splitmix64(check.seed, np.array([0, 2 * check.number + 1])).tolist()
    rounds = check.number // calls_for_all(check.size, check.length, check.dtype, check.op)
    bits = splitmix64(start, index)
    low = bits.astype(np.uint32).astype(np.int64)
    return _Elements(
        place=(first % places + check.number * min(check.length, places) + rounds + index) % places,
        shift=(low & 127) % 3,
        sign=1 - (low >> 6 & 2),
        unit=(low >> 8 & 255) % UNITS + LOWEST_UNIT,
        rank=(bits >> np.uint64(32)).astype(np.int64) % check.size,
        number=(bits >> np.uint64(16)).astype(np.int64),
    )


def _operand(check: Check, elements: _Elements, rank: int) -> np.ndarray:
    size, _, dtype, op, _, _ = check
    whole, number, unit = _capacity(dtype, op), elements.number, elements.unit
    if op == "prod":
        alone = elements.rank == rank
        values = np.where(alone, whole // 4 + number % (whole // 4), 1)
        values *= 1 - 2 * (rank + 1 >> elements.place % size.bit_length() & 1)
        unit = np.where(alone, unit - PRECISION.get(dtype, 0) + 2, 0)
    elif op in ("max", "min"):
        outermost = elements.place % size == rank
        values = _extreme(elements, outermost, number + np.where(outermost, 0, 7 * rank + 7), whole)
        values *= 1 if op == "max" else -1
    else:
        digits, weights = _code(size, dtype, op, rank)[elements.place], _weights(check)
        values = np.where(digits < 0, 0, 1 + (digits + elements.shift) % 3)
        own = elements.rank == rank if weights is None else weights[rank]
        values += 8 * (number % _numbers(check, weights)) * own
    return _of_type(values, unit, elements, check)


def _result(check: Check, elements: _Elements) -> np.ndarray:
    size, _, dtype, op, _, _ = check
    whole, number, unit = _capacity(dtype, op), elements.number, elements.unit
    if op == "prod":
        bits = np.arange(size.bit_length())
        negative = (np.arange(1, size + 1)[:, None] >> bits & 1).sum(axis=0) % 2
        values = (whole // 4 + number % (whole // 4)) * (1 - 2 * negative)[elements.place % size.bit_length()]
        unit = unit - PRECISION.get(dtype, 0) + 2
    elif op in ("max", "min"):
        values = _extreme(elements, True, number, whole) * (1 if op == "max" else -1)
    else:
        weights = _weights(check)
        values = _totals(size, dtype, op)[elements.place, elements.shift]
        values += 8 * (number % _numbers(check, weights)) * (1 if weights is None else int(weights.sum()))
    result = _of_type(values, unit, elements, check)
    return np.divide(result, size, out=result) if op == "avg" else result


def _of_type(values: np.ndarray, unit: np.ndarray, elements: _Elements, check: Check) -> np.ndarray:
    """Convert int64 values, scaled by 2^unit for floats, to the type; +0 at the last place of the cycle."""
    values[elements.place == cycle(check.size, check.dtype, check.op) - 1] = 0
    return (np.ldexp(values.astype(float), unit) if is_float(check.dtype) else values).astype(check.dtype)


def _capacity(dtype: str, op: str) -> int:
    """Return the limit of exact sums; half of it for averages, so that no two of them round to the same."""
    return 1 << PRECISION.get(dtype, 30 if dtype == "int32" else 62) - (op == "avg")


def _extreme(elements: _Elements, outermost: np.ndarray | bool, numbers: np.ndarray, whole: int) -> np.ndarray:
    """Return the values of a maximum: the outermost rank's exceed all others, on both sides of zero."""
    far = outermost == (elements.sign > 0)
    return elements.sign * np.where(far, whole // 2 + numbers % (whole // 2), whole // 4 + numbers % (whole // 4))


def _weights(check: Check) -> np.ndarray | None:
    """Return the weight of each rank's numbers, int64 [rank], 1 to 4; None: a single rank has a number."""
    if narrow(check.dtype):
        return None
    (start,) = splitmix64(check.seed, np.array([2 * check.number + 2])).tolist()
    return 1 + (splitmix64(start, np.arange(check.size)) & np.uint64(3)).astype(np.int64)


def _numbers(check: Check, weights: np.ndarray | None) -> int:
    """Return how many numbers an element may have so that the sum over all ranks stays exact."""
    whole = _capacity(check.dtype, check.op)
    left = whole - 3 * min(check.size, whole // 4)
    return left // (8 * (1 if weights is None else int(weights.sum())))


def _groups(size: int, dtype: str, op: str) -> int:
    """Return the number of groups whose digits fit one place each; ranks are dealt to them in turn."""
    return -(-size // (_capacity(dtype, op) // 4))


def _digits(size: int, dtype: str, op: str) -> int:
    """Return the digits of ranks' numbers within a group, in base 3."""
    digits, largest = 1, -(-size // _groups(size, dtype, op)) - 1
    while 3**digits <= largest:
        digits += 1
    return digits


@lru_cache(maxsize=4)
def _code(size: int, dtype: str, op: str, rank: int) -> np.ndarray:
    """Return the digit of `rank` at every place of the cycle, 0 to 2, or -1 where another group has its turn."""
    groups, group, power = _turns(size, dtype, op)
    return np.where(group == rank % groups, rank // groups // power % 3, -1)


@lru_cache(maxsize=4)
def _totals(size: int, dtype: str, op: str) -> np.ndarray:
    """Return the sum of the digits of all ranks, int64 [place, shift]."""
    groups, group, power = _turns(size, dtype, op)
    members, unit, digit = ((size - group + groups - 1) // groups)[:, None], power[:, None], np.arange(3)
    ranks = members // (3 * unit) * unit + np.clip(members % (3 * unit) - digit * unit, 0, unit)  # ranks per digit
    return ranks @ (1 + (digit[:, None] + digit) % 3)


def _turns(size: int, dtype: str, op: str) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the number of groups, and for every place the group that shows a digit there, and its power of 3."""
    groups = _groups(size, dtype, op)
    place = np.arange(cycle(size, dtype, op)) % (groups * _digits(size, dtype, op))
    return groups, place % groups, 3 ** (place // groups)


def random_operand(seed: int, rank: int, count: int, dtype: str, op: str) -> np.ndarray:
    """Return the input of `rank`: `count` elements of a floating-point type."""
    precision, exponents = PRECISION[dtype], 2 if op == "prod" else EXPONENTS[dtype]
    start = int(splitmix64(seed, np.array([rank]))[0])  # so that no two ranks have neighbouring sequences
    bits = splitmix64(start, np.arange(min(count, RANDOM_PERIOD)))
    sign = 1 - 2 * (bits & np.uint64(1)).astype(np.int64)
    significand = (bits >> np.uint64(65 - precision)).astype(np.int64) + (1 << precision - 1)
    shift = (bits >> np.uint64(1)).astype(np.int64) % exponents
    unit = -precision if op == "prod" else 1 - precision - exponents
    return np.resize(np.ldexp((sign * significand).astype(float), shift + unit).astype(dtype), count)
