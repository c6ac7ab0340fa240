"""Which all-reduces of a step have speculative times, and why, and which have but a lower bound."""

from collections import Counter
from typing import TYPE_CHECKING

from .time_line import Transfer

if TYPE_CHECKING:
    from .cost import Costs


def doubts_of(costs: "Costs", ranks: int, transfers: tuple[Transfer, ...]) -> tuple[str, ...]:
    """`3 of 5 all-reduces are more than 2 times as long as …`, a sentence's beginning for each reason.

    `transfers` have the names of their algorithms, and times that `costs` says of `ranks`.
    """
    reasons = Counter(costs.doubt(one.algorithm, ranks, one.nbytes) for one in transfers) if ranks > 1 else Counter()
    return tuple(f"{number} of {len(transfers)} all-reduces are {why}" for why, number in reasons.items() if why)


def any_lower_bound(costs: "Costs", ranks: int, transfers: tuple[Transfer, ...]) -> bool:
    """Whether one of `transfers` is only known to take its time or more; see `doubts_of`."""
    return any(costs.is_lower_bound(one.algorithm, ranks, one.nbytes) for one in transfers if ranks > 1)
