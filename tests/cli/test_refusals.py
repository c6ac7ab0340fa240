"""Whatever cannot be used is one line, said once for all ranks; an interrupt is one, too."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from interpreters import in_turn, interpreters
from measured_runs import EIGHT_CELLS, done, mpirun, with_package

from allreduce_bench.cli import main
from allreduce_bench.cli.refusals import say_refusal

ERROR = "half a file"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("import", "error: import: missing argument 'LOG...'; 'allreduce-bench import --help'"),
        (
            "explain",
            "error: explain takes one algorithm, or two to compare, found 0; type 'allreduce-bench explain ring'",
        ),
        ("run --hosts", "error: option '--hosts' requires an argument"),
        ("run --iters 0", "error: --iters: found 0, expected 1 to 1000000000"),
        ("run extra", "error: run: 'extra' is a word too many; 'allreduce-bench run --help-all' shows all"),
        ("which", "error: expected the ranks to start, such as -n 4"),
        ("compare a", "error: compare takes two runs, BASELINE NEW, found 1"),
        ("run --sync brrier", "'barrier', 'round_time'; did you mean barrier?"),
        ("run --resume -o no/such", "error: no/such: no run to continue; to begin one leave out --resume"),
        ("help rnu", "error: no such command: 'rnu'; did you mean run?"),
        (
            "show x --form csv",
            "error: show: no such option: --form; did you mean --format? 'allreduce-bench show --help'",
        ),
    ],
)
def test_what_click_refuses_is_one_line(words, line):
    result = CliRunner().invoke(main, words.split())
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert line in result.stderr


def test_an_error_after_an_interrupt_ends_with_its_status(capsys):
    assert say_refusal(click.ClickException(ERROR), is_interrupted=True) == 130
    assert say_refusal(click.ClickException(ERROR), is_interrupted=False) == 1
    assert capsys.readouterr().err == 2 * f"error: {ERROR}\n"


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize(
    ("words", "line"),
    [
        pytest.param("rnu", "error: no such command: 'rnu'; ", marks=pytest.mark.slow),
        ("run --sizes 8,x", "error: --sizes: 'x' is not a size; "),
        pytest.param("run -a rign", "error: unknown algorithm 'rign'; did you mean ring? ", marks=pytest.mark.slow),
        ("run --op avg -d int32", "error: op avg has no exact result for int32"),
        pytest.param("run --hosts n1", "error: --hosts under a launcher: ", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_bad_input_is_one_line_for_all_ranks_and_leaves_nothing_behind(python, words, line, tmp_path):
    """A row a place where it is noticed: command, word of an option, name, plan, launcher.

    Each kind of bad input has a row in the table of its parser.
    """
    in_turn(words.startswith("run --"), python)
    result = subprocess.run(
        mpirun(python, 3, *words.split()), capture_output=True, text=True, env=with_package(), cwd=tmp_path, timeout=240
    )
    errors = [said for said in result.stderr.splitlines() if "rror:" in said]
    assert result.returncode == 2 and len(errors) == 1 and errors[0].startswith(line), result.stderr
    assert "Traceback" not in result.stderr and not result.stdout and not list(tmp_path.iterdir())


def interrupted(command: list[str], ready) -> tuple[int, str]:
    """Status and stderr of a command that was interrupted, as a terminal does it, when it was `ready`."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=with_package(),
    )
    deadline = time.time() + 240
    while not ready(process.pid):
        assert process.poll() is None and time.time() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=240)
    return process.returncode, said


def at_work(pid: int) -> bool:
    """Whether a process has used as much processor time as needs more than the start of Python."""
    with open(f"/proc/{pid}/stat") as stat:
        used = stat.read().rpartition(")")[2].split()
    return int(used[11]) + int(used[12]) >= 0.4 * os.sysconf("SC_CLK_TCK")


DROPPING = """import os, signal
from allreduce_bench import cli

def drop(group, context):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        pass

cli._Late.invoke = drop
cli.main(["verify", "ring"])
"""


def test_an_interrupt_that_something_dropped_ends_the_command_nevertheless():
    ended = subprocess.run([sys.executable, "-c", DROPPING], capture_output=True, text=True, env=with_package())
    assert (ended.returncode, ended.stderr) == (130, "error: interrupted\n")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    "words",
    [
        "verify -n 1-2000",
        pytest.param("explain ring -n 1500", marks=pytest.mark.slow),
        "explain --all -n 32 -o {0}",
        "report -o {0} {1}",
    ],
)
def test_an_interrupt_is_one_line(words, tmp_path):
    example = Path(__file__).parents[2] / "docs" / "example"
    asked = words.format(tmp_path / "page.html", example).split()
    status, said = interrupted([sys.executable, "-m", "allreduce_bench", *asked], at_work)
    assert (status, said) == (130, "error: interrupted\n")


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_interrupted_ranks_keep_what_is_finished(python, run_on_ranks, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    words = [*EIGHT_CELLS, "--thread-level", "multiple"]  # as ranks of the pool have it, which go on
    status, said = interrupted(mpirun(python, 2, "run", *words, "-o", folder), lambda pid: len(done(folder)) >= 2)
    assert status != 0 and "Traceback" not in said
    if "mpiexec" in said:  # Open MPI's mpirun passes nothing on after an interrupt
        line = f"error: interrupted; finished cells are kept; to continue: allreduce-bench run --resume -o {folder}"
        assert [words for words in said.splitlines() if "error" in words] == [line] and status == 130
    kept = done(folder)
    resumed = run_on_ranks("--resume", "-o", folder)
    assert resumed.returncode == 0 and set(kept) <= set(done(folder)), resumed.stderr
