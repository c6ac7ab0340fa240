"""What algbw and busbw say of the ranks: of an all-reduce busbw / algbw is 2(p-1)/p."""

from collections.abc import Iterable
from math import ceil, floor, inf

from ..units import MAX_RANKS
from .values import is_number

Rates = Iterable[tuple[str, str]]  # algbw and busbw as printed


def _factor_bounds(rates: Rates) -> tuple[float, float]:
    """Between what busbw / algbw lies, by the digits of every row; (0, inf) where they say nothing."""
    low, high = 0.0, inf
    for printed in rates:
        if all(is_number(text) for text in printed):
            algbw, busbw = map(float, printed)
            half = [0.5 * 10.0 ** -len(text.partition(".")[2].partition("e")[0]) for text in printed]
            if algbw > half[0]:
                low = max(low, (busbw - half[1]) / (algbw + half[0]))
                high = min(high, (busbw + half[1]) / (algbw - half[0]))
    return low, high


def ranks_of_factors(rates: Rates) -> int | None:
    """The number of ranks whose 2(p-1)/p is that of every row; None where none or several are."""
    low, high = _factor_bounds(rates)
    if not 0 < low <= high < 2:
        return None
    least, most = ceil(2 / (2 - low) - 1e-9), floor(2 / (2 - high) + 1e-9)
    return least if least == most and 1 < least <= MAX_RANKS else None


def factor_fits(rates: Rates, ranks: int | None) -> bool:
    """Whether rows may be those of an all-reduce of so many ranks, of any number for None: yes if they do not say."""
    low, high = _factor_bounds(list(rates))
    if low > high or high == inf:
        return True  # rates that contradict each other, or are too small: they say nothing
    if ranks is None:
        return high >= 1 and low < 2
    return low <= 2 * (ranks - 1) / ranks <= high
