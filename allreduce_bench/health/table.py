"""What a check of nodes says as tables: a row per node, and of few nodes the values of all pairs."""

from math import isnan

import numpy as np

from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from ..units import three_digits
from .node_health import Health
from .node_pairs import Judged

MOST_ROWS = 32  # nodes in the table; beyond, those without findings are counted
MOST_IN_MATRIX = 12  # nodes
CAPTION = (
    "of each node the time of its pairs over the median (1.60 = 60 % longer), and z: how far that lies above the other "
    "nodes, in robust standard deviations"
)


def health_lines(health: Health, screen: Screen = UNBOUNDED) -> list[str]:
    """The table of nodes and, of few nodes, a matrix of each test; the sentences are those of `health_text`."""
    lines = (
        [*wrapped([CAPTION], screen), *_node_table(health, screen)] if health.results else _node_table(health, screen)
    )
    if len(health.nodes) <= MOST_IN_MATRIX:
        for result in health.results:
            lines += ["", *_matrix(result, screen)]
    return lines


def _node_table(health: Health, screen: Screen) -> list[str]:
    """A row per node, the suspects first: of each test ratio and z, and the failed pairs."""
    has_failures = bool(health.failed)
    heads = [word for result in health.results for word in (result.table.name, "z")]
    rows = [["node", *heads, *(["failed pairs"] if has_failures else []), "state"]]
    of_node = {name: _states(health, name) for name in health.nodes}
    bad = health.bad_nodes
    order = sorted(health.nodes, key=lambda name: (name not in bad, not of_node[name], -_worst_z(health, name)))
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
    slow = [result.table.name for result in health.results if result.table.nodes.index(name) in result.slow_nodes]
    grouped = [result.table.name for result in health.results if result.table.nodes.index(name) in result.group]
    return [
        *([f"slow: {', '.join(slow)}"] if slow else []),
        *(["pairs fail"] if name in {one.node for one in health.failing} else []),
        *([f"in a slow group: {', '.join(grouped)}"] if grouped else []),
    ]


def _matrix(result: Judged, screen: Screen) -> list[str]:
    """The values of pairs in the unit of the table, from row to column; a direction that is missing has the other's."""
    table = result.table
    rows = [["from / to", *table.nodes]]
    for source, name in enumerate(table.nodes):
        logs = table.either_way[source]
        rows.append([name, *("." if np.isnan(value) else three_digits(table.value(value)) for value in logs)])
    return [f"{table.name} of pairs, {table.unit}", *fitted(columns_of(rows, left=(0,)), screen)]
