"""The help of commands with many options is in sections, and every option stands in one of them."""

import click
import pytest

from allreduce_bench.cli.run import run
from allreduce_bench.cli.sections import SECTIONS
from allreduce_bench.cli.submit import submit


@pytest.mark.parametrize("command", [run, submit], ids=["run", "submit"])
def test_options_stand_in_the_sections_in_their_order(command):
    text = command.get_help(click.Context(command))
    titles = [title for title in SECTIONS.values() if f"{title}:\n" in text]
    places = [text.index(f"{title}:\n") for title in titles]
    assert places == sorted(places) and len(titles) >= 6
    assert "Options:\n" not in text.partition(f"{titles[0]}:")[0]
    assert text.index("--launcher-args") > text.index("How ranks are started:")
