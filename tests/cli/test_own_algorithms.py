"""Algorithms of users that are no all-reduce, or fail, are told with the line of their file."""

import pytest
from click.testing import CliRunner

from allreduce_bench.cli import main, work_limit

MINE = """from allreduce_bench.algorithms import Cost, algorithm, find
@algorithm(cost=lambda size, topology, count, segment: Cost(1, count, count), exact=False, formula="?")
def mine(rank, size, topology, count, segment):
    steps = list(find(["ring"])["ring"].generate(rank, size, topology, count, segment))
    {act}
    yield from steps
"""


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
        *((words, "helper(count)") for words in (["explain"], ["explain", "-o", "x.html"])),
    ],
)
def test_a_failure_names_the_line_of_the_file_of_the_user(words, act, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    number, reason = FAILURES[act]
    (tmp_path / "mine.py").write_text(LINES.format(act=act, reduce=act != "pass"))
    result = CliRunner().invoke(main, [*words, "./mine.py", "-n", "2"])
    said = result.stdout + result.stderr
    assert f"mine.py:{number}: " in said and reason in said and result.exit_code in (1, 2)
    (line,) = [line for line in said.splitlines() if "mine.py" in line]
    assert "Traceback" not in said and (words[0] == "verify" or result.stderr.count("\n") == 1)


@pytest.mark.parametrize("words", [["verify"], ["explain"]])
def test_a_generator_without_an_end_is_ended(words, tmp_path, monkeypatch):
    monkeypatch.setattr(work_limit, "GENERATED_S", 0.2)
    (tmp_path / "mine.py").write_text(MINE.format(act="while True: find(['ring'])"))
    result = CliRunner().invoke(main, [*words, str(tmp_path / "mine.py"), "-n", "2"])
    assert "mine.py:5: " in result.output and "TimeoutError" in result.output and result.exit_code in (1, 2)
