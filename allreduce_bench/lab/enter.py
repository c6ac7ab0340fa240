"""Commands inside a lab: what `lab` and `run --virtual-hosts` start there, and the lab around a command.

A command runs on the first host and gets the signals of this process; its exit status is handed on.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..machine.virtual_hosts import describe
from ..runs.folder import RunFolder
from ..runs.recorder import is_taken
from ..runs.start import SSH, Start, slots_of
from ..units import parse_rates
from .lab import AGENT, INTERFACE, LabError, lab_around, rates_of_hosts
from .room import Room, room, with_system_programs

DEFAULT_RATE = "100mbit"  # of each link
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)  # to the command
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


def run_in_lab_of(options: Mapping[str, Any], words: Sequence[str]) -> int | None:
    """Run `allreduce-bench WORDS` in the lab that the options of `run` ask for; its exit status.

    None: they ask for none that is not there yet. Raises LabError, RunError.
    """
    rates = rates_to_enter(options)
    return enter_lab(rates, words) if rates else None


def enter_lab(rates_bytes_per_s: Sequence[float], words: Sequence[str]) -> int:
    """Run `allreduce-bench WORDS` on the first of new virtual hosts; its exit status. Raises LabError."""
    refuse_lab_in_lab()
    return run_in_lab(rates_bytes_per_s, [sys.executable, "-m", "allreduce_bench", *words], os.environ)


def refuse_lab_in_lab() -> None:
    """Raise LabError where this process runs on a virtual host."""
    if lab_around(os.environ):
        raise LabError("this command runs on a virtual host already; leave the lab to start other virtual hosts")


def rates_to_enter(options: Mapping[str, Any]) -> tuple[float, ...]:
    """The rates of the virtual hosts that `run` needs and that are not there yet; empty: none.

    They are those of the options, or of the run that is resumed. Raises LabError, RunError.
    """
    rates, lab = _rates_asked(options), lab_around(os.environ)
    _refuse_other_hosts(options, rates)
    if lab is None:
        return rates
    if rates and rates != lab.rates_bytes_per_s:
        raise LabError("--virtual-hosts or --link-rate differ from the lab around this command; leave them out here")
    return ()


def _refuse_other_hosts(options: Mapping[str, Any], rates: tuple[float, ...]) -> None:
    """Raise LabError where a run is to be continued on other virtual hosts than those that it was measured on."""
    if options["virtual_rates_bytes_per_s"] is None:
        return
    stored, name = _rates_of_run(options), options["output"]
    if stored is not None and rates != stored:
        where = describe(stored) if stored else "no virtual hosts"
        raise LabError(f"{name}: was measured on {where}; to continue it: allreduce-bench run --resume -o {name}")


def _rates_of_run(options: Mapping[str, Any]) -> tuple[float, ...] | None:
    """Return the rates of the run to be continued; None: there is none."""
    folder: Path | None = options["output"]
    if options["resume"] and folder and is_taken(folder):
        return RunFolder(folder).plan().start.virtual_rates_bytes_per_s
    return None


def _rates_asked(options: Mapping[str, Any]) -> tuple[float, ...]:
    if options["virtual_rates_bytes_per_s"] is not None:
        if given := [name for name in ("hosts", "hostfile") if options[name]]:
            raise LabError(f"--virtual-hosts and --{given[0]} both name hosts; use only one of them")
        return rates_of_hosts(
            options["virtual_rates_bytes_per_s"], options["link_rate_bytes_per_s"] or parse_rates(DEFAULT_RATE)
        )
    return _rates_of_run(options) or ()


def with_lab(start: Start, environ: Mapping[str, str]) -> Start:
    """`start` on the hosts of the lab in which this process runs; as it is, where there is none. Raises LabError."""
    lab = lab_around(environ)
    if lab is None:
        return start
    rate_of_host = {name: rate for name, rate in zip(lab.names, lab.rates_bytes_per_s) if rate}
    hosts = start.hosts or lab.names
    if unknown := [name for name, _ in map(slots_of, hosts) if name not in rate_of_host]:
        raise LabError(f"host '{unknown[0]}' is not in this lab; its hosts: {', '.join(lab.names)}")
    if start.interface and start.interface != INTERFACE:
        raise LabError(f"--interface {start.interface}: virtual hosts have one interface, {INTERFACE}; leave it out")
    return replace(
        start,
        hosts=hosts,
        remote_shell=AGENT if start.remote_shell == SSH else start.remote_shell,
        interface=start.interface or INTERFACE,
        virtual_rates_bytes_per_s=tuple(rate_of_host[slots_of(host)[0]] for host in hosts),
    )
