"""Which ranks share a node."""

from typing import NamedTuple


class Topology(NamedTuple):
    """The node of every rank: `node_of[rank]`, numbered from 0 in the order of each node's lowest rank."""

    node_of: tuple[int, ...]

    @classmethod
    def from_labels(cls, labels) -> "Topology":
        """Number the nodes of any sequence of one hashable label per rank (host names, lowest ranks, …)."""
        node_of_label: dict = {}
        return cls(tuple(node_of_label.setdefault(label, len(node_of_label)) for label in labels))

    @classmethod
    def one_node(cls, size: int) -> "Topology":
        """All `size` ranks on one node."""
        return cls((0,) * size)

    @classmethod
    def filled(cls, size: int, ranks_per_node: int) -> "Topology":
        """Consecutive ranks fill node after node; the last node may have fewer."""
        return cls(tuple(rank // ranks_per_node for rank in range(size)))

    def of(self, ranks) -> "Topology":
        """The topology of some of the ranks, numbered from 0 in their order; equal where their layouts are."""
        return Topology.from_labels(self.node_of[rank] for rank in ranks)

    @property
    def nodes(self) -> tuple[tuple[int, ...], ...]:
        """The ranks of each node, ascending."""
        ranks: list[list[int]] = [[] for _ in range(len(set(self.node_of)))]
        for rank, node in enumerate(self.node_of):
            ranks[node].append(rank)
        return tuple(map(tuple, ranks))

    def describe(self) -> str:
        """The layout in one word: `2x4` for two nodes of four ranks, `4+3+1` for unequal nodes."""
        sizes = [len(node) for node in self.nodes]
        if len(set(sizes)) == 1:
            return f"{len(sizes)}x{sizes[0]}"
        return "+".join(map(str, sizes))
