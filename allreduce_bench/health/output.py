"""A check of nodes as sentences, tables and JSON."""

import json
from collections.abc import Sequence
from math import exp, isfinite, isnan
from typing import Any

import numpy as np

from ..runs.hosts import compress
from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from ..units import counted, few, three_digits
from .failed_pairs import FailingNode
from .judgement import RELIABLE, Health, JudgedTable

# Sentences
MOST_NAMED = 8  # nodes or groups in a sentence
MOST_LINKS = 10  # slow ones, and failed ones, unless all are requested

# Tables
MOST_ROWS = 32  # nodes in the table; beyond, those without findings are counted
MOST_IN_MATRIX = 12  # nodes
TABLE_CAPTION = (
    "of each node the time of its pairs over the median (1.60 = 60 % longer), and z: how far that lies above the other "
    "nodes, in robust standard deviations"
)

# JSON
SCHEMA = "urn:allreduce-bench:health:1"


def health_sentences(health: Health, every_link: bool = False) -> list[str]:
    """Return a summary, then the suspects with the tests in which they are slow, then what is unknown.

    Of links only the worst MOST_LINKS are named, unless `every_link`.
    """
    lines = [sentence for result in health.results for sentence in _slow_nodes(result)]
    lines += [_failing_sentence(health, one) for one in health.failing]
    lines += _cut_lines(_slow_links(health), "slow", every_link)
    lines += _cut_lines(_lone_failures(health), "failed", every_link)
    lines += [_group_sentence(result) for result in health.results if result.group]
    lines += _block_sentences(health)
    nodes = len(health.nodes)
    summary = [_summary(health)] if nodes not in (2, 3) or health.failed else []
    if health.cleared:
        suspects = counted(health.cleared, "suspect")
        lines.append(f"slow beside other pairs only, not when measured alone: {suspects}; pairs may share uplinks")
    if health.left:
        lines.append(f"not measured: {counted(health.left, 'pair')}")
    if nodes == 2:
        lines.append(
            "with two nodes there is nothing to compare their pair with; name four nodes or more, better eight"
        )
    elif nodes == 3:
        lines.append("with three nodes a slow node or link cannot be told; name four nodes or more, better eight")
    elif nodes < RELIABLE:
        lines.append(f"with fewer than {RELIABLE} nodes a slow node and a slow link cannot be told apart reliably")
    return [*summary, *lines]


def _summary(health: Health) -> str:
    """Format `1 bad node: n3. 7 nodes form a slow group in alltoall_perf, G=8. 30 slow links, 10 failed links`."""
    bad, links, failed = health.bad_nodes, len(slow_links(health)), len(health.lone_failures)
    parts = []
    if bad:
        parts.append(f"{counted(len(bad), 'bad node')}: {few(bad, MOST_NAMED)}")
    parts += [
        f"{len(result.group)} nodes form a slow group in {result.table.name}"
        for result in health.results
        if result.group
    ]
    if not health.is_measured:
        parts.append(f"no pair was measured: all {counted(len(health.failed), 'pair')} failed")
    elif not links and not any(result.slow_nodes or result.group for result in health.results):
        scope = "In the pairs that did not fail, no" if bad else "no"  # a bad node that is not slow has failed pairs
        parts.append(f"{scope} node and no link is slower than its peers by {health.threshold:.0%} or more")
    if counts := [counted(number, f"{kind} link") for number, kind in ((links, "slow"), (failed, "failed")) if number]:
        parts.append(", ".join(counts))
    return ". ".join(parts)


def slow_links(health: Health) -> list[tuple[str, list[tuple[JudgedTable, tuple[int, int]]]]]:
    """Return (link, the tests in which it is slow, its slowest first) of all slow links, the slowest first."""
    found: dict[str, list[tuple[JudgedTable, tuple[int, int]]]] = {}
    for result in health.results:
        for pair in result.slow_links:
            found.setdefault("+".join(result.table.nodes[node] for node in pair), []).append((result, pair))
    slowest = {name: sorted(tests, key=lambda one: -one[0].link_ratio(one[1])) for name, tests in found.items()}
    return sorted(slowest.items(), key=lambda item: -item[1][0][0].link_ratio(item[1][0][1]))


def _cut_lines(lines: list[str], kind: str, every_link: bool) -> list[str]:
    more = len(lines) - MOST_LINKS
    if every_link or more <= 0:
        return lines
    return [*lines[:MOST_LINKS], f"{more} more {kind} link{'s' * (more > 1)}; --format json names every link"]


