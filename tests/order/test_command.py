"""`order` from the command line: checks, foreign tables, maps; files for `run` and for launchers; bad usage."""

import re

import pytest
from click.testing import CliRunner
from places import DATA

from allreduce_bench.cli import main
from allreduce_bench.health.pair_folder import CheckSettings, PairFolder, PairRow
from allreduce_bench.runs.rank_order import parse_order

NODES = ("h1", "h2", "h3", "h4")
RACKS = "h1 left\nh2 right\nh3 left\nh4 right\n"


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


def test_a_map_of_switches_needs_no_measurement(tmp_path):
    file = tmp_path / "map.txt"
    file.write_text(RACKS)
    result = order("--map", file)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] in ("h1,h3,h2,h4", "h1,h3,h4,h2", "h1,h2,h4,h3", "h1,h4,h2,h3")
    assert all(words in " ".join(result.stdout.split()) for words in ("Nothing", "2 times"))


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
    file = tmp_path / "map.txt"
    file.write_text(RACKS)
    result = order("--map", file, "--size", "0", "-o", tmp_path / "order.txt")
    assert result.exit_code == 0, result.output
    assert "fitted                  1.000" in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing says"),
        (["x", "--map", "y"], "x and --map y say what"),
        (["--map", "none"], "--map none: cannot be read"),
        (["--map", "map", "--value", "c"], "--value: belongs"),
        (["--map", "one"], "one: hosts: 1.*2 to 512"),
        (["--map", "odd"], r"odd, host 2: '\$\(x\)'.*example n1"),
        (["--map", "map", "--format", "srun"], "srun makes a file"),
        (["--map", "map", "-a", "native"], "native is the.*order is found"),
        (["--map", "map", "-a", "tree", "--ranks-per-node", "200"], "256 ranks.*ring takes"),
        (["--map", "odd3", "-a", "torus:2x2"], "torus"),
        (["none.csv"], re.escape("none.csv: no such file or directory")),
        (["empty"], "empty: holds no check"),
        (["map"], "two columns"),
    ],
)
def test_bad_usage_is_one_sentence(words, said, tmp_path):
    (tmp_path / "map").write_text(RACKS)
    (tmp_path / "one").write_text("h1 s1\n")
    (tmp_path / "odd").write_text("h1 s1\n$(x) s1\n")
    (tmp_path / "odd3").write_text("h1 s1\nh2 s1\nh3 s1\n")
    (tmp_path / "empty").mkdir()
    result = order(*words)
    assert result.exit_code == 2 and re.search(said, result.output) and result.output.count("\n") == 1, result.output
