"""Which node is in more of the failed pairs than chance explains.

If failed pairs had nothing to do with nodes, those of one node would be a sample of all pairs without replacement:
their number is hypergeometric (Fisher, The design of experiments, 1935). The nodes are judged together (Bonferroni).
The worst one is named first, and its pairs are taken out before the others are judged: a failed pair has two nodes.
"""

from collections.abc import Iterable, Mapping
from math import comb
from typing import NamedTuple

LEVEL = 0.05  # of sets of failed pairs without a guilty node: the share in which one is named, at most


class FailingNode(NamedTuple):
    """A node that is in too many failed pairs."""

    node: str
    failed: int  # pairs of it that failed
    tried: int  # pairs of it that were tried
    all_failed: int  # failed pairs of all nodes
    expected: float  # of it, by chance
    p_value: float  # that as many or more fail by chance, times the nodes; at most 1


def failing_nodes(tried: Iterable[frozenset[str]], failed: Iterable[frozenset[str]]) -> list[FailingNode]:
    """The nodes that are named, the worst first; `tried` has the failed pairs, too.

    A node all of whose pairs failed is named also where too few pairs were tried for a test, if another pair did not.
    """
    pairs, broken = set(tried), set(failed)
    found: list[FailingNode] = []
    while broken and broken != pairs:
        candidates = [_judged(node, pairs, broken) for node in {name for pair in broken for name in pair}]
        worst = min(candidates, key=lambda one: (one.p_value, -one.failed / one.tried, -one.failed, one.node))
        dead = sorted((one for one in candidates if one.failed == one.tried >= 2), key=lambda one: -one.failed)
        if worst.p_value > LEVEL and not dead:
            break
        named = worst if worst.p_value <= LEVEL else dead[0]
        found.append(named)
        pairs = {pair for pair in pairs if named.node not in pair}
        broken = {pair for pair in broken if named.node not in pair}
    return found


def _judged(node: str, pairs: set[frozenset[str]], broken: set[frozenset[str]]) -> FailingNode:
    own, own_broken = sum(node in pair for pair in pairs), sum(node in pair for pair in broken)
    nodes = len({name for pair in pairs for name in pair})
    p_value = at_least(own_broken, len(broken), own, len(pairs))
    expected = len(broken) * own / len(pairs)
    return FailingNode(node, own_broken, own, len(broken), expected, min(1.0, nodes * p_value))


def at_least(number: int, failed: int, own: int, pairs: int) -> float:
    """The chance that of `own` pairs drawn from `pairs`, of which `failed` failed, `number` or more failed."""
    ways = sum(comb(failed, k) * comb(pairs - failed, own - k) for k in range(number, min(failed, own) + 1))
    return ways / comb(pairs, own)


def unexplained(failed: Mapping[frozenset[str], str], named: Iterable[FailingNode]) -> dict[frozenset[str], str]:
    """The failed pairs of nodes that are not named, with their reasons."""
    nodes = {one.node for one in named}
    return {pair: why for pair, why in failed.items() if not nodes & pair}
