"""Pipelined reduce-then-broadcast on one or more trees whose edges are coloured by round parity.

An edge runs from a child to its parent and has a colour below `colours`. If the edges that leave a rank differ in
colour, and those that enter it too, every rank does at most one send and one receive per round. Block i of a tree
crosses an edge `colours` rounds after block i-1, first upwards (reduce), then downwards (broadcast). Source: the
scheduling argument of Sanders, Speck and Träff, Parallel Computing 35(12), 2009, for any set of trees.
"""

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import NamedTuple

from ..schedule import Step, longest_block, split
from ..schedule.algorithm import Cost, Hops, Topology

NO_EDGE = -1  # instead of a round, for the root


class Tree(NamedTuple):
    """Spanning tree of the ranks: `parent[rank]` (None at the root) and the colour of the edge to it."""

    parent: Sequence[int | None]
    colour: Sequence[int]


class Timetable(NamedTuple):
    """Tree with the round of its first block on the edge to the parent, upwards and downwards."""

    parent: Sequence[int | None]
    children: Sequence[Sequence[int]]
    up: Sequence[int]
    down: Sequence[int]


def timetable(tree: Tree, colours: int) -> Timetable:
    """Compute the earliest rounds in which the first block can cross each edge of `tree`."""
    size = len(tree.parent)
    children: list[list[int]] = [[] for _ in range(size)]
    for rank, parent in enumerate(tree.parent):
        if parent is not None:
            children[parent].append(rank)
    order = [rank for rank, parent in enumerate(tree.parent) if parent is None]
    for rank in order:  # grows during iteration: parents come before their children
        order.extend(children[rank])
    up, down, ready = [NO_EDGE] * size, [NO_EDGE] * size, [0] * size
    for rank in reversed(order):
        parent = tree.parent[rank]
        if parent is not None:
            earliest = ready[rank]
            up[rank] = start = earliest + (tree.colour[rank] - earliest) % colours
            if start >= ready[parent]:
                ready[parent] = start + 1
    for rank in order:
        parent = tree.parent[rank]
        if parent is not None:
            earliest = down[parent] + 1
            down[rank] = earliest + (tree.colour[rank] - earliest) % colours
    return Timetable(tree.parent, children, up, down)


def pieces(span: range, segment: int) -> tuple[range, ...]:
    """Cut `span` into the fewest nearly equal pieces of at most `segment` elements."""
    return split(span, number_of_pieces(len(span), segment))


def number_of_pieces(length: int, segment: int) -> int:
    """Return how many `pieces` a span of `length` elements is cut into."""
    return max(1, -(-length // segment))


def pipelined(
    rank: int, trees: Sequence[Timetable], spans: Sequence[range], segment: int, colours: int
) -> Iterator[Step]:
    """Yield the steps of `rank` when tree number t reduces and broadcasts `spans[t]` in segments."""
    blocks = [pieces(span, segment) for span in spans]
    turn = max(max(tree.up) + 1 + colours * (len(block) - 1) for tree, block in zip(trees, blocks))
    sends: dict[int, tuple[int, range]] = {}
    recvs: dict[int, tuple[int, range]] = {}
    for tree, block in zip(trees, blocks):
        parent = tree.parent[rank]
        for i, span in enumerate(block):
            shift = colours * i
            if parent is not None:
                sends[tree.up[rank] + shift] = parent, span
                recvs[turn + tree.down[rank] + shift] = parent, span
            for child in tree.children[rank]:
                recvs[tree.up[child] + shift] = child, span
                sends[turn + tree.down[child] + shift] = child, span
    for number in sorted(sends.keys() | recvs.keys()):
        dest, send = sends.get(number, (None, None))
        source, recv = recvs.get(number, (None, None))
        yield Step(
            dest=dest,
            send=() if send is None else (send,),
            source=source,
            recv=() if recv is None else (recv,),
            reduce=number < turn,
        )


class Starts(NamedTuple):
    """Rounds in which the first block crosses an edge: any edge, and one between nodes; upwards and downwards."""

    up: frozenset[int]
    down: frozenset[int]
    up_between: frozenset[int]
    down_between: frozenset[int]


def starts(trees: Sequence[Timetable], topology: Topology) -> Starts:
    """Return the rounds of `trees` on `topology`."""
    node_of = topology.node_of
    starts_of_kind: tuple[set[int], ...] = (set(), set(), set(), set())  # as the fields of Starts
    for tree in trees:
        crossing = [
            node_of[rank] != node_of[rank if parent is None else parent] for rank, parent in enumerate(tree.parent)
        ]
        for kind, rounds in enumerate((tree.up, tree.down)):
            starts_of_kind[kind].update(rounds)
            starts_of_kind[kind + 2].update(compress(rounds, crossing))
    return Starts(*(frozenset(rounds - {NO_EDGE}) for rounds in starts_of_kind))


def pipeline_cost(first: Starts, spans: Sequence[int], segment: int, colours: int) -> Cost:
    """Return the cost of a tree for each of `spans` (in elements), as if all ranks kept to the rounds.

    A round in which some block moves takes as long as the longest block, between nodes if one that moves crosses them.
    Ranks that run ahead are a little faster.
    """
    numbers = [number_of_pieces(span, segment) for span in spans]
    blocks, length = max(numbers), max(longest_block(span, number) for span, number in zip(spans, numbers))
    up, down, up_between, down_between = (_busy_rounds(rounds, blocks, colours) for rounds in first)
    between = up_between + down_between
    hops = [Hops(up + down - between, length), Hops(between, length, between=True)]
    return Cost.of([hop for hop in hops if hop.messages], reduced=up * length)


def _busy_rounds(first: frozenset[int], blocks: int, colours: int) -> int:
    """Count the rounds in which one of `blocks` moves, `colours` rounds apart, from each of the rounds `first` on."""
    busy, reached = 0, [-colours] * colours  # by parity: last round counted
    for start in sorted(first):
        begin, end = max(start, reached[start % colours] + colours), start + colours * (blocks - 1)
        busy += (end - begin) // colours + 1
        reached[start % colours] = end
    return busy
