"""Dual root, doubly pipelined: two trees whose roots exchange, while segments climb and come down at the same time.

The lower half of the ranks and the upper half each form a binary tree, numbered in post-order: the root last, below it
the root of its right subtree just before it. In a step a rank receives a segment from a child, to be added, and at once
sends back one that is finished; likewise towards its parent. The two roots exchange what they have summed up. So a
segment takes three steps of an inner rank: one for each child and one for the parent. The sum is that in rank order.
For p = 6, k = 1: a and b are the children of c, d and e those of f (* = finished):

    round   1                  2                 3           4                   5
    moves   b to c, e to f     a to c, d to f    c with f    c* to b, f* to e    c* to a, f* to d

The default segment is 128 KiB.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from allreduce_bench.algorithms._tree_pipeline import number_of_pieces, pieces
from allreduce_bench.schedule import Step, longest_block
from allreduce_bench.schedule.algorithm import Cost, Topology, algorithm


class Place(NamedTuple):
    """Place of a rank in its tree: parent (of a root: the other root), children, nearest first, and depth."""

    parent: int
    children: tuple[int, ...]
    depth: int


@lru_cache(maxsize=4)
def places(size: int) -> list[Place]:
    """Return the places of all ranks, of at least two."""
    half = (size + 1) // 2
    found: dict[int, Place] = {}
    trees = [(range(half), size - 1, 0), (range(half, size), half - 1, 0)]
    for ranks, parent, depth in trees:  # grows during iteration
        root, below = ranks[-1], ranks[:-1]
        left = left_size(len(ranks))
        subtrees = [part for part in (below[left:], below[:left]) if part]
        found[root] = Place(parent, tuple(part[-1] for part in subtrees), depth)
        trees += [(part, root, depth + 1) for part in subtrees]
    return [found[rank] for rank in range(size)]


def left_size(size: int) -> int:
    """Return how many of the ranks of a complete binary tree are in the left subtree of its root."""
    row = 1 << size.bit_length() - 1  # ranks of the last row, if it is full
    return row // 2 - 1 + min(row // 2, size - row + 1)


@lru_cache(maxsize=64)
def way_of_one_segment(size: int) -> tuple[int, int]:
    """Return the messages in a row until the roots have the sum of a segment, and until all ranks have it."""
    place, summed, told = places(size), dict[int, int](), dict[int, int]()
    for rank in range(size):  # children come before their parents
        summed[rank] = 0
        for child in place[rank].children:
            summed[rank] = max(summed[rank], summed[child]) + 1
    both = 1 + max(summed[rank] for rank in range(size) if place[rank].depth == 0)
    for rank in reversed(range(size)):
        told.setdefault(rank, both)
        told |= {child: told[rank] + number for number, child in enumerate(place[rank].children, start=1)}
    return both, max(told.values())


def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
    """Return the way of one segment, and for each further one the messages of the busiest rank."""
    if size == 1:
        return Cost(0, 0, 0)
    k = number_of_pieces(count, segment)
    length, further = longest_block(count, k), min(3, (size + 1) // 2) * (k - 1)
    up, way = way_of_one_segment(size)
    return Cost(way + further, (way + further) * length, (up + further) * length)


@algorithm(
    cost=cost,
    exact=False,
    formula="(4h-7+3(k-1)) (alpha + n/k beta) + (2h-3+3(k-1)) n/k gamma, p = 2^h-2, k segments; less for fewer ranks",
    on_request=True,
    segmented=True,
    known_as="doubly pipelined, dual-root reduction-to-all",
    why=(
        "A segment climbs one of two trees, crosses between their roots and comes down: about 4 log2 p rounds. "
        "Each further segment adds 3, since an inner rank talks to two children and a parent."
    ),
    best="small and medium vectors on many ranks, and operations that need the order of ranks.",
    source='Träff, "A Doubly-pipelined, Dual-root Reduction-to-all Algorithm", arXiv 2109.12626, 2021.',
)
def dual_root(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
    """Segments climb two trees, whose roots exchange them."""
    if size == 1:
        return
    parent, children, depth = places(size)[rank]
    block = pieces(range(count), segment)

    def segments(number: int) -> tuple[range, ...]:
        return (block[number],) if 0 <= number < len(block) else ()

    def step(other: int, send: int, recv: int, reduce: bool) -> Step:
        sent, received = segments(send), segments(recv)
        return Step(other if sent else None, sent, other if received else None, received, reduce and bool(received))

    for turn in range(len(block) + depth + 1):
        for child in children:
            yield step(child, turn - depth - 1, turn, reduce=True)
        yield step(parent, turn, turn - depth, reduce=depth == 0)
