"""`order` from the command line: checks, foreign tables; files for `run` and for launchers; bad usage."""

import re

import pytest
from click.testing import CliRunner
from places import DATA

from allreduce_bench.cli import main
from allreduce_bench.health.pair_folder import CheckSettings, PairFolder, PairRow
from allreduce_bench.runs.rank_order import parse_order

NODES = ("h1", "h2", "h3", "h4")


@pytest.fixture
def check(tmp_path):
    """A check of four nodes in two racks, of which h1 and h4 cannot talk."""
    folder = PairFolder(tmp_path / "check")
    folder.begin(CheckSettings(NODES, small_repetitions=1, large_repetitions=1))
    number = 0
    for place, one in enumerate(NODES):
        for other in NODES[place + 1 :]:
            number += 1
            if (one, other) == ("h1", "h4"):
                folder.append([PairRow(number, one, other, failure="no answer")])
                continue
            slow = 1 if place % 2 == NODES.index(other) % 2 else 2
            rows = [PairRow(number, one, other, 8, 1, 1e-5)]
            ways = ((one, other), (other, one))
            folder.append(rows + [PairRow(number, *way, 4 << 20, 1, 0.01 * slow) for way in ways])
    return folder.path


def order(*words):
    return CliRunner().invoke(main, ["order", *map(str, words)])


def test_the_order_of_a_check_avoids_the_pair_that_cannot_talk(check, tmp_path):
    file = tmp_path / "order.txt"
    result = order(check, "--size", "4M", "-o", file)
    assert result.exit_code == 0, result.output
    assert "waits for ever" in result.stdout and "pairs: 1" in result.stdout
    hosts = parse_order(str(file))
    around = list(zip(hosts, (*hosts[1:], hosts[0])))
    assert sorted(hosts) == list(NODES) and not {("h1", "h4"), ("h4", "h1")} & set(around)
    assert f"run --order {file} -n 4" in result.stdout
    same = order(check / "pairs.csv", "--size", "4M")
    assert same.exit_code == 0 and same.stdout.splitlines()[-1] == ",".join(hosts)


def test_a_table_of_another_tool_is_compared_without_a_unit():
    result = order(DATA / "pairs_h100" / "cluster_10_nodes.csv")
    assert result.exit_code == 0, result.output
    assert "The unit" in " ".join(result.stdout.split())
    assert len(result.stdout.splitlines()[-1].split(",")) == 10


@pytest.mark.parametrize(
    ("format_", "line"),
    [("openmpi", r"rank 1=h\d slot=1"), ("mpich", r"h\d:1"), ("srun", r"h\d"), ("order", r"h\d")],
)
def test_files_of_launchers_name_a_host_for_each_rank(check, tmp_path, format_, line):
    file = tmp_path / "a file"
    result = order(check, "--ranks-per-node", 2, "--format", format_, "-o", file)
    assert result.exit_code == 0, result.output
    lines = [each for each in file.read_text().splitlines() if not each.startswith("#")]
    assert len(lines) == 8 and re.fullmatch(line, lines[1]) and f"'{file}'" in result.stdout


def test_a_vector_without_bytes_takes_no_time_in_any_order(tmp_path):
    file = tmp_path / "pairs.csv"
    file.write_text("source,dest,GBs\nh1,h2,1\nh1,h3,1\nh2,h3,1\n")
    result = order(file, "--size", "0")
    assert result.exit_code == 0, result.output
    assert "fitted                  1.000" in result.stdout


def test_hosts_of_a_check_that_was_cut_are_named(check):
    pairs = PairFolder(check).pairs_csv
    kept = [line for line in pairs.read_text().splitlines(keepends=True) if "h4" not in line]
    pairs.write_text("".join(kept))
    result = order(check)
    assert result.exit_code == 0, result.output
    assert "h4 is left out: no pair" in " ".join(result.stdout.split())
    pairs.unlink()
    assert "no pair was measured" in order(check).output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["map", "--format", "srun"], "srun makes a file"),
        (["pairs", "-a", "native"], "native is the.*order is found"),
        (["pairs", "-a", "tree", "--ranks-per-node", "200"], "256 ranks.*ring takes"),
        (["pairs", "-a", "torus:2x2"], "torus"),
        (["none.csv"], re.escape("none.csv: no such file or directory")),
        (["empty"], "empty: holds no check"),
        (["map"], "two columns"),
    ],
)
def test_bad_usage_is_one_sentence(words, said, tmp_path):
    (tmp_path / "map").write_text("h1 left\nh2 right\n")
    (tmp_path / "pairs").write_text("source,dest,GBs\nh1,h2,1\nh1,h3,1\nh2,h3,1\n")
    (tmp_path / "empty").mkdir()
    result = order(*words)
    assert result.exit_code == 2 and re.search(said, result.output) and result.output.count("\n") == 1, result.output
