"""Check of the hosts over the remote shell, before anything is started on them."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..machine.node import host
from ..runs.hosts import slots_of
from ..runs.start import SSH, Start
from ..units import few
from .launcher import LaunchError

CONNECT_S, PATIENCE_S = 5, 8
AT_ONCE = 64
SHOWN = 3  # hosts in a message
JOBS = ("SLURM_JOB_ID", "LSB_JOBID")  # jobs in which an MPI reaches the nodes without a remote shell


def refuse_silent_hosts(start: Start) -> None:
    """Raise LaunchError if a host of `start` does not answer through the remote shell."""
    if reason_of := silent_hosts(start):
        program, reason = Path(shlex.split(start.remote_shell)[0]).name, next(iter(reason_of.values()))
        silent = _silent_hosts(list(reason_of))
        raise LaunchError(
            f"{silent} ({program}: {reason})", f"check the host names, and that {program} works without a password"
        )


def silent_hosts(start: Start) -> dict[str, str]:
    """Return each host of `start` that does not answer through the remote shell, with the reason.

    Asks all hosts at once, except this node and the nodes of a job that need no remote shell. Raises LaunchError if
    there is no such remote shell.
    """
    names = other_hosts(start)
    if not names or start.remote_shell == SSH and any(job in os.environ for job in JOBS):
        return {}
    shell = shlex.split(start.remote_shell)
    if not shutil.which(shell[0]):
        raise LaunchError(f"--remote-shell: program '{shell[0]}' not found in PATH")
    if Path(shell[0]).name == SSH:
        shell += ["-o", f"ConnectTimeout={CONNECT_S}", "-o", "BatchMode=yes"]
    with ThreadPoolExecutor(min(AT_ONCE, len(names))) as pool:
        reasons = pool.map(lambda name: _why_silent(shell, name), names)
        return {name: reason for name, reason in zip(names, reasons) if reason}


def other_hosts(start: Start) -> list[str]:
    """Return the names of the hosts of `start` other than this node."""
    own_names = {host(), host().split(".")[0], "localhost", "127.0.0.1"}
    return [name for name in dict(map(slots_of, start.hosts)) if name not in own_names]


def _silent_hosts(names: list[str]) -> str:
    """Return `hosts 'a', 'b' do not respond`."""
    if len(names) == 1:
        return f"host '{names[0]}' does not respond"
    return f"hosts {few(map(repr, names), SHOWN)} do not respond"


def _why_silent(shell: Sequence[str], name: str) -> str:
    """Return why the remote shell does not reach this host, or an empty string."""
    try:
        child = subprocess.run(
            [*shell, name, "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no response within {PATIENCE_S} s"
    if child.returncode == 0:
        return ""
    lines = child.stderr.decode(errors="replace").strip().splitlines() or [f"exit status {child.returncode}"]
    return lines[-1].strip().removeprefix(f"{Path(shell[0]).name}: ")
