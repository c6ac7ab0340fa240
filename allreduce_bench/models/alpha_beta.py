"""What a message and a byte cost: alpha and beta of a schedule by least squares, with intervals over numbers of ranks.

T = alpha messages + beta bytes, along the critical path of the schedule (Hockney, Parallel Computing 20(3), 1994), each
with a price of its own within and between nodes where both kinds of links occur. Least squares on relative errors, no
price below 0. In a single algorithm the bytes reduced grow as the bytes moved do, so that beta holds both. The 95 %
interval of a price is its estimate +- t times the jackknife error over numbers of ranks.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, NamedTuple

import numpy as np

from ..runs.typed_json import NotNegative, one_of
from ..stats import t95
from .terms import Terms

ALPHA, BETA, GAMMA = "alpha_s", "beta_s_per_byte", "gamma_s_per_byte"  # seconds a message, byte moved, byte reduced
WITHIN, BETWEEN = "within", "between"  # nodes
FEWEST_COUNTS = 4  # numbers of ranks for an interval
SEPARATE = 1e-3  # share of a column that the others do not explain, below which its price is not identified


class Parameter(NamedTuple):
    """Price with its 95 % interval."""

    name: Annotated[str, one_of(ALPHA, BETA, GAMMA)]
    link: Annotated[str, one_of("", WITHIN, BETWEEN)]  # empty: links are alike
    value: NotNegative
    low: NotNegative | None = None  # lower end of the 95 % interval; None: not identified, or given
    high: NotNegative | None = None  # upper end

    @property
    def is_identified(self) -> bool:
        """Return whether its interval is known and holds no 0."""
        return bool(self.low) and self.high is not None


Meaning = tuple[str, str]  # name and link of a parameter
ALIKE: tuple[Meaning, ...] = ((ALPHA, ""), (BETA, ""))
APART: tuple[Meaning, ...] = tuple((name, link) for link in (WITHIN, BETWEEN) for name in (ALPHA, BETA))


def coefficient(meaning: Meaning, terms: Terms) -> float:
    """Return how often the price of `meaning` is paid on a critical path: messages, or bytes."""
    name, link = meaning
    if name == GAMMA:
        return terms.reduced_nbytes
    over = [one for one in terms.messages if not link or one.between == (link == BETWEEN)]
    return sum(one.number * (one.size_bytes if name == BETA else 1.0) for one in over)


def priced_s(parameters: Sequence[Parameter], terms: Terms) -> float:
    """Return the seconds of a critical path at these prices."""
    return sum(one.value * coefficient(one[:2], terms) for one in parameters)


def meanings_for(terms: Sequence[Terms]) -> tuple[Meaning, ...]:
    """Return the prices to fit: two levels where messages of both kinds occur, all paths tell, and cells suffice."""
    kinds = {one.between for path in terms for one in path.messages if one.number}
    apart = len(kinds) > 1 and all(path.links_apart for path in terms) and len(terms) >= 2 * len(APART)
    return APART if apart else ALIKE


class Solution(NamedTuple):
    """Prices of least squares, and the mean squared relative error that they leave."""

    prices: np.ndarray
    loss: float


def solve(columns: np.ndarray) -> Solution:
    """Return the prices >= 0 with the least squared relative errors, sum((columns @ prices - 1)^2).

    `columns` float64 [cell, price]: coefficients over the measured time. Of the subsets of prices above 0 the best.
    """
    norms = np.linalg.norm(columns, axis=0)
    norms[norms == 0] = 1.0
    scaled = columns / norms
    gram, aim = scaled.T @ scaled, scaled.sum(axis=0)
    number, best = len(aim), Solution(np.zeros(len(aim)), 1.0)
    for size in range(number, 0, -1):
        for kept in map(list, combinations(range(number), size)):
            prices = np.zeros(number)
            prices[kept] = np.linalg.lstsq(gram[np.ix_(kept, kept)], aim[kept], rcond=1e-12)[0]
            loss = float(1 - (2 * aim @ prices - prices @ gram @ prices) / len(columns))
            if (prices >= 0).all() and loss < best.loss:
                best = Solution(prices / norms, loss)
                if size == number:  # the least of all
                    return best
    return best


def fit_prices(
    meanings: Sequence[Meaning], coefficients: np.ndarray, time_s: np.ndarray, ranks: np.ndarray
) -> tuple[Parameter, ...]:
    """Fit prices to cells, with their intervals. `coefficients` float64 [cell, price]; the others [cell]."""
    columns = coefficients / time_s[:, None]
    prices, counts = solve(columns).prices, np.unique(ranks)
    if len(counts) < FEWEST_COUNTS:
        return tuple(Parameter(*meaning, float(price)) for meaning, price in zip(meanings, prices))
    left_out = np.array([solve(columns[ranks != count]).prices for count in counts])
    number = len(counts)
    error = np.sqrt((number - 1) / number * ((left_out - prices) ** 2).sum(axis=0))
    reach = t95(number - 1) * error
    told = separable(columns)
    return tuple(
        Parameter(*meaning, float(price), *((max(0.0, float(price - far)), float(price + far)) if is_told else ()))
        for meaning, price, far, is_told in zip(meanings, prices, reach, told)
    )


def separable(columns: np.ndarray) -> np.ndarray:
    """Return bool [price]: whether its column differs from what the others could stand for."""
    told = []
    for place in range(columns.shape[1]):
        own, others = columns[:, place], np.delete(columns, place, axis=1)
        rest = own - others @ np.linalg.lstsq(others, own, rcond=None)[0]
        told.append(bool(rest @ rest > SEPARATE * (own @ own)))
    return np.array(told)


def replace_beta(
    parameters: Sequence[Parameter], beta_s_per_byte: float, gamma_s_per_byte: float
) -> tuple[Parameter, ...]:
    """Return the prices with another one of a byte between nodes, or over any link where these are alike."""
    has_links = any(one.link for one in parameters)
    changed = [
        Parameter(one.name, one.link, beta_s_per_byte)
        if one.name == BETA and one.link == (BETWEEN if has_links else "")
        else one
        for one in parameters
    ]
    return (*changed, Parameter(GAMMA, "", gamma_s_per_byte)) if gamma_s_per_byte else tuple(changed)
