"""Processes that would exhaust a node are refused in one line; what only takes long is not."""

import pytest
from click.testing import CliRunner

from allreduce_bench.cli import main


def test_many_processes_on_one_node_are_refused(tmp_path):
    words = ["run", "-n", "15000", "--sizes", "8", "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2 and result.stderr.count("\n") == 1 and "-n 15000" in result.stderr, result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "named"),
    [("run --launches 100000000000", "launches"), ("verify -n 1-1000000,1-1000000", "1000000")],
)
def test_absurd_numbers_are_one_line(words, named, tmp_path):
    result = CliRunner().invoke(main, words.split())
    assert result.exit_code == 2 and result.stderr.count("\n") == 1 and named in result.stderr, result.output[:300]
