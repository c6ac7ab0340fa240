"""How far a run is, as one live line in a terminal."""

import io
import os
import pty
import subprocess
import time

import pytest
from interpreters import interpreters
from rich.console import Console

from allreduce_bench.launching.live_line import LiveLine
from allreduce_bench.watching.progress import LaunchPosition


def test_the_live_line_shows_what_is_measured_now_and_leaves_nothing_behind():
    screen = io.StringIO()
    live = LiveLine(LaunchPosition(2, 3, time.time() - 72, 4), Console(file=screen, force_terminal=True, width=160))
    live.begin("ring [8] B")
    live.cell(10, 20, "tree 8 B  1.00 us", False)
    live.progress.refresh()
    live.say("warning: [red]a host[/red]")
    live.close()
    text = screen.getvalue()
    assert "launch 2/3 (4 ranks)" in text and "50%" in text and "elapsed" in text
    assert "now ring [8] B" in text and "last tree 8 B  1.00 us" in text
    assert "[red]a host[/red]" in text  # a name is no markup
    assert text.rstrip("\n").endswith(("\x1b[2K", "\x1b[?25h", "\x1b[1A\x1b[2K"))


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_live_line_is_one_line_on_any_terminal(width):
    screen = io.StringIO()
    live = LiveLine(LaunchPosition(2, 3, time.time() - 72, 4), Console(file=screen, force_terminal=True, width=width))
    live.begin("parameter_server_sharded 128 KiB")
    live.cell(10, 20, "not measured: time ran out (--within)", False)
    live.progress.refresh()
    drawn = live.progress.get_renderable()
    live.close()
    assert len(Console(width=width).render_lines(drawn)) == 1


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
def test_on_a_terminal_the_line_lives_on_stderr_and_the_table_is_clean(tmp_path):
    ours, theirs = pty.openpty()
    words = ["run", "-n", "2", "--sizes", "8,4K", "-a", "ring,native", "--launches", "1", "--min-time", "0.2s"]
    words += ["--no-reference-times", "--identify=never", "-o", str(tmp_path / "run")]
    command = [str(interpreters()[0]), "-m", "allreduce_bench", *words]
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "150"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environ, text=True) as process:
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 65536):
                said += part
        except OSError:  # what Linux says when the other end is closed
            pass
        table = process.stdout.read()
    assert process.returncode == 0 and "4 of 4 cells done" in table and "\x1b" not in table
    assert b"launch 1/1 (2 ranks)" in said and b"now " in said and b"elapsed" in said
