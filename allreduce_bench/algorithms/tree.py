"""Pipelined binary tree: reduce to the root, then broadcast, in segments.

Rank r has the children 2r+1 and 2r+2. The vector is cut into k segments; a segment climbs from the leaves to rank 0
and comes down again. Left children send in even rounds, right children in odd ones, so segments follow each other at a
distance of two rounds and every rank does at most one send and one receive a round. For p = 3, k = 2 (* = finished):

    round      1       2       3       4       5        6        7        8
    moves      b to a  c to a  b to a  c to a  a to b   a to c   a to b   a to c
    segment    1       1       2       2       1*       1*       2*       2*

The default segment is 128 KiB.
"""

from collections.abc import Iterator
from functools import lru_cache

from allreduce_bench.algorithms._tree_pipeline import (
    Starts,
    Timetable,
    Tree,
    pipeline_cost,
    pipelined,
    starts,
    timetable,
)
from allreduce_bench.schedule import Step
from allreduce_bench.schedule.algorithm import Cost, Topology, algorithm


@lru_cache(maxsize=4)
def heap(size: int) -> Timetable:
    """Return a complete binary tree, numbered as a heap; left edges have colour 0, right edges 1."""
    parent = [None, *((rank - 1) // 2 for rank in range(1, size))]
    return timetable(Tree(parent, [(rank + 1) % 2 for rank in range(size)]), colours=2)


def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
    """Return the cost of at most 2(h+k-1) rounds up and as many down, each of one segment; k for a single edge."""
    return pipeline_cost(_starts(size, topology), [count], segment, colours=min(2, size - 1) or 1)


@lru_cache(maxsize=1024)
def _starts(size: int, topology: Topology) -> Starts:
    return starts([heap(size)], topology)


@algorithm(
    cost=cost,
    exact=False,
    formula="4(h+k-1) (alpha + n/k beta) + 2(h+k-1) n/k gamma, h = floor(log2 p), k segments",
    segmented=True,
    known_as="pipelined binary tree, reduce + broadcast",
    why=(
        "A segment climbs h = floor(log2 p) levels and comes down as many. A parent takes its two children one "
        "after the other and sends to them likewise, so a level takes two rounds: at most 4h, and 4 more for each"
        " further segment."
    ),
    best="small vectors on many ranks.",
    source="the pipelined binary tree of Sanders, Speck and Träff, Parallel Computing 35(12), 2009.",
)
def tree(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
    """Segments climb a binary tree and come down again."""
    if size > 1:
        yield from pipelined(rank, [heap(size)], [range(count)], segment, colours=2)
