"""What a lab is: names, rates and processes of its hosts; and how a process finds out that it runs in one."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..watching.lifeline import LAB_VARIABLE

INTERFACE = "e0"  # of every host
MOST_HOSTS = 32
TEMPORARY = "/dev/shm"  # each host has its own, which ends with it: nothing of an MPI stays in /tmp


class LabError(RuntimeError):
    """Error: no such lab, or none on this machine; the sentence says why and what to do."""


class Lab(NamedTuple):
    """The hosts h1, h2, … with the addresses 10.77.0.1, 10.77.0.2, …"""

    rates_bytes_per_s: tuple[float | None, ...]  # of each host's link in either direction; None: unlimited
    pids: tuple[int, ...]  # the process that holds each host, as numbered inside the lab

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the hosts."""
        return host_names(len(self.pids))

    def variables(self) -> dict[str, str]:
        """The environment of a command in the lab."""
        hosts = {name: [pid, rate] for name, pid, rate in zip(self.names, self.pids, self.rates_bytes_per_s)}
        return {LAB_VARIABLE: json.dumps(hosts), "TMPDIR": TEMPORARY}


def host_names(hosts: int) -> tuple[str, ...]:
    """The names of so many hosts."""
    return tuple(f"h{number + 1}" for number in range(hosts))


def lab_around(environ: Mapping[str, str]) -> Lab | None:
    """The lab in which a process with this environment runs; None: it runs in none."""
    try:
        hosts = json.loads(environ.get(LAB_VARIABLE, "null"))
        return hosts and Lab(tuple(rate for _, rate in hosts.values()), tuple(pid for pid, _ in hosts.values()))
    except (ValueError, TypeError, AttributeError):  # set by another program
        return None


def rates_of_hosts(hosts: int, rates: Sequence[float]) -> tuple[float, ...]:
    """The rate of each host's link in bytes/s, from one rate for all of them or one for each. Raises LabError."""
    if hosts < 1:
        raise LabError(f"{hosts} virtual hosts: expected at least 1")
    if hosts > MOST_HOSTS:
        raise LabError(f"{hosts} virtual hosts: expected at most {MOST_HOSTS}; they share the cores of one machine")
    if len(rates) not in (1, hosts):
        raise LabError(f"{len(rates)} rates for {hosts} virtual hosts: expected one rate, or one for each host")
    return tuple(rates) * (hosts if len(rates) == 1 else 1)


def agent_command() -> str:
    """The remote shell of a lab: its words, as `--remote-shell` takes them."""
    return shlex.join([sys.executable, str(Path(__file__).with_name("agent.py"))])
