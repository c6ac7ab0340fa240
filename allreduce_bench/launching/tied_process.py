"""A launcher's process: it ends with the one that started it, no interrupt at its start is lost, and how it ended."""

import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ..watching.lifeline import end_with_parent

ENDING_S = 5.0  # for a launcher to end all ranks when it is told to, or when one has ended badly
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def start_tied(command: Sequence[str], environ: Mapping[str, str]) -> subprocess.Popen:
    """Start `command`, whose output comes in one pipe, as text. Raises OSError.

    It has no stdin: mpirun would swallow what is meant for others.
    """
    return subprocess.Popen(
        command,
        env=environ,
        preexec_fn=end_with_parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def end_process(process: subprocess.Popen) -> None:
    """Tell a launcher to end, and kill it where it has not after ENDING_S."""
    process.terminate()
    try:
        process.wait(ENDING_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def interrupt_when_asked_to_end() -> None:
    """Take the ends of a job or a connection for interrupts, as Ctrl-C is, from here on; not those that are ignored."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)


@contextmanager
def interrupts_put_off() -> Iterator[None]:
    """Let signals that interrupt this process take effect after the block, not in it.

    Python runs functions of its own after a fork and drops what they raise: a KeyboardInterrupt of a signal that comes
    then would be lost, and the run would go on.
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
    """`was killed by SIGKILL`, or `ended with status 3`."""
    signal_number = -status if status < 0 else status - 128
    try:
        return f"was killed by {signal.Signals(signal_number).name}"
    except ValueError:
        return f"ended with status {status}"


def shell_status(status: int) -> int:
    """The exit status of a process: of one that a signal ended, 128 and its number."""
    return status if status >= 0 else 128 - status
