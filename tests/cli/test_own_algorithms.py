"""Algorithms of users that are no all-reduce are refused before a rank is started."""

import re
import time

import pytest
from click.testing import CliRunner

from allreduce_bench.cli import main, own_algorithms, work_limit
from allreduce_bench.cli.own_algorithms import refuse_own_algorithms
from allreduce_bench.cli.plan_of_options import algorithm_fields
from allreduce_bench.cli.types import OneLineError
from allreduce_bench.launching.launcher import Launcher
from allreduce_bench.runs.plan import Plan
from allreduce_bench.runs.start import Start

LAUNCHER = Launcher("mpirun", "Open MPI 5.0.11", "openmpi")
MINE = """from allreduce_bench.algorithms import Cost, algorithm, find
@algorithm(cost=lambda size, topology, count, segment: Cost(1, count, count), exact=False, formula="?")
def mine(rank, size, topology, count, segment):
    steps = list(find(["ring"])["ring"].generate(rank, size, topology, count, segment))
    {act}
    yield from steps
"""


@pytest.fixture
def plan(tmp_path):
    """`plan(act, ...)`: of a ring of a user's that does so with its steps."""

    def planned(act: str, ranks=(2, 3), **fields) -> Plan:
        (tmp_path / "mine.py").write_text(MINE.format(act=act))
        return Plan(sizes=(8, 1024), ranks=ranks, **algorithm_fields((str(tmp_path / "mine.py"), "ring")), **fields)

    return planned


def test_what_is_no_all_reduce_is_refused_as_verify_says_it(plan, tmp_path):
    with pytest.raises(OneLineError, match="mine is no all-reduce") as refused:
        refuse_own_algorithms(plan("if size == 3: steps.pop()"), LAUNCHER, {})
    assert refused.value.exit_code == 1 and "-n 3" in str(refused.value)
    with pytest.raises(
        OneLineError,
        match=re.escape(f"mine: {tmp_path / 'mine.py'}:5: rank 0 of 2, 2 elements: failed: KeyError: 'no'"),
    ):
        refuse_own_algorithms(plan("raise KeyError('no')"), LAUNCHER, {})
    with pytest.raises(OneLineError, match=r"mine[.]py:5: rank 1 of 2, 2 elements: failed: ZeroDivisionError"):
        refuse_own_algorithms(plan("rank == 1 and 1 / 0"), LAUNCHER, {})


def test_what_is_one_is_not(plan):
    refuse_own_algorithms(plan("pass"), LAUNCHER, {})


def test_layouts_that_only_mpi_knows_are_left_to_the_ranks(plan):
    refuse_own_algorithms(plan("steps.pop()", start=Start(hosts=("n1", "n2"))), LAUNCHER, {})
    refuse_own_algorithms(plan("steps.pop()", ranks=(own_algorithms.PROVED_UP_TO + 1,)), LAUNCHER, {})
    with pytest.raises(OneLineError, match="nodes 2x1"):
        refuse_own_algorithms(plan("steps.pop()", pretend_ranks_per_node=1), LAUNCHER, {})


def test_a_generator_without_an_end_is_left_to_the_ranks(plan, monkeypatch):
    monkeypatch.setattr(own_algorithms, "PROVED_S", 0.2)
    began = time.monotonic()
    refuse_own_algorithms(plan("while True: pass"), LAUNCHER, {})
    assert time.monotonic() - began < 60  # however busy the cores are


LINES = """from allreduce_bench.algorithms import Cost, algorithm
from allreduce_bench.schedule import Step


def helper(count):
    return (range(count // 0),)


def steps(partner, whole):
    yield Step(partner, whole, partner, whole, reduce={reduce})


@algorithm(cost=lambda size, topology, count, segment: Cost(1, count, count), exact=False, formula="?")
def mine(rank, size, topology, count, segment):
    whole, partner = (range(count),), rank ^ 1
    {act}
    yield from steps(partner, whole)
"""
FAILURES = {  # the act -> the line of the message, and what it says there
    "helper(count)": (6, "ZeroDivisionError"),
    "[][count]": (16, "IndexError"),
    "yield 'no step'": (16, "AttributeError"),
    "yield Step(rank, whole, rank, whole)": (16, "cannot send to rank 0 of 2"),
    "yield Step(0.5, whole, partner, whole)": (16, "names a partner that is no rank: 0.5"),
    "pass": (10, "receives over elements that it is sending"),
}


@pytest.mark.parametrize(
    ("words", "act"),
    [
        *((["verify"], act) for act in FAILURES),
        *((words, "helper(count)") for words in (["explain"], ["explain", "-o", "x.html"], ["run", "-a"])),
    ],
)
def test_a_failure_names_the_line_of_the_file_of_the_user(words, act, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    number, reason = FAILURES[act]
    (tmp_path / "mine.py").write_text(LINES.format(act=act, reduce=act != "pass"))
    result = CliRunner().invoke(main, [*words, "./mine.py", "-n", "2"])
    said = result.stdout + result.stderr
    if words[0] == "run" and ("no MPI" in said or "mpirun" in said):
        pytest.skip("needs an MPI")
    assert f"mine.py:{number}: " in said and reason in said and result.exit_code in (1, 2)
    (line,) = [line for line in said.splitlines() if "mine.py" in line]
    assert "Traceback" not in said and (words[0] == "verify" or result.stderr.count("\n") == 1)


@pytest.mark.parametrize("words", [["verify"], ["explain"]])
def test_a_generator_without_an_end_is_ended(words, tmp_path, monkeypatch):
    monkeypatch.setattr(work_limit, "GENERATED_S", 0.2)
    (tmp_path / "mine.py").write_text(MINE.format(act="while True: find(['ring'])"))
    result = CliRunner().invoke(main, [*words, str(tmp_path / "mine.py"), "-n", "2"])
    assert "mine.py:5: " in result.output and "TimeoutError" in result.output and result.exit_code in (1, 2)
