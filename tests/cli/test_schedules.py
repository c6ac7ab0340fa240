"""`list`, `verify` and `explain` as people type them: good output, and errors in one line with their exit status."""

import re

import pytest
from click.testing import CliRunner, Result
from places import ROOT

from allreduce_bench.algorithms import builtin
from allreduce_bench.cli import main

STEPS_OF_A_LIBRARY = "the steps of a library are not known; 'which' says which algorithm it runs"


def bench(*words: str) -> Result:
    """Run the command line; what is no SystemExit is a bug and must not be hidden."""
    result = CliRunner().invoke(main, list(words))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def refused(*words: str) -> str:
    """The one line that a bad use of the program gets, at exit status 2."""
    result = bench(*words)
    assert result.exit_code == 2 and not result.stdout, result.output
    assert re.fullmatch(r"error: [^\n]+\n", result.stderr), result.stderr
    return result.stderr


def test_the_steps_of_a_mock_up_are_not_known():
    result = CliRunner().invoke(main, ["explain", "native:reduce+bcast", "-n", "4"])
    assert result.exit_code == 2 and f"native:reduce+bcast: {STEPS_OF_A_LIBRARY}" in result.output


def test_list_names_every_algorithm_and_its_cost():
    result = bench("list", "-v")
    assert result.exit_code == 0 and not result.stderr
    for name, algorithm in builtin().items():
        assert f"\n{name}\n    {algorithm.summary}\n" in "\n" + result.stdout
        assert algorithm.formula in result.stdout
    assert "cost (exact): " in result.stdout and "cost (bound): " in result.stdout
    assert "elsewhere: NCCL Ring" in result.stdout


def test_the_short_list_fits_a_screen():
    lines = bench("list").output.splitlines()
    assert len(lines) <= 23 and max(map(len, lines)) <= 80
    for name, algorithm in builtin().items():
        assert f"{'+' if algorithm.on_request else ' '} {name:<25}{algorithm.summary}" in lines


def test_list_says_what_crosses_nodes_and_whether_the_length_matters():
    told = dict(re.findall(r"^(\w+)\n((?:    .*\n)+)", bench("list", "-v").stdout, re.MULTILINE))
    for name, crossing in (("ring", "3.50"), ("hierarchical_ring", "2.00"), ("circulant", "10.50"), ("bine", "3.00")):
        assert "between 2" in told[name] and f"{float(crossing):.2f} n in" in told[name]
    for name, passed, busiest in (("ring", 17.5, 1.75), ("torus", 14.0, 0.625)):
        assert f"{passed:.2f} n times" in told[name] and f"{busiest:.2f} n over" in told[name]
    for name in ("recursive_doubling", "rabenseifner", "tree", "dual_root"):
        assert "any length" in told[name]
    for name in ("ring", "circulant", "two_tree", "swing"):
        assert "depends" in told[name]


def test_verify_says_whether_the_order_of_additions_is_the_same_at_any_length():
    result = bench("verify", "ring", "recursive_doubling", "naive", "hierarchical:tree+tree", "--lengths", "-n", "3,4")
    assert result.exit_code == 0
    headings, *lines = result.stdout.splitlines()
    assert headings.endswith("same bits  any length") and "any length" not in bench("verify", "ring").stdout
    assert [line.split()[-1] for line in lines] == ["never", "always", "always", "always"]


@pytest.fixture
def racks(tmp_path):
    """Write a map of hosts and switches, and give its path."""

    def write(text: str) -> str:
        path = tmp_path / "racks.txt"
        path.write_text(text)
        return str(path)

    return write


def test_explain_counts_what_crosses_switches(racks):
    path = racks("# hosts by rack\nn1 r1 s\nn2 r1 s\n\nn3 r2 s  # the last rack\nn4 r2 s\n")
    text = bench("explain", "hierarchical_ring", "-n", "8", "--count", "16", "--map", path).stdout
    nodes, leaves, spine = re.findall(r"^between .*", text, re.MULTILINE)
    assert nodes == "between 4 nodes: 96 elements (6.000 n) in all, at most 1.500 n out of one and 1.500 n into one"
    assert "between 2 switches of level 1" in leaves and "n into" in leaves
    assert "1 switches of level 2: 0 elements" in spine and "n into" in spine
    assert "depends" in text
    assert "between" not in bench("explain", "ring", "-n", "4").stdout
    assert "any length" in bench("explain", "tree", "-n", "4").stdout


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "names no host"),
        ("n1\n", "switches of a"),
        ("n1 a b\nn2 a\n", "switches of a"),
        ("n1 a\nn1 a\n", "second time"),
        ("n1 a\n", "another -n"),
    ],
)
def test_a_map_that_is_none_is_refused_in_one_sentence(racks, text, sentence):
    said = refused("explain", "ring", "-n", "4", "--ranks-per-node", "2", "--map", racks(text))
    assert sentence in said


