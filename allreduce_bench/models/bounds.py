"""Lower bounds of any all-reduce at the prices of models: one port a rank, full duplex, no reduction in the network.

ceil(log2 p) alpha, and 2(p-1)/p n beta or, if larger, the time of a node's ports for 2(N-1)/N n (Chan et al.,
Concurrency and Computation 19(13), 2007; Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009).
"""

from collections.abc import Iterable
from typing import NamedTuple

from ..schedule.price import bound_path
from .alpha_beta import ALPHA, BETA, BETWEEN, WITHIN
from .model import Model, price_of


class Bounds(NamedTuple):
    """Least times in seconds: of the longest chain of messages, and of all bytes through one port."""

    latency_s: float
    bandwidth_s: float


def bounds(
    models: Iterable[Model], ranks: int, nodes: int | None, size_bytes: int, nic_bytes_per_s: float | None = None
) -> Bounds:
    """Return the bounds at the least alpha and beta above 0 that the model of a known schedule has; 0 without any.

    `nic_bytes_per_s`: the rate of the single port of a node's ranks; None: a port per rank.
    """
    candidates, links = list(models), _links(ranks, nodes)
    nodes = nodes or ranks
    alpha = {link: _least(candidates, ALPHA, link) for link in links}
    beta = {link: _least(candidates, BETA, link) for link in links}
    messages, moved = bound_path(size_bytes, ranks)
    crossing = 2 * (nodes - 1) / ranks * size_bytes * beta.get(BETWEEN, 0.0)  # 2(N-1)/N n over p/N ports of a node
    if nic_bytes_per_s:
        crossing = max(crossing, 2 * (nodes - 1) / nodes * size_bytes / nic_bytes_per_s)
    cheapest = min(alpha.values(), default=0.0), min(beta.values(), default=0.0)
    return Bounds(messages * cheapest[0], max(moved * cheapest[1], crossing))


def _links(ranks: int, nodes: int | None) -> list[str]:
    """Return the kinds of links that so many ranks and nodes use; one rank per node if nodes are unknown."""
    nodes = nodes or ranks
    return [link for link, crossed in ((WITHIN, ranks > nodes), (BETWEEN, nodes > 1)) if crossed]


def _least(models: Iterable[Model], name: str, link: str) -> float:
    """Return the least price above 0 over links of one kind; 0 if there is none.

    The prices of a library's own choice belong to a schedule that may not have run.
    """
    known = (price for model in models if not model.is_library and (price := price_of(model, name, link)))
    return min((price.value for price in known if price.value > 0), default=0.0)
