"""What a check of nodes says: the table of nodes, small matrices of pairs, and sentences."""

from math import exp, isnan

import numpy as np

from ..evaluation.failed_pairs import FailingNode
from ..evaluation.node_health import FEW_NODES, THREE_NODES, TWO_NODES, Health
from ..evaluation.node_pairs import Judged
from ..tables import UNBOUNDED, Screen, columns_of, fitted
from ..units import three_digits

MOST_ROWS = 32  # nodes in the table; beyond, those without findings are counted
MOST_IN_MATRIX = 12  # nodes
MOST_SENTENCES = 20  # of slow links, and of failed pairs
OF_TOO_FEW = {
    TWO_NODES: "with two nodes there is nothing to compare their pair with; name four nodes or more, better eight",
    THREE_NODES: "with three nodes a slow node or link cannot be told; name four nodes or more, better eight",
    FEW_NODES: "with fewer than 8 nodes a slow node and a slow link cannot be told apart reliably",
}


def health_lines(health: Health, screen: Screen = UNBOUNDED) -> list[str]:
    """The table of nodes and, of few nodes, a matrix of each test; the sentences are `health_sentences`."""
    lines = _node_table(health, screen)
    if len(health.nodes) <= MOST_IN_MATRIX:
        for result in health.results:
            lines += ["", *_matrix(result, screen)]
    return lines


def health_sentences(health: Health) -> list[str]:
    """The suspects first, then that there are none, then what is not known."""
    nodes = [sentence for result in health.results for sentence in _slow_nodes(result)]
    links = [sentence for result in health.results for sentence in _slow_links(result)]
    failing = [_failing_sentence(health, one) for one in health.failing]
    grouped = [_group_sentence(result) for result in health.results if result.group]
    lines = [*nodes, *failing, *links, *_lone_failures(health), *grouped]
    can_tell = health.unknown not in (TWO_NODES, THREE_NODES) and len(grouped) < len(health.results)
    if can_tell and not nodes and not links:
        lines.append(f"no node and no link is slower than its peers by {health.threshold:.0%} or more")
    if health.cleared:
        suspects = "1 suspect was" if health.cleared == 1 else f"{health.cleared} suspects were"
        lines.append(f"{suspects} slow beside other pairs only, not when measured alone: pairs may share uplinks")
    if health.left:
        lines.append(f"{_pairs(health.left)} not measured")
    return lines + ([OF_TOO_FEW[health.unknown]] if health.unknown else [])


def _slow_nodes(result: Judged) -> list[str]:
    """`node n3: slow in bandwidth: its pairs take 2.01 times as long as those of the other nodes (z = 69)`."""
    return [
        f"node {result.table.nodes[node]}: slow in {result.table.name}: its pairs take {result.node_ratio(node):.2f} "
        f"times as long as those of the other nodes (z = {result.node_z[node]:.1f})"
        for node in sorted(result.slow_nodes, key=lambda node: -result.node_z[node])
    ]


def _slow_links(result: Judged) -> list[str]:
    """`link n1+n4: slow in latency: 1.53 times as long as its nodes take with others (z = 9.1)`, the slowest first."""
    lines = []
    for one, other in result.slow_links[:MOST_SENTENCES]:
        ratio, z = result.link_ratio((one, other)), result.link_z[one, other]
        lines.append(
            f"link {result.table.nodes[one]}+{result.table.nodes[other]}: slow in {result.table.name}: {ratio:.2f} "
            f"times as long as its nodes take with others (z = {z:.1f}){_one_way(result, one, other)}"
        )
    more = len(result.slow_links) - MOST_SENTENCES
    return [*lines, *([f"{more} more links are slow in {result.table.name}"] if more > 0 else [])]


def _one_way(result: Judged, one: int, other: int) -> str:
    """Which direction is slow, where only one is."""
    there, back = (exp(result.table.log_time[pair] - result.table.symmetric[pair]) for pair in _both(one, other))
    if isnan(there) or isnan(back) or max(there, back) < 1.2 * min(there, back):
        return ""
    source, dest = (one, other) if there > back else (other, one)
    ratio = max(there, back) / min(there, back)
    return f", {ratio:.2f} times as long from {result.table.nodes[source]} to {result.table.nodes[dest]} as back"