def test_explain_counts_what_passes_the_links_of_a_torus():
    text = bench("explain", "ring", "-n", "8", "--torus", "8").stdout
    assert "on a torus of 8 ranks: 112 elements times links (14.000 n) in all, 1.750 n over the busiest link" in text
    assert "torus" not in bench("explain", "ring", "-n", "8").stdout
    assert "16 ranks; expected 8" in refused("explain", "ring", "-n", "8", "--torus", "4x4")
    for words in ("", "0x8", "torus:8"):
        said = refused("explain", "ring", "-n", "8", "--torus", words)
        assert f"torus '{words}'" in said
    said = refused("explain", "ring", "-n", "8", "--torus", "8", "-o", "a.html")
    assert "--torus belongs" in said and "txt file" in said


def test_a_map_is_for_the_text_and_must_exist(racks, tmp_path):
    path = racks("n1 a\n")
    said = refused("explain", "ring", "-n", "2", "--map", path, "-o", "a.html")
    assert "--map belongs" in said and "txt file" in said
    absent = str(tmp_path / "absent")
    assert f"--map {absent}: cannot be read" in refused("explain", "ring", "-n", "2", "--map", absent)


@pytest.mark.parametrize("name", builtin())
def test_verify_says_in_one_line_what_was_proved(name):
    result = bench("verify", name, "-n", "1-6,9")
    assert result.exit_code == 0
    title, line = result.stdout.splitlines()
    assert re.match(r"algorithm +schedules +at ranks +steps +max sent +depth +rank order +same bits", title)
    found, schedules, ranks, steps, *_ = line.split()
    assert (found, ranks) == (name, "9") and int(schedules) >= 20 and int(steps) > 0
    assert re.search(r" n +[48]  ", line)  # the depth: a tree over 9 ranks, or one rank after the other


def test_verify_fails_where_nothing_was_verified():
    result = bench("verify", "torus:2x3", "-n", "4")
    assert result.exit_code == 1 and "nothing to verify: needs 6 ranks" in result.stdout
    assert "nothing was verified" in result.stderr and "by symbolic execution" not in result.stderr
    assert bench("verify", "torus:2x3", "ring", "-n", "4").exit_code == 0


def test_verify_takes_counts_segments_and_layouts():
    words = "verify hierarchical_ring tree -n 4,6 --count 10 --count 7 --segment 3 --ranks-per-node 2"
    result = bench(*words.split())
    assert result.exit_code == 0
    assert [line.split()[:3] for line in result.stdout.splitlines()[1:]] == [
        ["hierarchical_ring", "4", "6"],
        ["tree", "4", "6"],
    ]


def test_explain_prints_rounds_and_cost():
    result = bench("explain", "ring", "-n", "4")
    assert result.exit_code == 0 and not result.stderr
    assert "rank 1 (b) sends a1+b1 to rank 2 (c), which adds it" in result.stdout
    assert f"cost: {builtin()['ring'].formula} (exact)" in result.stdout
    assert "why 6 rounds: 2(p-1): a block needs" in result.stdout
    promises = "same bits on all ranks: yes, rank order: no, roundings of an input: at most 3\n"
    assert result.stdout.endswith(promises)
    assert "same bits on all ranks: no, rank order: no" in bench("explain", "naive", "-n", "3").stdout


def test_explain_writes_the_same_to_a_file(tmp_path):
    path = tmp_path / "ring.txt"
    result = bench("explain", "ring", "-n", "4", "-o", str(path))
    assert result.exit_code == 0 and not result.stdout
    assert path.read_text() == bench("explain", "ring", "-n", "4").stdout


def test_explain_writes_no_other_format_than_it_can(tmp_path):
    path = tmp_path / "ring.pdf"
    assert f"-o {path}: expected" in refused("explain", "ring", "-n", "4", "-o", str(path))
    assert not path.exists()


def test_explain_compares_two_on_one_page(tmp_path):
    path = tmp_path / "both.html"
    words = ("explain", "ring", "two_tree", "5", "-o", str(path))
    assert bench(*words).exit_code == 0
    assert "<title>ring and two_tree on 5 ranks</title>" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("ring", "-n", "33"), "-n 33: a.*32 ranks.*txt file"),
        (("ring", "tree", "pat", "-n", "4"), "explain takes.*found 3"),
        (("-n", "4"), "explain takes.*found 0"),
        (("ring", "-n", "4", "--count", "0"), "--count 0"),
    ],
)
def test_pages_that_cannot_be_made_are_refused_in_one_sentence(tmp_path, words, sentence):
    path = tmp_path / "page.html"
    assert re.search(sentence, refused("explain", *words, "-o", str(path)))
    assert not path.exists()


def test_a_comparison_is_a_page_or_a_text(tmp_path):
    assert "name an .html file" in refused("explain", "ring", "tree", "-o", str(tmp_path / "both.svg"))
    times = refused("explain", "ring", "--run", str(ROOT / "docs" / "example"), "-o", str(tmp_path / "ring.svg"))
    assert "no times" in times
    assert bench("explain", "ring", "tree").stdout.count("round 1\n") == 2


def test_explain_understands_a_number_and_adds_what_a_run_measured():
    assert bench("explain", "ring", "4").stdout == bench("explain", "ring", "-n", "4").stdout
    text = bench("explain", "ring", "--run", str(ROOT / "docs" / "example")).stdout
    assert "ring on 4 ranks" in text and re.search(r"on 4 ranks: medians of the launches\n +size +native", text)
