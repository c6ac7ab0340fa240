"""What a check of nodes says, all together: tables that are judged, failed pairs, and what is not known."""

from collections.abc import Collection, Mapping, Sequence
from math import inf
from typing import NamedTuple

from .failed_pairs import FailingNode, failing_nodes, unexplained
from .node_pairs import FEWEST, RELIABLE, Judged, PairTable, judged

NOTHING, TWO_NODES, THREE_NODES, FEW_NODES = "", "two nodes", "three nodes", "few nodes"  # what cannot be told


class Setting(NamedTuple):
    """A column of a foreign table between whose values times differ: a setting, not a node."""

    column: str
    slow: str  # the value with the longest times
    fast: str
    ratio: float  # of the median times of both
    nodes: tuple[str, ...]  # that are in every pair with the slow value


class Health(NamedTuple):
    """The outcome of a check."""

    nodes: tuple[str, ...]
    threshold: float
    results: tuple[Judged, ...]
    failing: tuple[FailingNode, ...]  # the worst first
    failed: Mapping[frozenset[str], str]  # all pairs that failed, with their reasons
    cleared: int = 0  # suspects that were not slow when they were measured alone
    left: int = 0  # pairs that were planned and are not measured
    settings: tuple[Setting, ...] = ()  # within each of which pairs are judged

    @property
    def bad_nodes(self) -> tuple[str, ...]:
        """The nodes that are slow or in too many failed pairs, each once, in the order of the nodes."""
        slow = {result.table.nodes[node] for result in self.results for node in result.slow_nodes}
        return tuple(name for name in self.nodes if name in slow | {one.node for one in self.failing})

    @property
    def lone_failures(self) -> dict[frozenset[str], str]:
        """The failed pairs of nodes that are not named for their failures."""
        return unexplained(self.failed, self.failing)

    @property
    def is_sound(self) -> bool:
        """Whether no node and no link is slow, and no pair failed."""
        return not self.failed and not any(result.slow_nodes or result.slow_links for result in self.results)

    @property
    def unknown(self) -> str:
        """What too few nodes cannot show: a code, or NOTHING."""
        if len(self.nodes) >= RELIABLE:
            return NOTHING
        return {2: TWO_NODES, 3: THREE_NODES}.get(len(self.nodes), FEW_NODES)


def health_of(
    tables: Sequence[PairTable],
    tried: frozenset[frozenset[str]],
    failed: Mapping[frozenset[str], str],
    threshold: float,
    unjudged: Collection[str] = (),
) -> Health:
    """Judge the tables, but not the `unjudged` ones, and the failed pairs; `tried` has the failed pairs, too."""
    nodes = tuple(dict.fromkeys(name for table in tables for name in table.nodes))
    nodes = nodes or tuple(sorted({name for pair in tried for name in pair}))
    failing = failing_nodes(tried, failed) if len(nodes) >= FEWEST - 1 else []
    results = tuple(judged(table, inf if table.name in unjudged else threshold) for table in tables)
    return Health(nodes, threshold, results, tuple(failing), dict(failed))
