"""The help of commands: options in sections where they are many, and examples that can be typed."""

import re
import shlex

import click
import pytest
from click.testing import CliRunner

from allreduce_bench.cli import main, purposes
from allreduce_bench.cli.run import FIRST_DAY, run
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
    text = help_of(command.name, "--help-all" if command is run else "--help")
    titles = [section.value for section in Section if f"{section.value}:\n" in text]
    places = [text.index(f"{title}:\n") for title in titles]
    assert places == sorted(places) and len(titles) >= 6
    assert "Options:\n" not in text.partition(f"{titles[0]}:")[0]
    assert text.index("--launcher-args") > text.index("How ranks are started:")


def test_the_help_of_run_shows_the_options_of_a_first_day_and_where_the_others_are():
    first, every = (shown_options(help_of("run", name)) for name in ("--help", "--help-all"))
    of_a_first_day = {name for option in run.params if option.name in FIRST_DAY for name in option.opts}
    assert first == {name for name in of_a_first_day if name.startswith("--")} | {"--help", "--help-all"}
    names = (name for option in run.params for name in (*option.opts, *option.secondary_opts))
    assert first < every == {name for name in names if name.startswith("--")} | {"--help"}
    count = len(run.params) + 1
    assert f"Show all {count} options" in " ".join(help_of("run", "--help").split())


def examples_of(name: str) -> list[str]:
    """The commands below `Examples:` in the help of a command, or of the whole program."""
    text = CliRunner().invoke(main, [*filter(None, [name]), "--help"]).stdout
    return [line.strip() for line in text.partition("Examples:\n")[2].splitlines()]


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_help_ends_with_examples_that_can_be_typed(name):
    commands = examples_of(name)
    assert 2 <= len(commands) <= 4
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
