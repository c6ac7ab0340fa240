"""What stdout is: its width and its colours, and what COLUMNS and NO_COLOR say of them."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import click
import pytest
from click.testing import CliRunner
from places import ROOT

from allreduce_bench.cli.terminal import screen

EXAMPLE = ROOT / "docs" / "example"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@click.command()
def ask() -> None:
    found = screen()
    click.echo(f"{found.width} {found.colour}")


def asked(**environ: str | None) -> str:
    return CliRunner().invoke(ask, env=environ).stdout.strip()


@pytest.mark.parametrize("columns, width", [("100", 100), ("0", 80), ("-3", 80), ("wide", 80), ("", 80)])
def test_columns_say_how_wide_a_pipe_is(columns, width):
    assert asked(COLUMNS=columns) == f"{width} False"


def on_a_terminal(*words: str, width: int = 70, **environ: str) -> str:
    """What the command line prints on a terminal of so many columns."""
    far, near = pty.openpty()
    fcntl.ioctl(near, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    path = {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", ""), "TERM": "xterm"}
    command = [sys.executable, "-m", "allreduce_bench", *words]
    with subprocess.Popen(command, stdout=near, stderr=subprocess.PIPE, env={**path, **environ}) as process:
        os.close(near)
        seen = b""
        try:
            while piece := os.read(far, 65536):
                seen += piece
        except OSError:  # so Linux says that nobody writes any more
            pass
        assert process.wait(timeout=240) == 0, process.stderr.read()
    os.close(far)
    return seen.decode().replace("\r\n", "\n")


def test_a_terminal_has_colours_and_a_width():
    coloured = on_a_terminal("show", str(EXAMPLE))
    plain = COLOUR.sub("", coloured)
    assert coloured != plain and all(len(line) <= 70 for line in plain.splitlines())
    assert on_a_terminal("show", str(EXAMPLE), COLUMNS="70", NO_COLOR="1", width=90) == plain


@pytest.mark.parametrize(
    "environ, colour", [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)]
)
def test_colours_on_a_terminal(monkeypatch, environ, colour):
    monkeypatch.setattr("allreduce_bench.cli.terminal._terminal_width", lambda: 100)
    assert asked(**{"TERM": "xterm", "NO_COLOR": None, "COLUMNS": "80", **environ}) == f"80 {colour}"