def _both(one: int, other: int) -> tuple[tuple[int, int], tuple[int, int]]:
    return (one, other), (other, one)


def _failing_sentence(health: Health, one: FailingNode) -> str:
    why = next(reason for pair, reason in health.failed.items() if one.node in pair)
    return (
        f"node {one.node}: {one.failed} of its {one.tried} pairs failed, of {one.all_failed} failed pairs in all; "
        f"chance explains {one.expected:.1f} (p = {one.p_value:.2g}); the first: {why}"
    )


def _lone_failures(health: Health) -> list[str]:
    lone = sorted((sorted(pair), why) for pair, why in health.lone_failures.items())
    lines = [f"link {'+'.join(pair)} failed: {why}" for pair, why in lone[:MOST_SENTENCES]]
    return [*lines, *([f"{len(lone) - MOST_SENTENCES} more links failed"] if len(lone) > MOST_SENTENCES else [])]


def _group_sentence(result: Judged) -> str:
    names = [result.table.nodes[node] for node in result.group]
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return (
        f"{result.table.name}: {len(names)} of {len(result.table.nodes)} nodes are slower than the others ({shown}); "
        "so many are rather a group, such as the nodes below one switch, so no node or link is named"
    )


def _pairs(number: int) -> str:
    return "1 pair is" if number == 1 else f"{number} pairs are"


def _node_table(health: Health, screen: Screen) -> list[str]:
    """A row per node, the suspects first: of each test ratio and z, and the failed pairs."""
    has_failures = bool(health.failed)
    heads = [word for result in health.results for word in (result.table.name, "z")]
    rows = [["node", *heads, *(["failed pairs"] if has_failures else []), "state"]]
    of_node = {name: _states(health, name) for name in health.nodes}
    order = sorted(health.nodes, key=lambda name: (not of_node[name], -_worst_z(health, name)))
    shown = [name for number, name in enumerate(order) if of_node[name] or number < MOST_ROWS]
    for name in shown:
        fields = [name]
        for result in health.results:
            node = result.table.nodes.index(name)
            known = not isnan(result.node_z[node])
            fields += [f"{result.node_ratio(node):.2f}", f"{result.node_z[node]:.1f}"] if known else ["-", "-"]
        failed = [str(sum(name in pair for pair in health.failed))] if has_failures else []
        rows.append([*fields, *failed, "; ".join(of_node[name]) or "ok"])
    lines = fitted(columns_of(rows, left=(0, len(rows[0]) - 1), text=len(rows[0]) - 1), screen)
    hidden = len(order) - len(shown)
    return [*lines, *([f"and {hidden} nodes without findings"] if hidden else [])]


def _worst_z(health: Health, name: str) -> float:
    values = [result.node_z[result.table.nodes.index(name)] for result in health.results]
    return max([float(value) for value in values if not isnan(value)], default=0.0)


def _states(health: Health, name: str) -> list[str]:
    slow = [r.table.name for r in health.results if r.table.nodes.index(name) in r.slow_nodes]
    states = [f"slow: {', '.join(slow)}"] if slow else []
    return [*states, *(["pairs fail"] if name in {one.node for one in health.failing} else [])]


def _matrix(result: Judged, screen: Screen) -> list[str]:
    """The times of pairs over their median, from row to column."""
    table = result.table
    middle = float(np.nanmedian(table.symmetric)) if not np.isnan(table.symmetric).all() else 0.0
    rows = [["from / to", *table.nodes]]
    for source, name in enumerate(table.nodes):
        logs = table.either_way[source] - middle
        rows.append([name, *("." if isnan(value) else f"{exp(value):.2f}" for value in logs)])
    title = f"{table.name}: time over the median, which is {three_digits(table.value(middle))} {table.unit}"
    return [title, *fitted(columns_of(rows, left=(0,)), screen)]
