"""What a check says in words: a summary, suspects, silence as a sentence."""

import numpy as np
import pytest
from made_pairs import judge, pair_table

from allreduce_bench.health.judgement import PairTable
from allreduce_bench.health.output import MOST_LINKS, health_lines, health_sentences


def slow_link(name, where, ratio, z, back, which="", others=""):
    """Return the line of a link that is slow, and `back` times as slow from its first node to the second as back."""
    first, second = name.split("+")
    one_way = f", {back:.2f} times as long from {first} to {second} as back"
    return (
        f"link {name}: slow in {where}: {ratio:.2f} times as long as its nodes take with others{which} (z = "
        f"{z:.1f}){one_way}{others}"
    )


def test_a_slow_node_and_a_link_that_is_slow_one_way():
    assert health_sentences(judge(pair_table(9, {4: 2}, link=4))) == [
        "1 bad node: n4. 1 slow link",
        "node n4: slow in bandwidth: its pairs take 2.00 times as long as those of the other nodes (z = 69.3)",
        slow_link("n0+n1", "bandwidth", 2, 69.3, 4),
    ]


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
        (8, ["no node and no link is slower than its peers by 20% or more"]),
    ],
)
def test_what_too_few_nodes_cannot_show_is_said(nodes, said):
    assert health_sentences(judge(pair_table(nodes))) == said


def test_failed_pairs_are_said_with_their_reasons():
    failed = {("n3", f"n{number}"): "no answer" for number in (0, 1, 2, 4, 5, 6, 7, 8)} | {("n1", "n2"): "died"}
    said = health_sentences(judge(pair_table(9), failed=failed))
    silence = "In the pairs that did not fail, no node and no link is slower than its peers by 20% or more"
    assert said.pop(0) == f"1 bad node: n3. {silence}. 1 failed link"
    assert "n3: 8 of its 8 pairs failed" in said[0] and "9 failed" in said[0]
    assert "pairs failed" in said[0] and said[1] == "link n1+n2 failed: died"


def test_a_group_and_what_is_left_or_cleared():
    found = judge(pair_table(9, {0: 2, 1: 2, 2: 2}, name="latency"))
    said = health_sentences(found._replace(cleared=2, left=1))
    told = said.pop(0)
    assert "3 nodes" in told and "group in latency" in told
    assert "latency: 3 of 9 nodes" in said[0] and "others (n0, n1, n2)" in said[0]
    assert said[1:] == [
        "slow beside other pairs only, not when measured alone: 2 suspects; pairs may share uplinks",
        "not measured: 1 pair",
    ]


def test_a_link_is_one_line_with_all_tests_in_which_it_is_slow_and_the_worst_come_first():
    first, second = pair_table(9, link=4, name="a"), pair_table(9, link=9, name="b")
    second.log_time[5, 6] += np.log(16)
    assert health_sentences(judge(first, second))[:3] == [
        "2 slow links",
        slow_link("n5+n6", "b", 4, 138.6, 16),
        slow_link("n0+n1", "2 tests", 3, 109.9, 9, which=" in b", others="; 2.00 times in a (z = 69.3)"),
    ]


def test_the_rest_of_many_links_is_counted_and_json_has_all():
    pairs = [(f"n{number}", f"n{number + 1}") for number in range(12)]
    found = judge(pair_table(13), failed=dict.fromkeys(pairs, "gone"))
    said = health_sentences(found)
    assert len(said) == 1 + MOST_LINKS + 1 and said[-1] == "2 more failed links; --format json names every link"
    assert len(health_sentences(found, every_link=True)) == 1 + 12


def racks(slow=()) -> PairTable:
    rack = np.repeat([0, 1, 2], [10, 8, 1])
    logs = np.log(1.4) * (rack != rack[:, None])
    for node, times in slow:
        logs[node] += np.log(times)
        logs[:, node] += np.log(times)
    np.fill_diagonal(logs, np.nan)
    return PairTable("latency", tuple(f"n{number}" for number in range(19)), logs, "us", False)


def test_racks_are_said_with_all_tests_that_show_them():
    assert health_sentences(judge(racks(), racks()._replace(name="bandwidth"))) == [
        "no node and no link is slower than its peers by 20% or more",
        (
            "latency, bandwidth: 2 groups of nodes: n[0-9] (10); n[10-17] (8); pairs between groups take 1.40 times "
            "as long as those within: racks or switches, not nodes; each pair is judged by the pairs of its groups"
        ),
        (
            "n18 is in none of these groups and no slower than pairs between them: behind another switch, or slow; "
            "measure beside nodes of the same rack"
        ),
    ]
    assert health_sentences(judge(racks([(18, 2.0)])))[0] == "1 bad node: n18"


def test_where_all_pairs_failed_nobody_is_called_sound():
    table = pair_table(4)
    pairs = [(one, other) for one in table.nodes for other in table.nodes if one < other]
    found = judge(table._replace(log_time=table.log_time * np.nan), failed=dict.fromkeys(pairs, "gone"))
    assert (
        not found.is_sound and health_sentences(found)[0] == "no pair was measured: all 6 pairs failed. 6 failed links"
    )
    assert {line.split()[-2:] == ["not", "measured"] for line in health_lines(found)[2:6]} == {True}


def test_one_failed_pair_is_not_sound_and_a_table_that_is_not_judged_names_nobody():
    found = judge(pair_table(8), failed={("n0", "n1"): "gone"})
    assert not found.is_sound and found.bad_nodes == ()
    assert judge(pair_table(9, {4: 2}), unjudged=("bandwidth",)).is_sound
