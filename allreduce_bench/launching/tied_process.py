"""Process of a launcher: ends with its parent, loses no interrupt at its start, and its end in words.

Also how a program in Python is started, so that it ends.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from ..watching.lifeline import TERMINATE, end_with_parent
from .leftovers import remove_leftovers

ENDING_S = 5.0  # seconds for a launcher to end all ranks after SIGTERM, or after a rank's bad end
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def start_tied(command: Sequence[str], environ: Mapping[str, str], stderr: int = subprocess.STDOUT) -> subprocess.Popen:
    """Start `command` without stdin, with stdout and stderr in one pipe, or in two, as text. Raises OSError.

    Without stdin, because mpirun would consume input meant for others.
    """
    return subprocess.Popen(
        command,
        env=environ,
        preexec_fn=partial(end_with_parent, TERMINATE, os.getpid()),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        errors="replace",
    )


def end_process(process: subprocess.Popen) -> None:
    """Terminate a launcher, and kill it if it still runs after ENDING_S."""
    process.terminate()
    try:
        process.wait(ENDING_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    remove_leftovers()


def orphans(but: int | None = None) -> list[int]:
    """Return the children of this process `but` one: with `adopt_orphans` also what they have left behind."""
    with suppress(OSError):  # not on every kernel
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
        return [int(word) for word in children.split() if int(word) != but]
    return []


def read_ends(but: int) -> None:
    """Read the statuses of orphans that have ended: else they would fill the table of processes."""
    for pid in orphans(but):
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def end_orphans() -> None:
    """End what a program left running: it would hold memory and ports that the next start needs."""
    tried: set[int] = set()  # once each: another user's process cannot be ended
    while pids := set(orphans()) - tried:  # what they started is next
        tried |= pids
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def interrupt_when_asked_to_end() -> None:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt, as Ctrl-C does, unless they are ignored."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)


@contextmanager
def interrupts_put_off() -> Iterator[None]:
    """Delay signals that interrupt this process until the end of the block.

    Python runs functions of its own after a fork and drops their exceptions: a KeyboardInterrupt raised then would be
    lost, and the run would go on.
    """
    if threading.current_thread() is not threading.main_thread():  # signals do not interrupt it
        yield
        return
    received: list[int] = []
    handlers = {number: signal.getsignal(number) for number in INTERRUPTS}
    heeded = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in heeded:
        signal.signal(number, lambda number, frame: received.append(number))
    try:
        yield
    finally:
        for number, handler in heeded.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])


def how_it_ended(status: int) -> str:
    """Return `was killed by SIGKILL`, or `ended with status 3`."""
    signal_number = -status if status < 0 else status - 128
    try:
        return f"was killed by {signal.Signals(signal_number).name}"
    except ValueError:
        return f"ended with status {status}"


def shell_status(status: int) -> int:
    """Return the exit status in a shell's notation: 128 plus the signal's number for a killed process."""
    return status if status >= 0 else 128 - status


# A program in Python is started so that an error on one rank ends the others


PYTHON = re.compile(r"python[\d.]*")
OF_ENV = re.compile(r"(.*/)?env|-S|[A-Za-z_]\w*=.*", re.DOTALL)  # words before a program
FLAGS, WITH_VALUE = re.compile(r"-[bBdEiIOPqRsSuv]+|-[WX].+|--check-hash-based-pycs=.+"), ("-W", "-X")
FIRST_LINE_NBYTES = 256


def with_mpi4py(words: Sequence[str]) -> list[str]:
    """Return the words that start a Python program as `python -m mpi4py`; of all else `words`.

    There an error that nobody catches calls MPI_Abort; at its usual end MPI would wait for the other ranks.
    """
    before, python = split_python(words)
    end = 1
    while end < len(python) and (python[end] in WITH_VALUE or FLAGS.fullmatch(python[end])):
        end += 2 if python[end] in WITH_VALUE else 1
    program = python[end : end + 2]
    if not program or program[0].startswith("-") and program[0] not in ("-", "-c", "-m"):
        return [*words]
    if program[0] == "-m" and program[-1].partition(".")[0] == "mpi4py" or not _has_mpi4py(python[:end]):
        return [*words]
    return [*before, *python[:end], "-m", "mpi4py", *python[end:]]


def split_python(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words of env, and those from the interpreter on, which a script names in its first line.

    Both are empty if the program is not in Python.
    """
    begin = next((at for at, word in enumerate(words) if not OF_ENV.fullmatch(word)), len(words))
    before, (program, *arguments) = [*words[:begin]], [*words[begin:], ""]
    path = shutil.which(program) or program
    if PYTHON.fullmatch(os.path.basename(path)):
        return before, [*words[begin:]]
    interpreter = _interpreter(path)
    at = next((at for at, word in enumerate(interpreter) if PYTHON.fullmatch(os.path.basename(word))), None)
    if at is None:
        return [], []
    return [*before, *interpreter[:at]], [*interpreter[at:], path, *arguments[:-1]]


def _interpreter(path: str) -> list[str]:
    """Return the words of a script's first line."""
    try:
        with open(path, "rb") as file:
            first_line = file.read(FIRST_LINE_NBYTES).partition(b"\n")[0]
    except OSError:
        return []
    return os.fsdecode(first_line[2:]).split() if first_line.startswith(b"#!") else []


def _has_mpi4py(python: Sequence[str]) -> bool:
    """Return whether an interpreter with its options finds mpi4py."""
    if [*map(shutil.which, python)] == [sys.executable]:
        return True
    question = [*python, "-c", "import mpi4py"]
    return not subprocess.run(question, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode
