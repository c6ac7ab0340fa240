"""The tables of a check: suspects first, what the columns mean, and values of pairs in their unit."""

from made_pairs import judge, pair_table

from allreduce_bench.health.output import TABLE_CAPTION, health_lines


def test_the_table_has_the_suspects_first_and_the_matrix_of_few_nodes_has_values_in_their_unit():
    lines = health_lines(judge(pair_table(4, {2: 2}), failed={("n0", "n1"): "gone"}))
    assert lines[0] == TABLE_CAPTION and lines[1].split() == ["node", "bandwidth", "z", "failed", "pairs", "state"]
    assert lines[2].split()[:2] == ["n2", "2.00"] and lines[2].endswith("slow: bandwidth")
    assert lines[6:] == [
        "",
        "bandwidth of pairs, GB/s",
        "from / to    n0    n1    n2    n3",
        "n0            .  4.00  2.00  4.00",
        "n1         4.00     .  2.00  4.00",
        "n2         2.00  2.00     .  2.00",
        "n3         4.00  4.00  2.00     .",
    ]


def test_nodes_of_a_slow_group_are_not_ok():
    lines = health_lines(judge(pair_table(9, {1: 2, 2: 2, 3: 2})))
    assert [line.split()[0] for line in lines[2:5]] == ["n1", "n2", "n3"]
    assert all("group: bandwidth" in line for line in lines[2:5]) and lines[5].endswith("ok")


def test_of_many_nodes_those_without_findings_are_counted():
    lines = health_lines(judge(pair_table(50, {20: 2})))
    assert lines[2].startswith("n20 ") and lines[-1] == "and 18 nodes without findings" and len(lines) == 35
