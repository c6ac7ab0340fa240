"""What the README shows exists, parses and runs."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from allreduce_bench.algorithms import builtin
from allreduce_bench.cli import main

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
LAUNCHER = r"(?:srun [^#\n]*?|mpirun -n \d+ )?(?:\.venv/bin/)?"
COMMANDS = re.findall(rf"^    {LAUNCHER}allreduce-bench ([^#\n]+)", TEXT, re.MULTILINE)


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#:]+)\)", TEXT))
def test_links_lead_somewhere(target):
    assert (ROOT / target).exists()


def test_every_algorithm_is_in_the_table():
    assert sorted(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)) == sorted(builtin())


@pytest.mark.parametrize("command", COMMANDS)
def test_shown_commands_have_the_options_that_exist(command):
    name, *words = shlex.split(command)
    known = {option for parameter in main.get_command(None, name).params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known


def test_there_are_commands_to_check():
    assert len(COMMANDS) >= 8


def test_the_algorithm_of_the_readme_is_proved_as_shown(tmp_path, monkeypatch):
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "mine.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    for command in [command for command in COMMANDS if "./mine.py" in command and not command.startswith("run")]:
        result = CliRunner().invoke(main, shlex.split(command))
        assert result.exit_code == 0, result.output
    assert "doubling" in result.output
