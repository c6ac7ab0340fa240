"""What no all-reduce can beat on the links of these models: one-port, full duplex, without reduction in the network."""

from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

from ..schedule.price import bound_path
from .model import Model, Parameter


class Bounds(NamedTuple):
    """Least times in seconds: of all messages that must follow each other, and of all bytes through one port."""

    latency_s: float
    bandwidth_s: float


def bounds(
    models: Iterable[Model],
    ranks: int,
    nodes: int | None,
    nbytes: int,
    nic_bytes_per_s: float | None = None,
    at_low_ends: bool = False,
) -> Bounds:
    """ceil(log2 p) alpha, and 2(p-1)/p n beta or what the ports of a node need for 2(N-1)/N n, if that is more.

    At the least alpha that some model found, and the least beta that is identified; 0 where none has such. One port a
    rank sends and receives at the same time, and nothing is reduced in the network (Chan et al., Concurrency and
    Computation 19(13), 2007). `nic_bytes_per_s`: the rate of the one port that all ranks of a node share; None: a port
    a rank. `at_low_ends`: at the lower ends of the intervals of alpha and beta, instead of their estimates.
    """
    candidates, links = list(models), _links(ranks, nodes)
    nodes = nodes or ranks
    alpha = {link: _least(candidates, "alpha_s", link, at_low_ends)[0] for link in links}
    beta = {link: _least(candidates, "beta_s_per_byte", link, at_low_ends)[0] for link in links}
    messages, moved = bound_path(nbytes, ranks)
    crossing = 2 * (nodes - 1) / ranks * nbytes * beta.get("between", 0.0)  # 2(N-1)/N n over p/N ports of a node
    if nic_bytes_per_s:
        crossing = max(crossing, 2 * (nodes - 1) / nodes * nbytes / nic_bytes_per_s)
    cheapest = min(alpha.values(), default=0.0), min(beta.values(), default=0.0)
    return Bounds(messages * cheapest[0], max(moved * cheapest[1], crossing))


def sources(models: Iterable[Model], ranks: int, nodes: int | None) -> dict[str, list[Model]]:
    """`alpha_s` and `beta_s_per_byte` -> the models of which `bounds` takes them; none where none of them found any."""
    candidates, links = list(models), _links(ranks, nodes)
    return {
        name: [model for link in links if (model := _least(candidates, name, link)[1])]
        for name in ("alpha_s", "beta_s_per_byte")
    }


def _links(ranks: int, nodes: int | None) -> list[str]:
    """The kinds of links that so many ranks and nodes use; a rank a node where the nodes are not known."""
    nodes = nodes or ranks
    return [link for link, crossed in (("within", ranks > nodes), ("between", nodes > 1)) if crossed]


def _least(models: list[Model], name: str, link: str, at_low_ends: bool = False) -> tuple[float, Model | None]:
    """The least price over links of one kind, and its model; 0 where there is none.

    `at_low_ends`: the least lower end of an interval of such prices; 0 for one that is not identified.

    Jumps at knots only make messages dearer, slopes may become cheaper. A beta must be identified; an alpha need not:
    beside the seconds of a call it rarely is, and the alpha of another model might be no bound.
    """
    prices = [
        (_low_end(parameter) if at_low_ends else parameter.value, model)
        for model in models
        for part in model.parts
        for parameter in part.parameters
        if parameter.name == name and parameter.link in ("", link) and (name != "alpha_s" or not parameter.above)
        if (parameter.identified or name == "alpha_s") and parameter.value > 0
    ]
    return min(prices, key=itemgetter(0), default=(0.0, None))


def _low_end(parameter: Parameter) -> float:
    """The lower end of its interval; without one 0, or the value where it is identified: a price that was given."""
    if parameter.low is None:
        return parameter.value if parameter.identified else 0.0
    return min(parameter.low, parameter.value)