def _slow_nodes(result: JudgedTable) -> list[str]:
    """Format `node n3: slow in bandwidth: its pairs take 2.01 times as long as those of the other nodes (z = 69)`."""
    return [
        (
            f"node {result.table.nodes[node]}: slow in {result.table.name}: its pairs take "
            f"{result.node_ratio(node):.2f} times as long as those of the other nodes (z = {result.node_z[node]:.1f})"
        )
        for node in sorted(result.slow_nodes, key=lambda node: -result.node_z[node])
    ]


def _slow_links(health: Health) -> list[str]:
    """Format `link n1+n4: slow in a: 2.70 times as long as its nodes take with others (z = 98.1)`, and other tests."""
    lines = []
    for name, ((first, pair), *further) in slow_links(health):
        where = first.table.name if not further else f"{1 + len(further)} tests"
        which = f" in {first.table.name}" if further else ""
        others = [
            f"; {result.link_ratio(other):.2f} times in {result.table.name} (z = {result.link_z[other]:.1f})"
            for result, other in further
        ]
        lines.append(
            f"link {name}: slow in {where}: {first.link_ratio(pair):.2f} times as long as its nodes take with "
            f"others{which} (z = {first.link_z[pair]:.1f}){_one_way_words(first, *pair)}{''.join(others)}"
        )
    return lines


def _one_way_words(result: JudgedTable, one: int, other: int) -> str:
    """Return which direction is slow, if only one is."""
    pairs = (one, other), (other, one)
    there, back = (exp(result.table.log_time[pair] - result.table.symmetric[pair]) for pair in pairs)
    if isnan(there) or isnan(back) or max(there, back) < 1.2 * min(there, back):
        return ""
    source, dest = (one, other) if there > back else (other, one)
    ratio = max(there, back) / min(there, back)
    return f", {ratio:.2f} times as long from {result.table.nodes[source]} to {result.table.nodes[dest]} as back"


def _failing_sentence(health: Health, one: FailingNode) -> str:
    why = next(reason for pair, reason in health.failed.items() if one.node in pair)
    return (
        f"node {one.node}: {one.failed} of its {one.tried} pairs failed, of {one.all_failed} failed pairs in all; "
        f"chance explains {one.expected:.1f} (p = {one.p_value:.2g}); the first: {why}"
    )


def _lone_failures(health: Health) -> list[str]:
    lone = sorted((sorted(pair), why) for pair, why in health.lone_failures.items())
    return [f"link {'+'.join(pair)} failed: {why}" for pair, why in lone]


def _group_sentence(result: JudgedTable) -> str:
    names = [result.table.nodes[node] for node in result.group]
    return (
        f"{result.table.name}: {len(names)} of {len(result.table.nodes)} nodes are slower than the others "
        f"({few(names, MOST_NAMED)}); "
        "so many are rather a group, such as the nodes below one switch, so no node or link is named"
    )


def _block_sentences(health: Health) -> list[str]:
    """Return a sentence per division of nodes into groups, with all tests that show it, and one for those alone."""
    tests_of: dict[tuple, list[JudgedTable]] = {}
    for result in health.results:
        if result.blocks.members and result.is_judged:
            tests_of.setdefault((result.blocks.members, result.blocks.alone), []).append(result)
    lines = []
    for (members, alone), results in tests_of.items():
        nodes, names = results[0].table.nodes, ", ".join(result.table.name for result in results)
        named = (f"{compress([nodes[node] for node in of])} ({len(of)})" for of in members)
        groups = few(named, MOST_NAMED, comma="; ", more="; {more} more")
        ratios = [result.blocks.far_ratio for result in results]
        lines.append(
            f"{names}: {len(members)} groups of nodes: {groups}; pairs between groups take "
            f"{_range_words(ratios)} times as long as those within: racks or switches, not nodes; each pair is judged "
            "by the pairs of its groups"
        )
        quiet = [nodes[node] for node in alone if all(node not in result.slow_nodes for result in results)]
        if quiet:
            are = "is" if len(quiet) == 1 else "are"
            lines.append(
                f"{compress(quiet)} {are} in none of these groups and no slower than pairs between them: behind "
                "another switch, or slow; measure beside nodes of the same rack"
            )
    return lines


