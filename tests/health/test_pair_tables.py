"""Foreign tables of pairs: the real ones of H100 nodes, what columns are called, and odd files in one line."""

from itertools import combinations

import numpy as np
import pytest
from places import DATA

from allreduce_bench.health.failed_pairs import failing_nodes
from allreduce_bench.health.judgement import judge_table
from allreduce_bench.health.pair_tables import read_failed_pairs, read_pair_tables
from allreduce_bench.importers.row import LogError

H100 = DATA / "pairs_h100"


def named(path, **options) -> dict[str, tuple[list[str], list[str]]]:
    """Of each table the slow nodes and links."""
    found = {}
    for table in read_pair_tables(path, **options).tables:
        result = judge_table(table, 0.2)
        links = ["+".join(table.nodes[node][-3:] for node in pair) for pair in sorted(result.slow_links)]
        found[table.name] = ([table.nodes[node] for node in result.slow_nodes], links)
    return found


def test_good_pairs_of_h100_nodes_give_no_suspect():
    found = read_pair_tables(H100 / "cluster_17_nodes.csv")
    pairs = {table.name: (~(table.log_time != table.log_time)).sum() for table in found.tables}
    assert pairs["sendrecv_perf, G=8"] == 131 and len(found.tables) == 6
    assert named(H100 / "cluster_17_nodes.csv")["sendrecv_perf, G=8"] == ([], [])
    assert named(H100 / "cluster_10_nodes.csv") == {"avg_bus_bw_GBs": ([], [])}


def test_pairs_that_are_slow_in_both_tests_of_one_gpu_a_node_are_links():
    tables = named(H100 / "cluster_17_nodes.csv")
    slow = ["001+004", "002+003", "002+006", "004+006", "004+009", "011+012", "013+016", "013+017"]
    assert tables["alltoall_perf, G=1"] == tables["sendrecv_perf, G=1"] == ([], slow)
    assert tables["sendrecv_perf, G=4"][0] == tables["alltoall_perf, G=4"][0] == ["cnode2-003"]


def test_the_node_in_8_of_18_failed_pairs_is_named():
    found = read_pair_tables(H100 / "cluster_17_nodes.csv")
    listed = read_failed_pairs(H100 / "cluster_17_nodes_failures.txt", found.tried)
    assert len(listed) == 18 and listed.keys() == found.failed.keys() and len(found.tried) == 136
    (node,) = failing_nodes(found.tried, listed)
    assert (node.node, node.failed, node.all_failed) == ("cnode2-003", 8, 18)
    assert node.expected == pytest.approx(2.1, abs=0.05) and node.p_value < 0.01


def write(tmp_path, text: str):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("head", "is_rate"),
    [("latency_us", False), ("seconds", False), ("t_usec", False), ("bw", True), ("avg GB/s", True), ("Gbps", True)],
)
def test_rates_and_times_are_told_by_their_column(tmp_path, head, is_rate):
    (table,) = read_pair_tables(write(tmp_path, f"src,dst,{head}\nn1,n2,4\nn1,n2,5\nn1,n2,9\n")).tables
    assert table.is_rate is is_rate and table.unit == head
    assert table.value(table.log_time[0, 1]) == pytest.approx(5.0)


def test_a_column_that_tells_nothing_is_named_by_options(tmp_path):
    path = write(tmp_path, "a,b,x\nn1,n2,4\n")
    assert read_pair_tables(path, "x", "rate").tables[0].is_rate
    with pytest.raises(LogError, match="'x' may be"):
        read_pair_tables(path, "x")
    with pytest.raises(LogError, match="--value y: no such column; it has: a, b, x"):
        read_pair_tables(path, "y")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected a CSV with a header and a line per pair of nodes; found 0 lines"),
        ("x,y\n1,2\n", "line 1: expected two columns of nodes such as source and dest"),
        ("source,dest,z\nn1,n2,3\n", "line 1: no column of rates or times"),
        ("source,dest,bw\nn1,n1,3\n", "line 2: expected two different nodes, found n1 and n1"),
        ("nodes,bw\nn[1],3\n", "line 2: expected two different nodes, found n1"),
        ('nodes,bw\n"n[1-",3\n', "line 2: 'n.1-' is not a list of nodes"),
        ("source,dest,bw\nn1,n2\n", "line 2: expected 3 fields as in the header, found 2"),
        ("source,dest,bw\nn1,$(x),3\n", "line 2: '..x.' is not the name of a node"),
        ("source,dest,bw\nn1,n2,-3\n", r"line 2: expected a number from 1e-18 to 1e.18 in column bw, found '-3'"),
        ("source,dest,bw\nn1,n2,inf\n", "found 'inf'"),
        ("source,dest,bw\nn1,n2,1e-320\n", "found '1e-320'"),
        ("\0\1\2,\n\xff\n", "expected"),
    ],
)
def test_odd_files_end_in_one_line(tmp_path, text, said):
    with pytest.raises(LogError, match=said) as caught:
        read_pair_tables(write(tmp_path, text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing\n", "found none"),
        ("(n1, n9)\n", "1: node 'n9'.*in the table"),
    ],
)
def test_a_list_of_failures_without_known_pairs_is_refused(tmp_path, text, said):
    with pytest.raises(LogError, match=said):
        read_failed_pairs(write(tmp_path, text), [frozenset(("n1", "n2"))])


