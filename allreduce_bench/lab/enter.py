"""A command inside a lab: it runs on the first host, gets the signals of this process, and its status is handed on."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from .lab import LabError
from .room import Room, room, with_system_programs

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
TCP_ONLY = {"UCX_TLS": "tcp,self"}  # else UCX finds that the hosts share memory, and leaves the links aside


class LabEnded(LabError):
    """Error: the command in a lab was killed, alone or with the lab; `exit_code` is that of the command."""

    def __init__(self, signal_name: str, lab_ended: bool, exit_code: int):
        what = "the virtual hosts were ended from outside, and the command on them" if lab_ended else "the command"
        super().__init__(f"{what} was killed by {signal_name}; 'run --resume -o FOLDER' continues a run")
        self.exit_code = exit_code


def run_in_lab(rates_bytes_per_s: Sequence[float], words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run `words` on host h1 of a lab of their own; the exit status.

    Signals of this process go on to the command. Raises LabError; LabEnded where the command or the lab was killed.
    """
    with room(rates_bytes_per_s) as made:
        command, variables = made.command(0, words), variables_in(made, environ)
        # In a group of its own: an interrupt of the terminal comes once, from here
        process = subprocess.Popen(command, env=variables, preexec_fn=os.setpgrp)
        with _handled(lambda number: _signal_command(process, number)):
            return _exit_status(process.wait(), made)


def shell_in_lab(rates_bytes_per_s: Sequence[float], shell: Sequence[str], environ: Mapping[str, str]) -> int:
    """An interactive shell on host h1 of a lab of its own; its exit status. Raises as `run_in_lab`."""
    with room(rates_bytes_per_s) as made, _handled(lambda number: None):  # the terminal interrupts the shell, too
        process = subprocess.Popen(made.command(0, shell), env=variables_in(made, environ))
        return _exit_status(process.wait(), made)


def variables_in(made: Room, environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` with what commands in this lab need."""
    return {**TCP_ONLY, **with_system_programs(environ), **made.lab.variables()}


@contextmanager
def _handled(handle: Callable[[int], None]) -> Iterator[None]:
    """FORWARDED go to `handle` within the context, but those that are ignored, as SIGHUP is behind nohup."""
    heeded = [number for number in FORWARDED if signal.getsignal(number) is not signal.SIG_IGN]
    former = {number: signal.signal(number, lambda number, frame: handle(number)) for number in heeded}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _signal_command(process: subprocess.Popen, number: int) -> None:
    """Send the signal to the command itself: nsenter, which waits for it, does not pass signals on."""
    with suppress(OSError):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        for pid in map(int, children or [str(process.pid)]):
            os.kill(pid, number)


def _exit_status(status: int, made: Room) -> int:
    """The status of the command in this lab. Raises LabEnded: who is only asked to end has words of its own."""
    if status < 0:
        raise LabEnded(signal.Signals(-status).name, made.has_ended(), 128 - status)
    return status
