"""The unit in the last place of the floating-point types, the nearest number of a type, and distances in units.

ulp(x) is 2^(e - precision + 1) for 2^e <= |x| < 2^(e + 1), and below the smallest normal number, zero included, the
smallest number of the type (Goldberg, What Every Computer Scientist Should Know About Floating-Point Arithmetic, 1991;
Muller et al., Handbook of Floating-Point Arithmetic, 2nd edition, 2.3.2). Standard library only.
"""

from fractions import Fraction
from math import frexp, inf, isfinite, isnan, ldexp

from ..runs.dtypes import PRECISION

SMALLEST = {"float16": -24, "bfloat16": -133, "float32": -149, "float64": -1074}  # exponent of the smallest number > 0


def ulp(number: float, dtype: str) -> float:
    """The unit in the last place of `number`, a finite number of the type `dtype`."""
    if number == 0:
        return ldexp(1.0, SMALLEST[dtype])
    _, exponent = frexp(number)  # of |number| in [1/2, 1)
    return ldexp(1.0, max(exponent - PRECISION[dtype], SMALLEST[dtype]))


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