def test_a_line_without_a_value_is_a_failed_pair(tmp_path):
    found = read_pair_tables(write(tmp_path, "source,dest,bw,failure\nn1,n2,,\nn1,n3,4,\nn2,n3,,gone\n"))
    assert found.failed == {frozenset(("n1", "n2")): "no value, line 2", frozenset(("n2", "n3")): "gone, line 4"}


def test_a_failure_says_in_which_of_how_many_tests(tmp_path):
    path = write(tmp_path, "source,dest,test,bw\nn1,n2,a,3\nn1,n2,b,\nn1,n3,a,\nn1,n3,b,\nn2,n3,a,1\nn2,n3,b,1\n")
    assert read_pair_tables(path).failed == {
        frozenset(("n1", "n2")): "in b (1 of 2 tests), line 3",
        frozenset(("n1", "n3")): "in a; b (2 of 2 tests), line 4 and 1 more",
    }


def test_what_steers_a_terminal_is_in_no_name_and_no_reason(tmp_path):
    lines = [
        "src,dst,test,bw\x1b[31m,failure",
        'n1,n2,"a\nb\x1b[2J",4,',
        "n1,n3,c,5,",
        'n2,n3,c,,"gone\nerror: x\x1b[0m"',
    ]
    found = read_pair_tables(write(tmp_path, "\n".join(lines) + "\n"))
    said = [word for table in found.tables for word in (table.name, table.unit)] + [*found.failed.values()]
    assert all(word.isprintable() for word in said) and len(said) == 5
    (why,) = found.failed.values()
    assert why.startswith("gone?error: x?[0m, in c")


def test_a_file_whose_tables_would_fill_the_memory_is_refused(tmp_path):
    lines = [f"n{node},n{(node + 1) % 300},{node},1.0" for node in range(300)]
    with pytest.raises(
        LogError,
        match="300 tests.*300 nodes.*27000000 values.*most 20000000",
    ):
        read_pair_tables(write(tmp_path, "\n".join(["src,dst,size,bw", *lines, ""])))


NAMES = [f"n{number:02}" for number in range(1, 17)]


def made(tmp_path, head: str, line):
    """A file of all pairs; `line` gives the fields after the names of two nodes, and a random 3 % around 1."""
    random = np.random.default_rng(1)
    rows = [
        ",".join([one, other, *map(str, fields)])
        for one, other in combinations(NAMES, 2)
        for fields in line(one, other, lambda: float(np.exp(random.normal(0, 0.03))))
    ]
    return write(tmp_path, "\n".join([f"source,dest,{head}", *rows, ""]))


def two_bad_nodes(one, other, noise):
    slower = (2 if "n05" in (one, other) else 1) * (1.5 if "n09" in (one, other) else 1)
    yield 2 * noise(), 1000 * noise() / slower


def test_every_column_of_values_is_a_test_of_its_own_kind_and_unit(tmp_path):
    path = made(tmp_path, "latency_us,bandwidth_MBps", two_bad_nodes)
    latency, bandwidth = read_pair_tables(path).tables
    assert (latency.name, latency.unit, latency.is_rate) == ("latency_us", "latency_us", False)
    assert (bandwidth.name, bandwidth.unit, bandwidth.is_rate) == ("bandwidth_MBps", "bandwidth_MBps", True)
    assert named(path) == {"latency_us": ([], []), "bandwidth_MBps": (["n05", "n09"], [])}
    assert [*named(path, value="latency_us")] == ["latency_us"]
    with pytest.raises(
        LogError,
        match="--value-is rate.*found latency_us, bandwidth_MBps; add --value",
    ):
        read_pair_tables(path, kind="rate")


def test_statistics_of_one_thing_are_one_test_and_its_spread_is_none(tmp_path):
    head = "min_latency_us,avg_latency_us,max_latency_us,stddev_us,algbw_GBs"
    path = made(tmp_path, head, lambda one, other, noise: [(1, 2 * noise(), 9, noise(), noise())])
    assert [table.name for table in read_pair_tables(path).tables] == ["avg_latency_us", "algbw_GBs"]


def test_one_value_of_two_that_is_missing_is_a_failure_in_that_test(tmp_path):
    path = write(tmp_path, "source,dest,latency_us,bw_GBs\nn1,n2,1,\nn1,n3,1,4\nn2,n3,2,3\n")
    assert read_pair_tables(path).failed == {frozenset(("n1", "n2")): "in bw_GBs (1 of 2 tests), line 2"}
