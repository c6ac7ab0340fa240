"""Damaged files that users name: a sample of tests/studies/damaged_inputs.py, and odd words."""

import random

import pytest
from click.testing import CliRunner
from damaged_inputs import study

from allreduce_bench.cli import main


@pytest.mark.slow
def test_they_are_read_or_refused_in_one_line(tmp_path, capsys):
    assert study(random.Random(3), 20, tmp_path) == 0, capsys.readouterr().out


def test_a_launcher_of_several_lines_is_refused_in_one(tmp_path):
    system = tmp_path / "site.cfg"
    system.write_text("[site]\nlauncher = auto\n  [more\n")
    words = ["submit", "--nodes", "1", "-o", str(tmp_path / "out"), "--dry-run", "--system", str(system)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2 and result.stderr.count("\n") == 1 and "unknown launcher 'auto\\n" in result.stderr


NINES = "9" * 400
ODD = {
    f"submit --nodes 1 --dry-run --cell-time {NINES}": "is longer than 1e+09 s; expected such as 90s",
    f"submit --nodes 1 --dry-run --min-time {NINES}h": "is longer than 1e+09 s",
    "fit NOWHERE --ranks-per-node 99999999999999999999": "is not in the range 1<=x<=1000000",
    "predict -n 4\n8": "'4\\n8' is not a list of whole numbers",
    "explain ring\x1b[31m -n 2": "unknown algorithm 'ring\\x1b[31m'",
}


@pytest.mark.parametrize("words", ODD)
def test_odd_words_are_one_line_without_control_characters(words):
    result = CliRunner().invoke(main, words.split(" "))
    assert result.exit_code == 2 and ODD[words] in result.stderr, result.output
    said = [line for line in result.stderr.splitlines() if not line.startswith(("Usage:", "Try ")) and line]
    assert len(said) == 1 and said[0].isprintable()
