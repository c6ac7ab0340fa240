"""Torus: rings along each dimension of a grid of ranks, for several parts of the vector at once.

The ranks form a grid, two by three for p = 6. A part of the vector is reduce-scattered in rings along one dimension, so
that each rank owns a slice of its row; then each slice in rings along the next dimension; the allgathers run backwards.
There are 2(d1-1) + 2(d2-1) rounds instead of 2(p-1). With D dimensions the vector has 2D parts, so that all links of a
torus carry something: part i begins with dimension i, and D further parts run the other way round. A step is one
`MPI_Sendrecv`, so the parts follow each other; where they are pipelined (`torus@pipelined`) they overlap. For
p = 4 as two by two, ranks a, b above c, d, and the first part alone (* = finished):

    round   1 reduce-scatter   2 reduce-scatter   3 allgather     4 allgather
    moves   a with c: halves   a with b: quarters a with b: *     a with c: *

`torus` chooses two dimensions as equal as possible (one if p is a prime); `torus:2x3x4` names them.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, zip_longest
from math import isqrt, prod
from typing import NamedTuple

from allreduce_bench.algorithms._ring_phases import ring_allgather, ring_reduce_scatter
from allreduce_bench.schedule import Step, longest_block, split
from allreduce_bench.schedule.algorithm import Algorithm, AlgorithmError, Cost, Hops, Topology, algorithm
from allreduce_bench.units import in_ranks

Dimensions = tuple[int, ...]


def nearly_square(size: int) -> Dimensions:
    """Return two dimensions of `size` ranks, the second at least as long; one if there are no two."""
    short = next(length for length in range(isqrt(size), 0, -1) if size % length == 0)
    return (short, size // short) if short > 1 else (size,)


class Line(NamedTuple):
    """Ranks that differ from a rank in one coordinate only, in the order of the ring, and the rank's place there."""

    members: Sequence[int]
    place: int


def line(rank: int, dimensions: Dimensions, number: int, mirrored: bool = False) -> Line:
    """Return the ring of `rank` along dimension `number`; the last dimension is that of neighbouring ranks."""
    stride, length = prod(dimensions[number + 1 :]), dimensions[number]
    place = rank // stride % length
    members = range(rank - place * stride, rank + (length - place) * stride, stride)
    return Line(members[::-1], length - 1 - place) if mirrored else Line(members, place)


@lru_cache(maxsize=64)
def crossing(topology: Topology, dimensions: Dimensions) -> tuple[bool, ...]:
    """Return for each dimension whether some ring along it joins several nodes."""
    node = topology.node_of
    lines = [[line(rank, dimensions, number).members for rank in range(len(node))] for number in range(len(dimensions))]
    return tuple(any(node[ring[0]] != node[one] for ring in rings for one in ring) for rings in lines)


def cost_on(dimensions: Dimensions, topology: Topology, count: int) -> Cost:
    """Return the cost of all parts, one after the other: 2(d-1) messages in each dimension, of ever shorter slices."""
    parts, across = 2 * len(dimensions), crossing(topology, dimensions)
    hops, reduced = [], 0
    for part in range(parts):
        length = longest_block(count, parts)
        for number in rotated(part, dimensions):
            length = longest_block(length, dimensions[number])
            hops.append(Hops(2 * (dimensions[number] - 1), length, across[number]))
            reduced += (dimensions[number] - 1) * length
    return Cost.of([hop for hop in hops if hop.messages], reduced)


def rotated(part: int, dimensions: Dimensions) -> list[int]:
    """Return the dimensions in the order in which part number `part` goes through them."""
    return [(part + phase) % len(dimensions) for phase in range(len(dimensions))]


def steps_on(dimensions: Dimensions, rank: int, count: int) -> Iterator[Step]:
    """Yield the steps of `rank`: phase by phase, the parts taking turns hop by hop."""
    parts = 2 * len(dimensions)
    scatters, gathers = [], []  # of each part, by phase
    for part, span in enumerate(split(range(count), parts)):
        phases = []
        for number in rotated(part, dimensions):
            members, place = line(rank, dimensions, number, mirrored=part >= len(dimensions))
            block = split(span, len(members))
            phases.append((members, place, block))
            span = block[place]
        scatters.append([ring_reduce_scatter(*phase) for phase in phases])
        gathers.append([ring_allgather(*phase) for phase in reversed(phases)])
    for phase in chain(zip(*scatters), zip(*gathers)):
        for hop in zip_longest(*phase):
            yield from filter(None, hop)


def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
    """Return the cost on two dimensions, nearly equal."""
    return cost_on(nearly_square(size), topology, count)


@algorithm(
    cost=cost,
    exact=True,
    formula="8(d1+d2-2) alpha + 2(p-1)/p n beta + (p-1)/p n gamma on d1 x d2 = p ranks; a quarter of it on four ports",
    on_request=True,
    known_as="bucket algorithm, multi-port torus; BlueConnect with all its orders of dimensions at once",
    why=(
        "8(d1+d2-2): rings along dimensions of d1 and d2 ranks take 2(d1-1) + 2(d2-1) rounds, and the four parts "
        "of the vector take turns; with torus@pipelined they overlap."
    ),
    best="large vectors on many ranks of a torus, or of a grid of nodes by ranks.",
    source=(
        'Jain and Sabharwal, "Optimal bucket algorithms for large MPI collectives on torus interconnects", ICS 2010; '
        'Cho et al., "BlueConnect", MLSys 2019.'
    ),
)
def torus(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
    """Parts go round rings along each dimension of a grid."""
    yield from steps_on(nearly_square(size), rank, count)


def dimensions_of(parameters: str) -> Dimensions:
    """Return the dimensions that `2x3x4` names. Raises AlgorithmError."""
    if not re.fullmatch(r"[1-9]\d{0,4}(x[1-9]\d{0,4}){0,7}", parameters, re.ASCII):
        raise AlgorithmError(
            f"torus '{parameters}': expected the lengths of its dimensions, such as 4x8 or 2x3x4, whose product is "
            "the number of ranks"
        )
    return tuple(map(int, parameters.split("x")))


def named(parameters: str) -> Algorithm:
    """Return `torus:2x3x4`, for as many ranks. Raises AlgorithmError."""
    dimensions, name = dimensions_of(parameters), f"torus:{parameters}"
    expected = prod(dimensions)

    def unfit(size: int, topology: Topology) -> str | None:
        return None if size in (1, expected) else f"{name} needs {in_ranks([expected])}, not {size}"

    def generate(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
        if size > 1:
            yield from steps_on(dimensions, rank, count)

    def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
        return cost_on(dimensions if size > 1 else (1,), topology, count)

    return torus._replace(name=name, generate=generate, cost=cost, needs=frozenset({in_ranks([expected])}), unfit=unfit)
