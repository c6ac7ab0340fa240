"""Arithmetic of 16-bit floats in compiled code, which has no type for them: loops over uint16 arrays of their bits.

float16 and bfloat16 have the bits that numpy and ml_dtypes compute: in float32, rounded to nearest, ties to even. Only
a sum, a product or a quotient that is NaN may be another NaN than theirs. All is branch-free, so that loops become
vector instructions. LLVM's own conversions would end the process on processors without F16C.
"""

from collections.abc import Callable

import numpy as np
from numba import njit

HALF_INFINITY, HALF_NAN, SIGN = np.uint32(0x7C00), np.uint32(0x7E00), np.uint32(0x8000)
BRAIN_NAN = np.uint32(0x7FC0)
MAGNITUDE = np.uint32(0x7FFF)
SINGLE_INFINITY, SINGLE_MAGNITUDE = np.uint32(0x7F800000), np.uint32(0x7FFFFFFF)
OVERFLOW, SMALLEST_NORMAL = np.uint32(143 << 23), np.uint32(113 << 23)  # 2^16 and 2^-14 in float32: range of float16
REBIAS = np.float32(2.0**112)  # between the exponents of float16 and float32
ALIGN = np.float32(0.5)  # added, it leaves the bits of a subnormal float16 at the end of a float32, rounded
ALIGN_BITS = np.uint32(126 << 23)
ROUND_HALF = np.uint32((0xFFF - (112 << 23)) & 0xFFFFFFFF)  # rebias, and half of the last place less one
ROUND_BRAIN = np.uint32(0x7FFF)
ONE, THIRTEEN, SIXTEEN = np.uint32(1), np.uint32(13), np.uint32(16)


@njit
def single_of_half(half):
    """Return the float32 equal to a float16; uint32 bits in."""
    scaled = np.uint32((half & MAGNITUDE) << THIRTEEN).view(np.float32) * REBIAS
    bits = np.float32(scaled).view(np.uint32)
    bits = np.uint32(bits | SINGLE_INFINITY) if half & HALF_INFINITY == HALF_INFINITY else bits
    return np.uint32(bits | np.uint32((half & SIGN) << SIXTEEN)).view(np.float32)


@njit
def half_of_single(single):
    """Return the bits of the float16 nearest to a float32; uint32 out."""
    bits = np.float32(single).view(np.uint32)
    size = np.uint32(bits & SINGLE_MAGNITUDE)
    normal = np.uint32(np.uint32(size + ROUND_HALF + np.uint32((size >> THIRTEEN) & ONE)) >> THIRTEEN)
    subnormal = np.uint32(np.float32(np.uint32(size).view(np.float32) + ALIGN).view(np.uint32) - ALIGN_BITS)
    half = subnormal if size < SMALLEST_NORMAL else normal
    half = half if size < OVERFLOW else HALF_INFINITY
    half = HALF_NAN if size > SINGLE_INFINITY else half
    return np.uint32(half | np.uint32((bits >> SIXTEEN) & SIGN))


@njit
def single_of_brain(brain):
    """Return the float32 equal to a bfloat16; uint32 bits in."""
    return np.uint32(brain << SIXTEEN).view(np.float32)


@njit
def brain_of_single(single):
    """Return the bits of the bfloat16 nearest to a float32; uint32 out."""
    bits = np.float32(single).view(np.uint32)
    brain = np.uint32(np.uint32(bits + ROUND_BRAIN + np.uint32((bits >> SIXTEEN) & ONE)) >> SIXTEEN)
    nan = np.uint32(BRAIN_NAN | np.uint32((bits >> SIXTEEN) & SIGN))
    return nan if np.uint32(bits & SINGLE_MAGNITUDE) > SINGLE_INFINITY else brain


def _computing(compute: Callable, single_of: Callable, bits_of: Callable):
    """Return a loop over uint16 arrays: total = compute(arrived, total)."""

    @njit
    def loop(arrived, total):
        for i in range(total.size):
            single = compute(single_of(np.uint32(arrived[i])), single_of(np.uint32(total[i])))
            total[i] = np.uint16(bits_of(single))

    return loop


def _dividing(single_of: Callable, bits_of: Callable):
    """Return a loop over a uint16 array: total = total / divisor."""

    @njit(error_model="numpy")
    def loop(total, divisor):
        for i in range(total.size):
            total[i] = np.uint16(bits_of(single_of(np.uint32(total[i])) / single_of(np.uint32(divisor))))

    return loop


def _choosing(takes_first: Callable, single_of: Callable):
    """Return a loop over uint16 arrays: total = arrived where that is NaN or `takes_first` holds."""

    @njit
    def loop(arrived, total):
        for i in range(total.size):
            x, y = single_of(np.uint32(arrived[i])), single_of(np.uint32(total[i]))
            total[i] = arrived[i] if takes_first(x, y) | (x != x) else total[i]

    return loop


HALF, BRAIN = (single_of_half, half_of_single), (single_of_brain, brain_of_single)
_total, _product = njit(lambda x, y: x + y), njit(lambda x, y: x * y)
add_halves, multiply_halves = _computing(_total, *HALF), _computing(_product, *HALF)
add_brains, multiply_brains = _computing(_total, *BRAIN), _computing(_product, *BRAIN)
divide_halves, divide_brains = _dividing(*HALF), _dividing(*BRAIN)
# Of operands that compare equal, the zeros of both signs, numpy takes the first and ml_dtypes the second
max_halves = _choosing(njit(lambda x, y: x >= y), single_of_half)
min_halves = _choosing(njit(lambda x, y: x <= y), single_of_half)
max_brains = _choosing(njit(lambda x, y: x > y), single_of_brain)
min_brains = _choosing(njit(lambda x, y: x < y), single_of_brain)
