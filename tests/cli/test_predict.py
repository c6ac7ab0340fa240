"""`predict` as people type it: what it prints, from prices and from a machine file; errors in one line."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from made_runs import build_run

from allreduce_bench.algorithms import builtin
from allreduce_bench.cli import main
from allreduce_bench.models.forms import Form
from allreduce_bench.models.machine import Machine, write_machine
from allreduce_bench.models.model import Model, ModelPart, Parameter
from allreduce_bench.report.forecast import COLUMNS

MONDAY = "monday, float32 sum, warm cache"  # the run that a machine was fitted to

PRICES = ("--alpha", "5us", "--bandwidth", "100Gbit")


def bench(*words: str) -> Result:
    """Run the command line; what is no SystemExit is a bug and must not be hidden."""
    result = CliRunner().invoke(main, ["predict", *words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def printed(*words: str) -> str:
    result = bench(*words)
    assert result.exit_code == 0 and not result.stderr, result.output
    return result.stdout


def refused(*words: str) -> str:
    """The one line that a bad use of the program gets, at exit status 2."""
    result = bench(*words)
    assert result.exit_code == 2 and not result.stdout, result.output
    assert re.fullmatch(r"error: [^\n]+\n", result.stderr), result.stderr
    return result.stderr


def model(name: str, alpha_s: float, beta: float, **more) -> Model:
    found = [Parameter("alpha_s", "", 0.0, alpha_s, None, None, True)]
    found.append(Parameter("beta_s_per_byte", "", 0.0, beta, None, None, True))
    where = {"run": "monday", "dtype": "float32", "op": "sum", "itemsize": 4}
    measured = {"ranks": (2, 4, 8), "size_bytes": (64, 1 << 20), "reach_log": 0.1, "reach_log_per_doubling": 0.05}
    return Model(name, (ModelPart(name, Form(), tuple(found)),), **{**where, **measured, **more})


@pytest.fixture
def machine(tmp_path):
    """The path of a machine file with a ring and a tree."""
    models = (model("ring", 1e-6, 1e-10), model("two_tree", 2e-6, 1e-10, segment=4096))
    write_machine(Machine(models, "0.1.0", "today", ({"run": "monday"},)), tmp_path / "machine.json")
    return str(tmp_path / "machine.json")


NINE = (
    *("hierarchical_ring", "naive", "parameter_server", "parameter_server_sharded", "rabenseifner"),
    *("recursive_doubling", "ring", "tree", "two_tree"),
)


def test_all_algorithms_are_predicted_unless_some_are_named():
    _, _, _, *lines = printed("-n", "8", "--sizes", "8", *PRICES).splitlines()
    (row,) = [line.split() for line in lines if line.lstrip().startswith("8 B")]
    assert len([word for word in row if word != "*"]) == 2 + len(builtin()) + 3


def test_a_table_says_what_it_is_and_who_is_fastest():
    text = printed("-n", "24576", "--sizes", "8,64M", "-a", ",".join(NINE), *PRICES)
    title, *_ = lines = text.splitlines()
    assert "model prediction" in title and "measured: alpha 5.00 us per message, 100 Gbit/s" in title
    small, large = (next(line for line in lines if line.startswith(size)) for size in ("   8 B", "64 MiB"))
    times = dict(zip(NINE, (word for word in small.split()[2:] if word != "*")))
    assert (times["ring"], times["tree"], times["two_tree"]) == ("245754", "270", "270")
    assert "80.0 *" in small and small.split()[-3:] == ["recursive_doubling", "75.0", "0.00128"]
    assert large.split()[2:4] == ["256488", "132058902"] and large.split()[-4:-2] == ["*", "two_tree"]
    assert len(small.split()) == 2 + len(NINE) + 1 + 3
    assert "two_tree overtakes rabenseifner above 7.11 MiB on 24576 ranks\n" in text
    assert " ranks at " not in text  # of other numbers of ranks nobody asked
    wider = printed("-n", "2,24576", "--sizes", "8,64M", "-a", ",".join(NINE), *PRICES)
    aside = "two aside"
    assert re.search(rf"^two_tree overtakes ring above 23\d ranks at 64 MiB.*{aside}.*$", wider, re.MULTILINE)
    assert "tree and two_tree" in text and "best segment" in text


def test_the_best_segment_brings_the_crossing_of_the_notes():
    text = printed("-n", "2,24576", "--sizes", "8,64M", "--segment", "best", "-a", "ring,two_tree", *PRICES)
    (ranks,) = re.findall(r"two_tree overtakes ring above (\d+) ranks at 64 MiB", text)
    assert 230 <= int(ranks) <= 250
    assert "best segment" in text


def test_prices_may_be_said_in_several_ways():
    ways = [
        ("--alpha", "5us", "--bandwidth", "12.5GB/s"),
        ("--alpha", "5e-6", "--beta", "8e-11"),
        ("--alpha", "0.005ms", "--beta", "0.08ns"),
    ]
    texts = {printed("-n", "16", *way) for way in (PRICES, *ways)}
    assert len(texts) == 1
    reduced = printed("-n", "16", "--gamma", "1e-9", *PRICES)
    assert reduced not in texts and "reductions at 1 GB/s" in reduced


def test_nodes_have_prices_of_their_own():
    within = ("--alpha-within", "2us", "--bandwidth-within", "100GB/s", "--ranks-per-node", "8")
    text = printed("-n", "8,24576", "--sizes", "1K", "-a", "hierarchical_ring,ring", *PRICES, *within)
    assert "8 ranks on 1 node\n" in text and "24576 ranks on 3072 nodes\n" in text
    assert re.search(r" 30739 \*", text)
    assert "model prediction" in text


def test_the_map_of_winners():
    lines = printed("-n", "2-5", "--sizes", "8,64M", "--map", "-a", "ring,recursive_doubling", *PRICES).splitlines()
    table = [line.split() for line in lines[3:8]]
    assert table[0] == ["ranks", "8", "B", "64", "MiB"]
    assert table[1:] == [
        ["2", "recursive_doubling", "recursive_doubling"],
        ["3", "recursive_doubling", "ring"],
        ["4", "recursive_doubling", "ring"],
        ["5", "recursive_doubling", "ring"],
    ]


def test_a_machine_file_gives_intervals_and_marks_what_is_far(machine):
    text = printed(machine, "-n", "4,64", "--sizes", "64,1M,16M")
    assert f"not measured: {machine}, fitted to monday\n{MONDAY}\n" in text
    near, far = text.split("\n64 ranks\n")
    assert re.search(r"64 B +6\.01 \* +12\.0 +ring +5\.44 to 6\.64 ", near) and "?" not in near.split("4 ranks\n")[1]
    assert re.search(r"64 B +126 \? +\S+ \*\? +two_tree ", far)
    above = "64 ranks are more than 2 times the largest measured rank count"
    assert f"speculative: {above} (8)" in text
    assert "sizes above 1 MiB were not" in text and "sizes below" not in text
    assert re.search(
        r"two_tree overtakes ring above \d+ ranks \(order open from \d+ to \d+\) at 64 B( \(speculative\))?\n", text
    )
    assert "two_tree: segments of 16 KiB" in text


def test_sizes_beyond_the_measured_ones_are_marked_or_have_no_time(machine):
    """Measured were 64 B to 1 MiB."""
    words = (machine, "-n", "4", "--sizes", "1M,4M,16M")
    text = printed(*words)
    within, near, far = (next(line for line in text.splitlines() if f"{size} MiB  " in line) for size in (1, 4, 16))
    assert "?" not in within and near.count("?") == 2 and far.split()[2] == "-"
    reason = "ring: no time beyond 4 times the measured sizes (64 B to 1 MiB) unless --extrapolate is given"
    assert text.count(reason) == 1
    rows = json.loads(printed(*words, "-a", "ring", "--format", "json"))["rows"]
    assert [(row["size_factor"], row["speculative"], bool(row["cannot"])) for row in rows] == [
        (1, False, False), (4, True, False), (None, None, True),
    ]  # fmt: skip
    assert "?" in next(line for line in printed(*words, "--extrapolate").splitlines() if "16 MiB  " in line)


def test_csv_has_a_row_for_every_cell(machine):
    rows = list(csv.DictReader(io.StringIO(printed(machine, "-n", "4,17", "--sizes", "64,1M", "--format", "csv"))))
    assert list(rows[0]) == list(COLUMNS) and len(rows) == 8
    first = rows[0]
    assert (first["group"], first["competitor"]) == ("monday, float32 sum, warm cache", "ring")
    assert float(first["time_s"]) == pytest.approx(6 * (1e-6 + 16e-10)) and first["segment_nbytes"] == ""
    assert float(first["low_s"]) < float(first["time_s"]) < float(first["high_s"])
    assert {(row["ranks"], row["speculative"]) for row in rows} == {("4", "0"), ("17", "1")}
    assert [sum(int(row[mark]) for row in rows) for mark in ("fastest", "equal")] == [3, 2]


def test_json_holds_rows_and_crossings(machine, tmp_path):
    path = tmp_path / "times.json"
    assert printed(machine, "-n", "2-64", "--sizes", "64,1M", "-o", str(path)) == ""
    content = json.loads(path.read_text())
    assert list(content) == ["schema", "measured", "source", "fit", "rows", "crossings"]
    assert content["measured"] is False and len(content["rows"]) == 63 * 2 * 2
    assert list(content["rows"][0]) == list(COLUMNS)
    assert any(one["sentence"].startswith("two_tree overtakes ring above ") for one in content["crossings"])
    assert printed(machine, "-n", "2-64", "--sizes", "64,1M", "--format", "json") == path.read_text()


@pytest.mark.parametrize("suffix, form", [("csv", "csv"), ("txt", "table")])
def test_a_file_is_what_would_be_printed(tmp_path, suffix, form):
    path = tmp_path / f"times.{suffix}"
    assert printed("-n", "4", *PRICES, "-o", str(path)) == ""
    assert path.read_text() == printed("-n", "4", *PRICES, "--format", form)


BAD = {
    "predict needs rank counts, such as -n 1024": PRICES,
    "-n 1: expected 2 ranks or more": ("-n", "1-4", *PRICES),
    "-n 1000000: expected at most 262144 ranks": ("-n", "1000000", *PRICES),
    "--sizes: 0 bytes; expected 1 B to 1 PiB": ("-n", "4", "--sizes", "0,8", *PRICES),
    "--sizes: 1152921504606846976 bytes; expected 1 B": ("-n", "4", "--sizes", "8,1073741824G", *PRICES),
    "needs a machine file that 'fit' wrote, or --alpha 5us --bandwidth": ("-n", "4"),
    "or --alpha 5us --bandwidth 100Gbit (or --beta)": ("-n", "4", "--alpha", "5us"),
    "--alpha 5: 5 s, more than 1 s; is the unit missing": ("-n", "4", "--alpha", "5", "--bandwidth", "100Gbit"),
    "--gamma 3: 3 s, more than 0.001 s; is the unit missing, as in 1ns": ("-n", "4", *PRICES, "--gamma", "3"),
    "--beta and --bandwidth have the same meaning": ("-n", "4", *PRICES, "--beta", "8e-11"),
    "--beta-within and --bandwidth-within have the same meaning": (
        *("-n", "4", *PRICES, "--beta-within", "8e-11", "--bandwidth-within", "1GB/s"),
    ),
    "costs within a node need --ranks-per-node": ("-n", "4", *PRICES, "--alpha-within", "1us"),
    "--ranks-per-node 5: more than the 4 ranks in total": ("-n", "4", "--ranks-per-node", "5", *PRICES),
    "--segment: 'x' is not a size": ("-n", "4", "--segment", "x", *PRICES),
    "--segment 0: a segment holds at least one element": ("-n", "4", "--segment", "0", *PRICES),
    "--map is a table; leave out --format csv": ("-n", "4", "--map", "--format", "csv", *PRICES),
    "expected a name that ends in .csv, .json, .txt": ("-n", "4", "-o", "x.png", *PRICES),
    "the name means csv, but --format json was requested": ("-n", "4", "-o", "x.csv", "--format", "json", *PRICES),
    "/nowhere/x.csv: no such file": ("-n", "4", "-o", "/nowhere/x.csv", *PRICES),
    "contains the costs of messages; leave out --alpha, or the file": ("machine.json", "-n", "4", "--alpha", "5us"),
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input_is_refused_in_a_sentence(words):
    assert words in refused(*BAD[words])


def test_what_fit_said_of_its_models_stands_below_their_predictions(tmp_path):
    crowded = "4 ranks are oversubscribed"
    models = (model("ring", 1e-6, 1e-10, notes=(crowded,)), model("two_tree", 2e-6, 1e-10, notes=(crowded, "off")))
    path = tmp_path / "machine.json"
    write_machine(Machine(models, notes=("not fitted: native: one point",)), path)
    said = [f"ring, two_tree: {crowded}", "two_tree: off", "not fitted: native: one point"]
    words = [str(path), "-n", "8", "--sizes", "8"]
    for more in ([], ["--map"]):
        assert printed(*words, *more).splitlines()[-3:] == [f"fit: {note}" for note in said]
    assert json.loads(printed(*words, "--format", "json"))["fit"] == said
    assert printed(*words, "-a", "ring").splitlines()[-2:] == [f"fit: ring: {crowded}", f"fit: {said[-1]}"]


def test_the_ranks_of_a_node_share_its_port_unless_another_rate_is_given():
    words = ("-n", "512", "--ranks-per-node", "4", "--sizes", "540459K", "--alpha", "5us", "--bandwidth", "25Gbit")
    within = ("--alpha-within", "1us", "--bandwidth-within", "200GB/s")
    least_us = 2 * 127 / 128 * 540459 * 1024 / 3.125e9 * 1e6
    text = printed(*words, *within)
    assert "the 4 ranks of a node share its port of 25 Gbit/s (one port" in text and "limited" in text
    rows = json.loads(printed(*words, *within, "--format", "json"))["rows"]
    assert min(row["time_s"] for row in rows) * 1e6 >= least_us
    assert all(row["bandwidth_bound_s"] * 1e6 == pytest.approx(least_us) for row in rows)
    assert {row["competitor"]: row["limit"] for row in rows}["hierarchical_ring"] == "port"
    wider = json.loads(printed(*words, *within, "--nic-bandwidth", "100Gbit", "--format", "json"))["rows"]
    assert min(row["time_s"] for row in wider) * 1e6 < least_us / 3


def test_what_is_not_identified_is_marked_and_never_the_fastest(tmp_path):
    unknown = model("native", 0.0, 0.0, size_bytes=(8, 1 << 20))
    found = (
        Parameter("call_s", "", 0.0, 9.233e-3, 9e-3, 9.4e-3, True),
        Parameter("alpha_s", "", 0.0, 0.0, None, 1e-4, False),
        Parameter("beta_s_per_byte", "", 0.0, 0.0, None, 1e-8, False),
    )
    flat = replace(unknown, parts=(ModelPart("rabenseifner", Form(call=True), found),), grade="not reliable")
    path = tmp_path / "machine.json"
    write_machine(Machine((flat, model("ring", 5e-6, 4e-9))), path)
    text = printed(str(path), "-n", "4", "--sizes", "8,16M", "--extrapolate")
    assert "fitted times: not reliable" in text and "native: beta not identified" in text
    small, large = (next(line for line in text.splitlines() if line.startswith(size)) for size in ("   8 B", "16 MiB"))
    assert small.split()[2:6] == ["9233", "~", "30.1", "*?"]
    assert large.split()[2] == "-" and "*" not in large and "native: beta not identified" in text
    rows = json.loads(printed(str(path), "-n", "4", "--sizes", "8,16M", "--extrapolate", "--format", "json"))["rows"]
    assert [row["fastest"] for row in rows] == [False, True, False, False]
    assert [row["grade"] for row in rows] == ["not reliable", "unknown"] * 2
    assert rows[2]["time_s"] is None and rows[2]["limit"] == "bandwidth"
    only = printed(str(path), "-n", "4", "--sizes", "8,64", "-a", "native,ring", "--map")
    assert "ring" in only and "overtake another" in only
    assert "tell the fastest" in printed(str(path), "-n", "4", "--sizes", "16M,64M")


def test_without_a_file_it_takes_that_of_the_newest_run_which_fit_wrote(tmp_path):
    asked = ["predict", "-n", "8", "--sizes", "64K"]
    assert "--alpha 5us" in CliRunner().invoke(main, asked).stderr
    build_run(tmp_path / "results" / "one", sizes=(8, 65536, 262144, 1 << 20))
    path = Path("results") / "one" / "machine.json"
    refused = CliRunner().invoke(main, asked)
    assert refused.exit_code == 2 and f"error: {path}" in refused.stderr and f"{path.parent} first" in refused.stderr
    assert CliRunner().invoke(main, ["fit"]).exit_code == 0 and path.exists()
    taken = CliRunner().invoke(main, asked)
    assert taken.exit_code == 0 and f"newest run: {path}" in taken.stderr
    assert taken.stdout == CliRunner().invoke(main, ["predict", str(path), *asked[1:]]).stdout
