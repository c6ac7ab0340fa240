"""Sizes of a sweep."""

from math import inf, log

from .plan import PlanError

MAX_SIZES = 1000


def geometric_sizes(first: int, last: int, factor: float, itemsize: int = 1) -> tuple[int, ...]:
    """Return sizes in bytes from `first` up to `last`, each `factor` times the one before, in whole elements.

    Raises PlanError.
    """
    if first > last:
        raise PlanError(f"the smallest size, {first} bytes, is above the largest, {last} bytes")
    if not 1 < factor < inf:
        raise PlanError(f"the step factor must be above 1 and finite, found {factor:g}")
    if first < 1:
        raise PlanError("a geometric sweep starts at 1 byte or more; --sizes takes 0 too")
    if log(last / first) / log(factor) > MAX_SIZES:
        raise PlanError(f"a step factor of {factor:g} makes more than {MAX_SIZES} sizes; use a larger one")
    exact = [first * factor**i for i in range(int(log(last / first) / log(factor) + 1e-9) + 1)]
    sizes = [first, *(round(size / itemsize) * itemsize for size in exact[1:])]
    return tuple(dict.fromkeys(sizes))
