"""Failed pairs of nodes: the nodes that have more than chance explains."""

from collections.abc import Iterable
from math import comb
from typing import NamedTuple

FAILURES_LEVEL = 0.05  # false alarm rate: sets of failed pairs without a guilty node in which one is named, at most


class FailingNode(NamedTuple):
    """A node that is in too many failed pairs."""

    node: str
    failed: int  # its pairs that failed
    tried: int  # its pairs that were tried
    all_failed: int  # failed pairs of all nodes
    expected: float  # its failed pairs by chance
    p_value: float  # probability that as many or more fail by chance, times the nodes; at most 1


def failing_nodes(tried: Iterable[frozenset[str]], failed: Iterable[frozenset[str]]) -> list[FailingNode]:
    """Return the nodes that are in too many failed pairs, the worst first; `tried` includes the failed pairs.

    If failures were independent of nodes, the pairs of one node would be a sample of all pairs without replacement: the
    number of failed ones is hypergeometric (Fisher, The design of experiments, 1935). The nodes are judged together
    (Bonferroni). The worst one is named first, and its pairs are removed before the others are judged: a failed pair
    has two nodes.

    A node all of whose pairs failed is named also if too few pairs were tried for a test, unless all pairs failed.
    """
    pairs, broken = set(tried), set(failed)
    found: list[FailingNode] = []
    while broken and broken != pairs:
        candidates = [_failures_of(node, pairs, broken) for node in {name for pair in broken for name in pair}]
        worst = min(candidates, key=lambda one: (one.p_value, -one.failed / one.tried, -one.failed, one.node))
        dead = sorted((one for one in candidates if one.failed == one.tried >= 2), key=lambda one: -one.failed)
        if worst.p_value > FAILURES_LEVEL and not dead:
            break
        named = worst if worst.p_value <= FAILURES_LEVEL else dead[0]
        found.append(named)
        pairs = {pair for pair in pairs if named.node not in pair}
        broken = {pair for pair in broken if named.node not in pair}
    return found


def _failures_of(node: str, pairs: set[frozenset[str]], broken: set[frozenset[str]]) -> FailingNode:
    own, own_broken = sum(node in pair for pair in pairs), sum(node in pair for pair in broken)
    nodes = len({name for pair in pairs for name in pair})
    p_value = chance_of_failures(own_broken, len(broken), own, len(pairs))
    expected = len(broken) * own / len(pairs)
    return FailingNode(node, own_broken, own, len(broken), expected, min(1.0, nodes * p_value))


def chance_of_failures(number: int, failed: int, own: int, pairs: int) -> float:
    """Return the probability that `number` or more of `own` pairs, drawn from `pairs` with `failed` failed, failed."""
    ways = sum(comb(failed, k) * comb(pairs - failed, own - k) for k in range(number, min(failed, own) + 1))
    return ways / comb(pairs, own)
