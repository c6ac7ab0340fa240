"""The transfer table of the usual first lesson: who moves how many elements when G ranks add up vectors of N.

Everyone to everyone moves G(G-1)N, a single master 2(G-1)N, and a ring 2(G-1)N/G for each rank (the last by Patarasuk
and Yuan, J. Parallel Distrib. Comput. 69(2), 2009). Here they are counted, message by message, in verified schedules.
"""

from collections.abc import Callable
from typing import NamedTuple

from ...algorithms import builtin
from ...schedule import elements
from ...schedule.topology import Topology
from ...schedule.verify import verify


class Scheme(NamedTuple):
    """One way of the lesson: our name of it, and what the lesson says that it moves."""

    title: str
    algorithm: str
    formula_in_all: str
    in_all: Callable[[int, int], float]  # (G, N) -> elements
    formula_per_rank: str
    per_rank: Callable[[int, int], float]  # (G, N) -> elements that the busiest rank sends


class Transfer(NamedTuple):
    """What the schedules of one scheme move, in elements."""

    scheme: Scheme
    in_all: int
    busiest_sends: int
    idlest_sends: int


SCHEMES = (
    Scheme("naive exchange", "naive", "G(G-1)N", lambda g, n: g * (g - 1) * n, "(G-1)N", lambda g, n: (g - 1) * n),
    Scheme(
        *("single master", "parameter_server", "2(G-1)N", lambda g, n: 2 * (g - 1) * n),
        *("(G-1)N by the master", lambda g, n: (g - 1) * n),
    ),
    Scheme(
        *("ring", "ring", "2(G-1)N", lambda g, n: 2 * (g - 1) * n),
        *("2(G-1)N/G", lambda g, n: 2 * (g - 1) * n / g),
    ),
)


def transfers(ranks: int, count: int) -> list[Transfer]:
    """Count the elements that each of SCHEMES moves on `ranks` for vectors of `count` elements.

    Raises Refusal where a schedule is no all-reduce.
    """
    return [_transfer(scheme, ranks, count) for scheme in SCHEMES]


def _transfer(scheme: Scheme, ranks: int, count: int) -> Transfer:
    schedules = builtin()[scheme.algorithm].schedules(ranks, Topology.one_node(ranks), count, max(count, 1))
    verify(schedules, count)
    sent = [sum(elements(step.send) for step in steps) for steps in schedules]
    return Transfer(scheme, sum(sent), max(sent), min(sent))
