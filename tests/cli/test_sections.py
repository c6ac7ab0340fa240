"""The help of commands: options in sections where they are many, and examples that can be typed."""

import re
import shlex
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner
from measured_runs import with_package

from allreduce_bench.cli import main, purposes
from allreduce_bench.cli.run import run
from allreduce_bench.cli.submit import submit
from allreduce_bench.runs.option import Section

GROUPS = purposes()
COMMANDS = [name for group in GROUPS.values() for name in group]


def help_of(*words: str) -> str:
    """What the help of these words prints."""
    return CliRunner().invoke(main, words).stdout


def shown_options(text: str) -> set[str]:
    """The long names of the options that a help describes."""
    return {name for line in re.findall(r"^  (-.*?)(?:  |$)", text, re.M) for name in re.findall(r"--[\w-]+", line)}


@pytest.mark.parametrize("command", [run, submit], ids=["run", "submit"])
def test_options_stand_in_the_sections_in_their_order(command):
    text = help_of(command.name, "--help-all")
    titles = [section.value for section in Section if f"{section.value}:\n" in text]
    places = [text.index(f"{title}:\n") for title in titles]
    assert places == sorted(places) and len(titles) >= 6
    assert "Options:\n" not in text.partition(f"{titles[0]}:")[0]
    assert text.index("--launcher-args") > text.index("How ranks are started:")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_help_shows_few_options_and_where_the_others_are(name):
    command = main.get_command(click.Context(main), name)
    named = getattr(command, "first", ())
    first = {text for option in command.params if option.name in named for text in option.opts if text[:2] == "--"}
    assert len(named) == len({*named} & {option.name for option in command.params}) <= 12
    shown = shown_options(help_of(name, "--help"))
    if not named:
        assert len(shown) <= 20
        return
    every = shown_options(help_of(name, "--help-all"))
    assert shown == first | {"--help", "--help-all"} and shown < every
    options = [option for option in command.params if isinstance(option, click.Option) and not option.hidden]
    assert f"Show all {len(options) + 1} options" in " ".join(help_of(name, "--help").split())


def examples_of(name: str) -> list[str]:
    """The commands below `Examples:` in the help of a command, or of the whole program."""
    text = CliRunner().invoke(main, [*filter(None, [name]), "--help"]).stdout
    return [line.strip() for line in text.partition("Examples:\n")[2].splitlines()]


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_help_ends_with_examples_that_can_be_typed(name):
    commands = examples_of(name)
    assert 2 <= len(commands) <= 5
    for command in commands:
        program, of_example, *words = shlex.split(command)
        assert program == "allreduce-bench" and of_example in COMMANDS
        chosen = main.get_command(click.Context(main), of_example)
        if "--help" not in words:
            chosen.make_context(of_example, words)  # raises where an option or its value is none
    assert name in ("", "list") or all(f" {name}" in command for command in commands)


def test_the_help_shows_all_commands_in_groups():
    text = CliRunner().invoke(main, ["--help"]).stdout
    titles = [f"\n{title}:\n" for title in GROUPS]
    assert [text.index(title) for title in titles] == sorted(text.index(title) for title in titles)
    assert all(f"\n  {name} " in text for name in COMMANDS) and "..." not in text.replace("[ARGS]...", "")
    assert "Results go to stdout, progress to stderr." in text
    assert text == help_of("help") and help_of("run", "--help") == help_of("help", "run")
    assert all(len(line) <= 78 for line in text.splitlines())


HELPS = """import sys
from click.testing import CliRunner
from allreduce_bench.cli import main
for words in ("", "run", "show", "report", "compare", "import", "submit", "status", "list", "explain"):
    assert CliRunner().invoke(main, [*words.split(), "--help"]).stdout
print({"numpy", "pandas", "mpi4py"} & {*sys.modules})
"""


def test_helps_load_nothing_large():
    ended = subprocess.run([sys.executable, "-c", HELPS], capture_output=True, text=True, env=with_package())
    assert ended.stdout == "set()\n", ended.stderr


@pytest.mark.parametrize("words", ["--help", "show", "show nowhere", "list"])
def test_of_the_ranks_of_an_mpirun_the_first_alone_prints(words, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
    first = CliRunner().invoke(main, words.split())
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    other = CliRunner().invoke(main, words.split())
    assert first.output and (other.output, other.exit_code) == ("", 0)
