"""Arithmetic of float16 and bfloat16 by the bits of their elements, for the kernel: what numpy and ml_dtypes compute.

Both compute in float32 and round the result to nearest, ties to even. Where both operands are no numbers, it is the
second whose bits come back from a sum or a product, and the first from a quotient, a maximum or a minimum, as in the
numpy and ml_dtypes from PyPI. All is written without branches, so that loops become vector instructions.
"""

from collections.abc import Callable

import numpy as np
from numba import njit

HALF_INFINITY, HALF_QUIET, HALF_SIGN = np.uint32(0x7C00), np.uint32(0x0200), np.uint32(0x8000)
BRAIN_INFINITY, BRAIN_NAN = np.uint32(0x7F80), np.uint32(0x7FC0)
MAGNITUDE = np.uint32(0x7FFF)
SINGLE_INFINITY, SINGLE_MAGNITUDE = np.uint32(0x7F800000), np.uint32(0x7FFFFFFF)
OVERFLOW, SMALLEST_NORMAL = (
    np.uint32(143 << 23),
    np.uint32(113 << 23),
)  # 2^16 and 2^-14 in float32: the range of float16
REBIAS = np.float32(2.0**112)  # between the exponents of float16 and float32
ALIGN = np.float32(0.5)  # added, it leaves the bits of a subnormal float16 at the end of a float32, rounded
ALIGN_BITS = np.uint32(126 << 23)
ROUND_HALF = np.uint32((0xFFF - (112 << 23)) & 0xFFFFFFFF)  # rebias, and half of the last place less one
ROUND_BRAIN = np.uint32(0x7FFF)
ONE, THIRTEEN, SIXTEEN = np.uint32(1), np.uint32(13), np.uint32(16)


@njit
def single_of_half(half):
    """The float32 of the bits of a float16, exactly; uint32 in."""
    scaled = np.uint32((half & MAGNITUDE) << THIRTEEN).view(np.float32) * REBIAS
    bits = np.float32(scaled).view(np.uint32)
    bits = np.uint32(bits | SINGLE_INFINITY) if half & HALF_INFINITY == HALF_INFINITY else bits
    return np.uint32(bits | np.uint32((half & HALF_SIGN) << SIXTEEN)).view(np.float32)


@njit
def half_of_single(single):
    """The bits of the float16 nearest to a float32; uint32 out."""
    bits = np.float32(single).view(np.uint32)
    size = np.uint32(bits & SINGLE_MAGNITUDE)
    normal = np.uint32(np.uint32(size + ROUND_HALF + np.uint32((size >> THIRTEEN) & ONE)) >> THIRTEEN)
    subnormal = np.uint32(np.float32(np.uint32(size).view(np.float32) + ALIGN).view(np.uint32) - ALIGN_BITS)
    half = subnormal if size < SMALLEST_NORMAL else normal
    half = half if size < OVERFLOW else HALF_INFINITY
    half = np.uint32(HALF_INFINITY | HALF_QUIET) if size > SINGLE_INFINITY else half
    return np.uint32(half | np.uint32((bits >> SIXTEEN) & HALF_SIGN))


@njit
def single_of_brain(brain):
    """The float32 of the bits of a bfloat16; uint32 in."""
    return np.uint32(brain << SIXTEEN).view(np.float32)


@njit
def brain_of_single(single):
    """The bits of the bfloat16 nearest to a float32; uint32 out."""
    bits = np.float32(single).view(np.uint32)
    brain = np.uint32(np.uint32(bits + ROUND_BRAIN + np.uint32((bits >> SIXTEEN) & ONE)) >> SIXTEEN)
    nan = np.uint32(BRAIN_NAN | np.uint32((bits >> SIXTEEN) & HALF_SIGN))
    return nan if np.uint32(bits & SINGLE_MAGNITUDE) > SINGLE_INFINITY else brain


@njit
def quiet_half(half):
    """The bits that come back for an operand that is no number."""
    return np.uint32(half | HALF_QUIET)


@njit
def quiet_brain(brain):
    """The same of a bfloat16: its sign alone is kept."""
    return np.uint32(BRAIN_NAN | np.uint32(brain & HALF_SIGN))


@njit
def total_of(x, y):
    """x + y."""
    return x + y


@njit
def product_of(x, y):
    """x y."""
    return x * y


@njit(error_model="numpy")
def quotient_of(x, y):
    """x / y."""
    return x / y


def _computing(compute: Callable, single_of: Callable, bits_of: Callable, quiet: Callable, infinity: np.uint32):
    """A loop over uint16 arrays: total = compute(arrived, total)."""

    @njit
    def loop(arrived, total):
        for i in range(total.size):
            x, y = np.uint32(arrived[i]), np.uint32(total[i])
            bits = bits_of(compute(single_of(x), single_of(y)))
            bits = quiet(x) if np.uint32(x & MAGNITUDE) > infinity else bits
            total[i] = np.uint16(quiet(y) if np.uint32(y & MAGNITUDE) > infinity else bits)

    return loop


def _dividing(single_of: Callable, bits_of: Callable, quiet: Callable, infinity: np.uint32):
    """A loop over a uint16 array: total = total / divisor, which is a number."""

    @njit
    def loop(total, divisor):
        for i in range(total.size):
            x = np.uint32(total[i])
            bits = bits_of(quotient_of(single_of(x), single_of(np.uint32(divisor))))
            total[i] = np.uint16(quiet(x) if np.uint32(x & MAGNITUDE) > infinity else bits)

    return loop


def _choosing(takes_first: Callable, single_of: Callable, infinity: np.uint32):
    """A loop over uint16 arrays: total = arrived where that is no number, or `takes_first` says so."""

    @njit
    def loop(arrived, total):
        for i in range(total.size):
            x, y = np.uint32(arrived[i]), np.uint32(total[i])
            first = takes_first(single_of(x), single_of(y)) | (np.uint32(x & MAGNITUDE) > infinity)
            total[i] = np.uint16(x if first else y)

    return loop


HALF = single_of_half, half_of_single, quiet_half, HALF_INFINITY
BRAIN = single_of_brain, brain_of_single, quiet_brain, BRAIN_INFINITY
add_halves, multiply_halves = _computing(total_of, *HALF), _computing(product_of, *HALF)
add_brains, multiply_brains = _computing(total_of, *BRAIN), _computing(product_of, *BRAIN)
divide_halves, divide_brains = _dividing(*HALF), _dividing(*BRAIN)
# Of equal ones, the zeros of both signs, numpy takes the first and ml_dtypes the second
max_halves = _choosing(njit(lambda x, y: x >= y), single_of_half, HALF_INFINITY)
min_halves = _choosing(njit(lambda x, y: x <= y), single_of_half, HALF_INFINITY)
max_brains = _choosing(njit(lambda x, y: x > y), single_of_brain, BRAIN_INFINITY)
min_brains = _choosing(njit(lambda x, y: x < y), single_of_brain, BRAIN_INFINITY)
