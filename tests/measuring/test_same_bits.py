"""`run --check bits` over a real MPI: promises and measurements agree, and where they do not, that is an error."""

import csv
import re
import subprocess
from pathlib import Path

import pytest
from interpreters import FULL, in_turn, interpreters

from allreduce_bench.algorithms import builtin
from allreduce_bench.evaluation.agreement import BETWEEN, BUG
from allreduce_bench.report.page import write_report
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.proofs import same_at_any_length

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")

HEAD = """
import sys
from allreduce_bench.algorithms import Cost, algorithm
from allreduce_bench.schedule import Step
declared = dict(cost=lambda size, topology, count, segment: Cost(size, size * count, size * count), exact=False)
"""
DIRECT = '''
@algorithm(formula="?", **declared)
def direct(rank, size, topology, count, segment):
    """Everybody sends to everybody; each adds the others in the order of their distance."""
    whole = (range(count),)
    for distance in range(1, size):
        yield Step((rank - distance) % size, whole, (rank + distance) % size, whole, reduce=True, original=True)
'''


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


@pytest.fixture
def run(run_on_ranks):
    """A run of one call a cell into a folder."""

    def measure(folder: Path, *words: object, check: str = "bits", **by: str) -> subprocess.CompletedProcess:
        quick = ["--iters", 1, "--warmups", 0, "--no-reference-times", "--check", check, "--seed", 5, "-o", folder]
        return run_on_ranks(*words, *quick, **by)

    return measure


def rows_of(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    "dtype", ["float32", *(pytest.param(dtype, marks=pytest.mark.slow) for dtype in ("float64", "float16", "bfloat16"))]
)
def test_what_a_schedule_promises_is_measured(python, run, tmp_path, dtype):
    in_turn(["float32", "float64", "float16", "bfloat16"].index(dtype) // 2, python)
    mine, folder = tmp_path / "mine.py", tmp_path / "run"
    mine.write_text(HEAD + DIRECT)
    numbers = (1, 2, 3, 4, 5, 8) if FULL else (1, 3, 8) if dtype == "float32" else (2, 5)
    words = ["-n", ",".join(map(str, numbers)), "-a", f"native,ring,tree,naive,{mine}"]
    words += ["--sizes", "0,8,4000", "--launches", 1]
    result = run(folder, "-d", dtype, *words)
    assert result.returncode == 0, result.stderr
    rows = rows_of(folder / "summary.csv")
    done = [row for row in rows if row["state"] == "done"]
    assert len(rows) == len(numbers) * 5 * 3 and all(row in done or row["competitor"] == "native" for row in rows)
    assert all(row["same_bits_calls"] == "1" and row["wrong"] == "0" for row in done if row["competitor"] != "native")
    for row in done:
        ranks, name, size_bytes = int(row["ranks"]), row["competitor"], int(row["size_bytes"])
        long, depth = size_bytes > 1000, int(row["promised_depth"] or 0)
        if name == "native":
            assert row["promised_same_bits"] == row["promised_rank_order"] == row["promised_depth"] == ""
        elif name in ("direct", "naive"):
            same = size_bytes == 0 or ranks < 3
            assert row["promised_same_bits"] == str(int(same)) and depth == (ranks - 1 if size_bytes else 0)
            assert row["same_bits"] == ("1" if same else "0") or not long  # two elements may agree by chance
        else:
            assert row["promised_same_bits"] == row["same_bits"] == "1" and len(row["bits"]) == 16
            assert (ranks - 1).bit_length() <= depth <= ranks - 1 or size_bytes == 0
    assert f"direct differs between {BETWEEN['same_bits']} at" in result.stdout


@pytest.mark.slow
def test_launches_and_algorithms_are_compared(python, run, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    names = ["parameter_server", "parameter_server_sharded", "ring", "tree"]
    result = run(folder, "-n", 4, "-a", ",".join(names), "--sizes", "4K,8K", "--launches", 2)
    assert result.returncode == 0, result.stderr
    shorter, rows = (
        {row["competitor"]: row for row in rows_of(folder / "summary.csv") if row["size_bytes"] == size_bytes}
        for size_bytes in ("4096", "8192")
    )
    for name in names:
        derived = same_at_any_length(builtin()[name], 4, Topology.one_node(4), (1024, 2048))
        assert (shorter[name]["same_bits_lengths"], rows[name]["same_bits_lengths"]) == ("", str(int(derived)))
    assert "vector: parameter_server, tree" in result.stdout
    assert "vector: parameter_server_sharded, ring" in result.stdout
    assert all(row["same_bits_launches"] == "1" and row["bits"] for row in rows.values())
    assert rows["ring"]["bits"] != rows["tree"]["bits"] != rows["parameter_server"]["bits"] != rows["ring"]["bits"]
    assert "equal on all {}, {} and {}".format(*BETWEEN.values()) in result.stdout


@pytest.mark.parametrize("op", ["avg", *(pytest.param(op, marks=pytest.mark.slow) for op in ("max", "prod"))])
def test_other_operations_are_compared_with_what_is_exact_for_them(python, run, tmp_path, op):
    in_turn(["avg", "max", "prod"].index(op), python)
    folder = tmp_path / "run"
    result = run(folder, "-n", 3, "-a", "ring,naive", "--sizes", "8K", "--launches", 1, "--op", op)
    assert result.returncode == 0, result.stderr
    rows = {row["competitor"]: row for row in rows_of(folder / "summary.csv")}
    assert all(row["bits"] or row["same_bits"] == "0" for row in rows.values())
    assert rows["naive"]["same_bits"] == ("1" if op == "max" else "0")


def test_integers_have_nothing_to_compare_and_the_run_says_why(python, run, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    result = run(folder, "-n", 2, "-a", "ring", "--sizes", "64", "--launches", 1, "-d", "int32")
    assert result.returncode == 0, result.stderr
    assert "bits: int32 reductions" in result.stdout
    (row,) = rows_of(folder / "summary.csv")
    assert row["same_bits"] == row["same_bits_calls"] == row["bits"] == ""
    assert row["promised_same_bits"] == "1" and row["promised_depth"] == "1"


def test_without_it_calls_are_not_repeated_and_nothing_is_said(python, run, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    result = run(folder, "-n", 2, "-a", "ring", "--sizes", "64", "--launches", 1, check="exact")
    assert result.returncode == 0 and "bits: " not in result.stdout
    (row,) = rows_of(folder / "summary.csv")
    assert row["same_bits"] == "1" and row["same_bits_calls"] == ""


@pytest.mark.parametrize(
    "fault, column, broken",
    [("on_one_rank", "same_bits", "schedule guarantees"), ("in_one_call", "same_bits_calls", "repeated calls")],
)
def test_a_broken_promise_is_a_failed_check(python, run, tmp_path, fault, column, broken):
    in_turn(column == "same_bits", python)
    folder = tmp_path / "run"
    words = ["-n", 2, "-a", "recursive_doubling", "--sizes", "4K", "--launches", 1]
    result = run(folder, *words, by=f"broken_bits.{fault}")
    assert result.returncode == 1
    assert "determines them: recursive_doubling" in result.stderr and "Traceback" not in result.stderr
    assert re.search(f"BROKEN PROMISE: recursive_doubling at .*{broken}.*{re.escape(BUG)}", result.stdout)
    (row,) = rows_of(folder / "summary.csv")
    assert row["state"] == "done" and row[column] == "0" and row["bits"] == "" and float(row["time_s"]) > 0
    if FULL or column == "same_bits":
        page = write_report([RunFolder(folder)], tmp_path / "page.html")
        assert "BROKEN PROMISE: recursive_doubling" in page.read_text()
