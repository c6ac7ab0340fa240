"""Rabenseifner's algorithm with a radix: groups of k ranks exchange k-ths, where `rabenseifner` exchanges halves.

In a round of radix k, the k ranks of a group own one k-th of their common span each: every rank sends each other one
its part, k-1 messages in turn, and reduces its own. So p = k^m takes m rounds of k-1 messages, with partners at fewer
distances; the traffic stays the least. The allgather runs backwards. p need not be a power of k: each round has the
largest radix up to k that divides what is left of p, or what is left if there is none, so that no rank is folded. For
p = 6, radix 4, the rounds are of radix 3 and 2 (* = finished). What rank a does:

    step                      a sends           a receives and adds
    1  reduce-scatter of 3    3, 4 to b         1, 2 from c
    2                         5, 6 to c         1, 2 from b
    3  reduce-scatter of 2    2 to d            1 from d
    4  allgather of 2         1* to d           2* from d
    5  allgather of 3         1*, 2* to b       5*, 6* from c
    6                         1*, 2* to c       3*, 4* from b

`rabenseifner_radix` has the radix 4, `rabenseifner_radix:8` another one.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from allreduce_bench.algorithms._mirrored import Exchange, mirrored_cost, reduce_scatter_allgather
from allreduce_bench.schedule import Step, longest_block, split
from allreduce_bench.schedule.algorithm import Algorithm, AlgorithmError, Cost, Topology, algorithm

RADIX = 4  # unless it is named


@lru_cache(maxsize=64)
def radices(size: int, most: int) -> tuple[int, ...]:
    """Return the radix of each round."""
    if size == 1:
        return ()
    radix = next((radix for radix in range(min(most, size), 1, -1) if size % radix == 0), size)
    return (radix, *radices(size // radix, most))


def in_group(rank: int, turn: int, stride: int, radix: int) -> int:
    """Return the rank that is `turn` places further in the group of `rank`, whose ranks are `stride` apart."""
    digit = rank // stride % radix
    return rank + ((digit + turn) % radix - digit) * stride


def exchanges(rank: int, size: int, most: int) -> Iterator[Exchange]:
    """Yield the rounds of `rank` in the reduce-scatter."""
    span, stride = range(size), 1
    for radix in radices(size, most):
        part, digit = split(span, radix), rank // stride % radix
        for turn in range(1, radix):
            dest, source = in_group(rank, turn, stride, radix), in_group(rank, -turn, stride, radix)
            yield Exchange(dest, part[(digit + turn) % radix], source, part[digit])
        span, stride = part[digit], stride * radix


class Turn(NamedTuple):
    """Message of a round: how many blocks, and to whom: `in_group(rank, turn, stride, radix)`."""

    blocks: int
    turn: int
    stride: int
    radix: int


def turns(size: int, most: int) -> Iterator[Turn]:
    """Yield the messages of a rank in the reduce-scatter; they are alike for all ranks."""
    stride = 1
    for radix in radices(size, most):
        yield from (Turn(size // stride // radix, turn, stride, radix) for turn in range(1, radix))
        stride *= radix


@lru_cache(maxsize=64)
def crossing(topology: Topology, most: int) -> list[bool]:
    """Return for each of the `turns` whether some ranks send to another node."""
    node_of = topology.node_of
    ranks = range(len(node_of))
    return [any(node_of[r] != node_of[in_group(r, *turn[1:])] for r in ranks) for turn in turns(len(node_of), most)]


def of_radix(most: int) -> Algorithm:
    """Return the algorithm with this radix."""

    def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
        """Return the cost of k-1 messages of one k-th in each round, there and back."""
        blocks = [turn.blocks for turn in turns(size, most)]
        return mirrored_cost(blocks, crossing(topology, most), longest_block(count, size))

    @algorithm(
        cost=cost,
        exact=True,
        formula="2(k-1) log_k p alpha + 2(p-1)/p n beta + (p-1)/p n gamma for p a power of k",
        on_request=True,
        known_as="MPICH k_reduce_scatter_allgather, UCC sra_knomial",
        why=(
            "2(k-1) for each factor k of p: k-1 messages bring a rank the parts of its k-1 partners, and k-1 bring "
            "finished parts back."
        ),
        best="large vectors where k-1 messages at once cost little more than one, and groups of k ranks are near.",
        source=(
            "the radix of MPICH's and UCC's all-reduces, of Rabenseifner's algorithm (ICCS 2004); Ruefenacht, Bull and "
            'Booth, "Generalisation of recursive doubling for AllReduce", Parallel Computing 69, 2017.'
        ),
    )
    def rabenseifner_radix(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
        """Groups of k ranks exchange k-ths, and gather them."""
        yield from reduce_scatter_allgather([*exchanges(rank, size, most)], split(range(count), size))

    return rabenseifner_radix


rabenseifner_radix = of_radix(RADIX)


def named(parameters: str) -> Algorithm:
    """Return `rabenseifner_radix:8`. Raises AlgorithmError."""
    if not re.fullmatch(r"[2-9]|[1-9]\d{1,3}", parameters, re.ASCII):
        raise AlgorithmError(
            f"rabenseifner_radix:{parameters}: expected a radix from 2 to 9999, e.g. rabenseifner_radix:8"
        )
    return of_radix(int(parameters))._replace(name=f"rabenseifner_radix:{parameters}")