def _range_words(values: Sequence[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


def health_lines(health: Health, screen: Screen = UNBOUNDED) -> list[str]:
    """Return a table with a row per node and, for few nodes, a matrix of the values of all pairs for each test."""
    caption = wrapped([TABLE_CAPTION], screen) if health.results else []
    lines = [*caption, *_node_table(health, screen)]
    if len(health.nodes) <= MOST_IN_MATRIX:
        for result in health.results:
            lines += ["", *_matrix(result, screen)]
    return lines


def _node_table(health: Health, screen: Screen) -> list[str]:
    """Return a row per node, the suspects first: ratio and z of each test, and the failed pairs."""
    heads = [word for result in health.results for word in (result.table.name, "z")]
    failed_heads = ["failed pairs"] if health.failed else []
    rows, bad = [["node", *heads, *failed_heads, "state"]], health.bad_nodes
    nodes = range(len(health.nodes))
    states = [_states(health, node) for node in nodes]
    unknown = np.full(len(nodes), np.nan)
    worst_z = np.nan_to_num(np.fmax.reduce([unknown, *(result.node_z for result in health.results)]))
    order = sorted(nodes, key=lambda node: (health.nodes[node] not in bad, not states[node], -worst_z[node]))
    shown = [node for place, node in enumerate(order) if states[node] or place < MOST_ROWS]
    for node in shown:
        fields = [health.nodes[node]]
        for result in health.results:
            known = not isnan(result.node_z[node])
            fields += [f"{result.node_ratio(node):.2f}", f"{result.node_z[node]:.1f}"] if known else ["-", "-"]
        failed = [str(sum(health.nodes[node] in pair for pair in health.failed)) for _ in failed_heads]
        is_known = any(not isnan(result.node_z[node]) for result in health.results)
        rows.append([*fields, *failed, states[node] or ("ok" if is_known else "not measured")])
    lines = fitted(columns_of(rows, left=(0, len(rows[0]) - 1), text=len(rows[0]) - 1), screen)
    hidden = len(order) - len(shown)
    return [*lines, *([f"and {counted(hidden, 'node')} without findings"] if hidden else [])]


def _states(health: Health, node: int) -> str:
    """Return `slow: bandwidth; pairs fail`; empty where nothing is known against a node, by its number."""
    slow = ", ".join(result.table.name for result in health.results if node in result.slow_nodes)
    grouped = ", ".join(result.table.name for result in health.results if node in result.group)
    fails = any(one.node == health.nodes[node] for one in health.failing)
    said = (slow and f"slow: {slow}", "pairs fail" * fails, grouped and f"in a slow group: {grouped}")
    return "; ".join(filter(None, said))


def _matrix(result: JudgedTable, screen: Screen) -> list[str]:
    """Return the values of pairs in the unit of the table, from row to column; a missing direction has the other's."""
    table = result.table
    rows = [["from / to", *table.nodes]]
    for source, name in enumerate(table.nodes):
        logs = table.either_way[source]
        rows.append([name, *("." if np.isnan(value) else three_digits(table.value(value)) for value in logs)])
    return [f"{table.name} of pairs, {table.unit}", *fitted(columns_of(rows, left=(0,)), screen)]


def json_text(health: Health) -> str:
    """Return `health --format json`: one object about every node, link and pair; unknown values are null."""
    content = {
        "schema": SCHEMA,
        "nodes": list(health.nodes),
        "threshold": health.threshold,
        "is_sound": health.is_sound,
        "bad_nodes": list(health.bad_nodes),
        "verdict": health_sentences(health, every_link=True),
        "tests": [_test_object(result) for result in health.results],
        "failing_nodes": [one._asdict() for one in health.failing],
        "failed_pairs": [{"nodes": sorted(pair), "reason": why} for pair, why in health.failed.items()],
        "cleared": health.cleared,
        "left": health.left,
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _test_object(result: JudgedTable) -> dict[str, Any]:
    table = result.table
    links = [
        {
            "nodes": [table.nodes[node] for node in pair],
            "ratio": result.link_ratio(pair),
            "z": _number_or_null(result.link_z[pair]),
        }
        for pair in result.slow_links
    ]
    measured = zip(*np.nonzero(~np.isnan(table.log_time)))
    return {
        "name": table.name,
        "unit": table.unit,
        "is_rate": table.is_rate,
        "is_judged": result.is_judged,
        "slow_nodes": [table.nodes[node] for node in result.slow_nodes],
        "slow_group": [table.nodes[node] for node in result.group],
        "slow_links": links,
        "node_groups": {
            "groups": [[table.nodes[node] for node in members] for members in result.blocks.members],
            "alone": [table.nodes[node] for node in result.blocks.alone],
            "far_ratio": result.blocks.far_ratio,
        },
        "per_node": [
            {
                "node": name,
                "ratio": _number_or_null(np.exp(result.polished.node_effect[node])),
                "z": _number_or_null(result.node_z[node]),
            }
            for node, name in enumerate(table.nodes)
        ],
        "pairs": [
            {"source": table.nodes[one], "dest": table.nodes[other], "value": table.value(table.log_time[one, other])}
            for one, other in measured
        ],
    }


def _number_or_null(value: Any) -> float | None:
    return float(value) if isfinite(value) else None
