"""The natural picture of an algorithm, found in its messages: a ring, a tree, a pair of trees, a star, a hypercube."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

SHAPES = ("ring", "tree", "two_trees", "star", "hypercube", "nodes")

Edges = frozenset[tuple[int, int]]  # pairs of ranks that exchange messages, the lower rank first


class _Message(Protocol):
    @property
    def source(self) -> int: ...
    @property
    def dest(self) -> int: ...
    @property
    def blocks(self) -> tuple[int, ...]: ...


def shape_of(ranks: int, nodes: Sequence[Sequence[int]], rounds: Sequence[Sequence[_Message]]) -> str:
    """One of SHAPES; a circle of ranks is a `ring`, too, whoever sends to whom on it."""
    if len(nodes) > 1:
        return "nodes"
    edges = _edges([message for messages in rounds for message in messages])
    if ranks < 3 or all((second - first) % ranks in (1, ranks - 1) for first, second in edges):
        return "ring"
    if _exchanged_share(rounds) > 1 / 2:  # the others fold ranks that are too many
        return "hypercube"
    trees = trees_of(ranks, rounds)
    if len(trees) == 2:
        return "two_trees"
    if len(trees) == 1:
        degrees = Counter(rank for edge in trees[0] for rank in edge)
        return "star" if ranks > 3 and max(degrees.values()) == ranks - 1 else "tree"
    return "ring"


def trees_of(ranks: int, rounds: Sequence[Sequence[_Message]]) -> list[Edges]:
    """The distinct trees along which blocks travel, in the order of their blocks; empty: some block has no tree."""
    by_block: dict[int, list[_Message]] = {}
    for messages in rounds:
        for message in messages:
            for block in message.blocks:
                by_block.setdefault(block, []).append(message)
    trees = list(dict.fromkeys(_edges(by_block[block]) for block in sorted(by_block)))
    return trees if all(_is_tree(edges, ranks) for edges in trees) else []


def parents_of(edges: Edges, ranks: int, root: int) -> list[int | None]:
    """The parent of each rank in the tree of these edges; None at the root."""
    parents: list[int | None] = [None] * ranks
    reached = [root]
    for rank in reached:  # grows while it is walked
        for edge in sorted(edges):
            if rank in edge:
                child = edge[0] if edge[1] == rank else edge[1]
                if child != parents[rank]:
                    parents[child] = rank
                    reached.append(child)
    return parents


def _edges(messages: Sequence[_Message]) -> Edges:
    return frozenset((min(pair), max(pair)) for pair in ((message.source, message.dest) for message in messages))


def _is_tree(edges: Edges, ranks: int) -> bool:
    """Whether the edges connect all ranks without a circle."""
    reached = {0}
    for _ in range(ranks):
        reached |= {rank for edge in edges if reached & {*edge} for rank in edge}
    return len(edges) == ranks - 1 and len(reached) == ranks


def _exchanged_share(rounds: Sequence[Sequence[_Message]]) -> float:
    """The share of the messages that meet one the other way in their round."""
    exchanged = 0
    for messages in rounds:
        pairs = {(message.source, message.dest) for message in messages}
        exchanged += sum((dest, source) in pairs for source, dest in pairs)
    return exchanged / sum(map(len, rounds))
