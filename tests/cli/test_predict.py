"""`predict` as people type it: what it prints, from prices and from a machine file; errors in one line."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hand_models import hand_model
from made_runs import build_run

from allreduce_bench.algorithms import builtin
from allreduce_bench.cli import main
from allreduce_bench.models.intervals import HeldOut
from allreduce_bench.models.machine import Machine, write_machine
from allreduce_bench.models.model import Model
from allreduce_bench.report.forecast import COLUMNS

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
    where = {"run": "monday", "held_out": None, **more}
    return hand_model(name, (2, 4, 8), prices=(alpha_s, beta), sizes=(64, 4096, 1 << 20), **where)


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


def test_five_algorithms_are_predicted_unless_others_are_named():
    lines = printed("-n", "8,64", "--sizes", "8,64M", *PRICES).splitlines()
    head = [*lines[3].split(), *lines[4].split()]
    assert {"ring", "tree", "two_tree", "doubling", "rabenseifner"} <= {*head} and "naive" not in head
    assert sum("*" in line for line in lines) == 4 and "fastest on 64 ranks: recursive_doubling at 8 B" in "\n".join(
        lines
    )
    (row,) = csv.DictReader(io.StringIO(printed("-n", "8", "--sizes", "8", "-a", "ring", *PRICES, "--format", "csv")))
    everything = printed("-n", "8", "--sizes", "8", "-a", "all", *PRICES, "--format", "csv")
    assert row["competitor"] == "ring" and everything.count("\n") == 1 + len(builtin())


def test_a_table_says_what_it_is_and_who_is_fastest():
    words = ("-n", "24576", "--sizes", "8,64M", "-a", ",".join(NINE), *PRICES)
    text = printed(*words)
    title, *_ = lines = text.splitlines()
    assert title == "allreduce, predicted: alpha 5.00 us per message, 100 Gbit/s; reductions without cost"
    small, large = (next(line for line in lines if f" {size} " in line) for size in ("8 B", "64 MiB"))
    times = dict(zip(NINE, (word for word in small.split()[3:] if word != "*")))
    assert (times["ring"], times["tree"], times["two_tree"]) == ("245754", "270", "270")
    assert "80.0 *" in small and small.split()[-1] == "recursive_doubling" and large.split()[-1] == "two_tree"
    assert "overtakes" not in text and "bounds" not in text
    told = printed(*words, "-v")
    assert told.startswith(text.rstrip()) and "two_tree overtakes rabenseifner above 7.11 MiB on 24576 ranks\n" in told
    assert " ranks at " not in told  # of other numbers of ranks nobody asked
    assert "tree, two_tree: the best segment" in told and "bounds: one-port" in told
    wider = printed("-n", "2,24576", "--sizes", "8,64M", "-a", ",".join(NINE), "-v", *PRICES)
    assert re.search(r"^two_tree overtakes ring above 23\d ranks at 64 MiB.*two aside.*$", wider, re.MULTILINE)


def test_a_reduction_has_a_price_if_one_is_given():
    reduced = printed("-n", "16", "--gamma", "1e-9", *PRICES)
    assert reduced != printed("-n", "16", *PRICES) and "reductions at 1 GB/s" in reduced


def test_nodes_have_prices_of_their_own():
    within = ("--alpha-within", "2us", "--bandwidth-within", "100GB/s", "--ranks-per-node", "8")
    text = printed("-n", "8,24576", "--sizes", "1K", "-a", "hierarchical_ring,ring", *PRICES, *within)
    assert re.search(r"24576 +1 KiB .* 30739 \*", text)


def test_the_map_of_winners():
    lines = printed("-n", "2-5", "--sizes", "8,64M", "--map", "-a", "ring,recursive_doubling", *PRICES).splitlines()
    table = [line.split() for line in lines[4:9]]
    assert table[0] == ["ranks", "8", "B", "64", "MiB"]
    assert table[1:] == [
        ["2", "recursive_doubling", "recursive_doubling"],
        ["3", "recursive_doubling", "ring"],
        ["4", "recursive_doubling", "ring"],
        ["5", "recursive_doubling", "ring"],
    ]


def test_a_machine_file_answers_first_and_says_the_rest_if_asked(machine):
    words = (machine, "-n", "4,16", "--sizes", "64,1M")
    text = printed(*words)
    assert text.startswith(f"allreduce, predicted: {machine}, fitted to monday\nmonday, float32 sum")
    four, sixteen = (next(line for line in text.splitlines() if re.match(rf" +{ranks} ", line)) for ranks in (4, 16))
    assert re.search(r"64 B +6\.01 \* +\S+ +ring +measured$", four)
    assert re.search(r"64 B +30\.0 \* +\S+ +ring +16\.7 to 54\.[01]$", sixteen)
    assert "fastest on 16 ranks: ring at 64 B" in text and "how far off these models are is not known" in text
    assert "bounds" not in text and "bounds" in printed(*words, "-v") and "segments of 16 KiB" in printed(*words, "-v")


def test_too_far_from_what_was_measured_there_is_no_time_unless_asked_for(machine):
    """Measured were 2 to 8 ranks and 64 B to 1 MiB."""
    words = (machine, "-n", "4,65", "--sizes", "1M,16M", "-a", "ring")
    rows = json.loads(printed(*words, "--format", "json"))["rows"]
    assert [(row["is_measured"], bool(row["cannot"])) for row in rows] == [(True, False), *[(False, True)] * 3]
    text = printed(*words)
    assert text.count("no time beyond 4 times the measured sizes (64 B to 1 MiB), unless --extrapolate") == 1
    assert text.count("no time beyond 8 times the measured ranks (2 to 8), unless --extrapolate") == 1
    asked = printed(*words, "--extrapolate")
    assert asked.count("*?") == 3 and "speculative" in asked


def test_other_links_take_the_fitted_alpha_and_another_beta(machine):
    words = (machine, "-n", "8", "--sizes", "64,1M", "-a", "ring", "--format", "json")
    slow, fast = (json.loads(printed(*words, "--bandwidth", rate))["rows"] for rate in ("1GB/s", "100GB/s"))
    (short, long) = ([rows[place]["time_s"] for rows in (slow, fast)] for place in (0, 1))
    assert short[0] == pytest.approx(short[1], rel=0.02) and long[0] > 10 * long[1]
    assert long[0] == pytest.approx(14 * (1e-6 + (1 << 17) * 1e-9))
    assert "with links of 8 Gbit/s" in printed(*words[:-2], "--bandwidth", "1GB/s")
    both = printed(*words[:-2], "--bandwidth", "10Gbit,25Gbit")
    assert "10 Gbit/s" in both and "25 Gbit/s" in both and "-" in both


def test_csv_has_a_row_for_every_cell(machine):
    rows = list(csv.DictReader(io.StringIO(printed(machine, "-n", "4,17", "--sizes", "64,1M", "--format", "csv"))))
    assert list(rows[0]) == list(COLUMNS) and len(rows) == 8
    first, other = rows[0], rows[4]
    assert (first["group"], first["competitor"], first["is_measured"]) == ("monday, float32 sum", "ring", "1")
    assert float(first["time_s"]) == pytest.approx(6 * (1e-6 + 16e-10)) and first["segment_nbytes"] == ""
    assert float(other["low_s"]) < float(other["time_s"]) < float(other["high_s"]) and first["low_s"] == ""
    assert sum(int(row["fastest"]) for row in rows) == 4


def test_json_holds_rows_and_crossings():
    words = ("-n", "2-64", "--sizes", "64,1M", "-a", "ring,two_tree", *PRICES)
    content = json.loads(printed(*words, "--format", "json"))
    assert list(content) == ["schema", "source", "fit", "rows", "crossings"]
    assert len(content["rows"]) == 63 * 2 * 2 and list(content["rows"][0]) == list(COLUMNS)
    assert any(one["sentence"].startswith("two_tree overtakes ring above ") for one in content["crossings"])


BAD = {
    "predict needs rank counts, such as -n 1024": PRICES,
    "-n 1: expected 2 ranks or more": ("-n", "1-4", *PRICES),
    "-n 1000000: expected at most 262144 ranks": ("-n", "1000000", *PRICES),
    "--sizes: 0 bytes; expected 1 B to 1 PiB": ("-n", "4", "--sizes", "0,8", *PRICES),
    "needs a machine file that 'fit' wrote, or --alpha 5us --bandwidth": ("-n", "4"),
    "or --alpha 5us --bandwidth 100Gbit": ("-n", "4", "--alpha", "5us"),
    "--alpha 5: 5 s, more than 1 s; is the unit missing": ("-n", "4", "--alpha", "5", "--bandwidth", "100Gbit"),
    "--gamma 3: 3 s, more than 0.001 s; is the unit missing, as in 1ns": ("-n", "4", *PRICES, "--gamma", "3"),
    "costs within a node need --ranks-per-node": ("-n", "4", *PRICES, "--alpha-within", "1us"),
    "--ranks-per-node 5: more than the 4 ranks in total": ("-n", "4", "--ranks-per-node", "5", *PRICES),
    "--segment: 'x' is not a size": ("-n", "4", "--segment", "x", *PRICES),
    "--segment 0: a segment holds at least one element": ("-n", "4", "--segment", "0", *PRICES),
    "--map is a table; leave out --format csv": ("-n", "4", "--map", "--format", "csv", *PRICES),
    "contains the costs of messages; leave out --alpha, or the file": ("machine.json", "-n", "4", "--alpha", "5us"),
    "its beta holds the reduction; --gamma needs --bandwidth": ("machine.json", "-n", "4", "--gamma", "1ns"),
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
    for more in (["-v"], ["-v", "--map"]):
        assert printed(*words, *more).splitlines()[-3:] == [f"fit: {note}" for note in said]
    assert json.loads(printed(*words, "--format", "json"))["fit"] == said
    assert printed(*words, "-v", "-a", "ring").splitlines()[-2:] == [f"fit: ring: {crowded}", f"fit: {said[-1]}"]


def test_the_ranks_of_a_node_share_its_port_unless_another_rate_is_given():
    words = ("-n", "512", "--ranks-per-node", "4", "--sizes", "540459K", "--alpha", "5us", "--bandwidth", "25Gbit")
    within = ("--alpha-within", "1us", "--bandwidth-within", "200GB/s")
    least_us = 2 * 127 / 128 * 540459 * 1024 / 3.125e9 * 1e6
    text = printed(*words, *within, "-v")
    assert "the 4 ranks of a node share its port of 25 Gbit/s (one port" in text and "by the port of a node" in text
    within = (*within, "-a", "all")
    rows = json.loads(printed(*words, *within, "--format", "json"))["rows"]
    assert min(row["time_s"] for row in rows) * 1e6 >= least_us
    assert all(row["bandwidth_bound_s"] * 1e6 == pytest.approx(least_us) for row in rows)
    assert {row["competitor"]: row["limit"] for row in rows}["hierarchical_ring"] == "port"
    wider = json.loads(printed(*words, *within, "--nic-bandwidth", "100Gbit", "--format", "json"))["rows"]
    assert min(row["time_s"] for row in wider) * 1e6 < least_us / 3


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
    (text, both) = (["--bandwidth", rates] for rates in ("25Gbit", "10Gbit,25Gbit"))
    linked = CliRunner().invoke(main, [*asked, *text])
    assert f"newest run: {path}" in linked.stderr and "one node" in linked.stderr
    assert "one node" not in taken.stderr and f"{path}, fitted to {path.parent.name}" in linked.stdout
    assert "with links of 25 Gbit/s" in linked.stdout and not CliRunner().invoke(main, [*asked, *both]).exit_code
    build_run(tmp_path / "results" / "another")
    refused = CliRunner().invoke(main, [*asked, *text])
    assert refused.exit_code == 2 and f"fit {path.parents[1] / 'another'} first, or name {path}" in refused.stderr


def test_a_run_stands_for_its_machine_file(machine):
    folder = Path(machine).parent
    words = ("-n", "4", "--sizes", "64")
    assert printed(str(folder), *words) == printed(machine, *words)
    (folder / "machine.json").rename(folder / "machines.json")
    assert "a folder, but no run; expected a machine file" in refused(str(folder), *words)
    assert "did you mean machines.json?" in refused(machine, *words)
    build_run(folder / "run", sizes=(8,), ranks=(2,), launches=1)
    assert f"run allreduce-bench fit {folder / 'run'} first" in refused(str(folder / "run"), *words)


def test_how_well_the_models_did_is_one_line(tmp_path):
    path = tmp_path / "machine.json"
    write_machine(Machine((model("ring", 1e-6, 1e-10, held_out=HeldOut(0.04, 0.18, 9)),)), path)
    text = printed(str(path), "-n", "16", "--sizes", "64")
    assert text.splitlines()[-1] == "off at the largest number of ranks, left out: ring 4% (P90 18%)"
