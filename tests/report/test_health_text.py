"""What a check says in words, and its table: suspects first, silence as a sentence."""

import numpy as np
import pytest

from allreduce_bench.evaluation.node_health import health_of
from allreduce_bench.evaluation.node_pairs import PairTable
from allreduce_bench.report.health_text import health_lines, health_sentences


def table(nodes: int, slow: int | None = None, link: float = 0.0, name="bandwidth") -> PairTable:
    logs = np.zeros((nodes, nodes))
    if slow is not None:
        logs[slow] += np.log(2)
        logs[:, slow] += np.log(2)
    logs[0, 1] += link
    np.fill_diagonal(logs, np.nan)
    return PairTable(name, tuple(f"n{number}" for number in range(nodes)), logs, "GB/s", True)


def health(*tables, failed=None):
    names = tables[0].nodes
    tried = frozenset(frozenset((one, other)) for one in names for other in names if one != other)
    return health_of(tables, tried, {frozenset(pair): why for pair, why in (failed or {}).items()}, 0.2)


def test_a_slow_node_and_a_link_that_is_slow_one_way():
    assert health_sentences(health(table(9, slow=4, link=np.log(4)))) == [
        "node n4: slow in bandwidth: its pairs take 2.00 times as long as those of the other nodes (z = 69.3)",
        "link n0+n1: slow in bandwidth: 2.00 times as long as its nodes take with others (z = 69.3), "
        "4.00 times as long from n0 to n1 as back",
    ]


def test_where_nothing_is_slow_that_is_said():
    assert health_sentences(health(table(8))) == ["no node and no link is slower than its peers by 20% or more"]


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        (2, ["with two nodes there is nothing to compare their pair with; name four nodes or more, better eight"]),
        (3, ["with three nodes a slow node or link cannot be told; name four nodes or more, better eight"]),
        (
            4,
            [
                "no node and no link is slower than its peers by 20% or more",
                "with fewer than 8 nodes a slow node and a slow link cannot be told apart reliably",
            ],
        ),
    ],
)
def test_what_too_few_nodes_cannot_show_is_said(nodes, said):
    assert health_sentences(health(table(nodes))) == said


def test_failed_pairs_are_said_with_their_reasons():
    failed = {("n3", f"n{number}"): "no answer" for number in (0, 1, 2, 4, 5, 6, 7, 8)} | {("n1", "n2"): "died"}
    said = health_sentences(health(table(9), failed=failed))
    assert said[0].startswith("node n3: 8 of its 8 pairs failed, of 9 failed pairs in all; chance explains 2.0 (p = ")
    assert said[0].endswith("; the first: no answer") and said[1] == "link n1+n2 failed: died"


def test_a_group_and_what_is_left_or_cleared():
    logs = np.zeros((9, 9))
    for node in range(3):
        logs[node] += 1
        logs[:, node] += 1
    np.fill_diagonal(logs, np.nan)
    found = health(PairTable("latency", tuple(f"n{number}" for number in range(9)), logs, "us", False))
    said = health_sentences(found._replace(cleared=2, left=1))
    assert said[0].startswith(
        "latency: 3 of 9 nodes are slower than the others (n0, n1, n2); so many are rather a group"
    )
    assert said[1:] == [
        "2 suspects were slow beside other pairs only, not when measured alone: pairs may share uplinks",
        "1 pair is not measured",
    ]


def test_the_table_has_the_suspects_first_and_the_matrix_of_few_nodes():
    lines = health_lines(health(table(4, slow=2), failed={("n0", "n1"): "gone"}))
    assert lines[0].split() == ["node", "bandwidth", "z", "failed", "pairs", "state"]
    assert lines[1].split()[:2] == ["n2", "2.00"] and lines[1].endswith("slow: bandwidth")
    assert lines[5] == "" and lines[6].startswith("bandwidth: time over the median, which is ")
    assert lines[7].split() == ["from", "/", "to", "n0", "n1", "n2", "n3"]
    assert lines[-2].split()[0] == "n2" and "." in lines[-2].split()


def test_of_many_nodes_those_without_findings_are_counted():
    lines = health_lines(health(table(50, slow=20)))
    assert lines[1].startswith("n20 ") and lines[-1] == "and 18 nodes without findings" and len(lines) == 34
