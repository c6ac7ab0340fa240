"""Words and numbers of the gallery's tables: shares of n, and at which numbers of ranks a promise is kept."""

from collections.abc import Sequence

from ...units import in_ranks
from .facts import PER_NODE, PIECES, Facts


def share(value: float) -> str:
    """A volume as a share of the vector: `1.875 n`, `15 n`, `0`."""
    return f"{value:.4g} n" if value else "0"


def kept_at(kept: Sequence[int], tried: Sequence[int]) -> str:
    """At which of the `tried` numbers of ranks a promise is kept: `yes`, `no`, `2 ranks only`, `even p, and p = 3`."""
    if set(kept) == set(tried):
        return "yes"
    if not kept:
        return "no"
    for name, pattern in (("even p", _even(tried)), ("p = 2^k", _powers(tried))):
        if len(pattern) > 1 and pattern <= set(kept):
            others = sorted(set(kept) - pattern)
            return name + (f", and p = {', '.join(map(str, others))}" if others else "")
    return f"{in_ranks(kept)} only"


def layout_text(row: Facts) -> str:
    """Where the facts of a table were counted."""
    layout = f"{row.ranks} ranks on {len(row.topology.nodes)} nodes of {PER_NODE}"
    return f"{layout}; trees cut the vector into {PIECES} segments"


def times_as_long(factor: float) -> str:
    """`1.13 times`, `34 times`."""
    return f"{factor:.3g} times" if factor < 10 else f"{factor:.0f} times"


def _even(tried: Sequence[int]) -> set[int]:
    return {number for number in tried if number % 2 == 0}


def _powers(tried: Sequence[int]) -> set[int]:
    return {number for number in tried if number & (number - 1) == 0}
