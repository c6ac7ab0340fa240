"""What a lab is: names, rates and processes of its hosts; and how a process finds out that it runs in one."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..units import format_rate
from ..watching.lifeline import LAB_VARIABLE

INTERFACE = "e0"  # of every host
MOST_HOSTS = 32
LEAST_RATE, MOST_RATE = 64e3 / 8, 100e9 / 8  # bytes/s
TEMPORARY = "/dev/shm"  # each host has its own, which ends with it: nothing of an MPI stays in /tmp
AGENT = f"{TEMPORARY}/agent"  # on every host: the program that reaches the others, called like ssh
HOST = re.compile(r"\bh\d+=(\d+):(none|[\d.e+]+)")  # in the variable of the lab


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
        """The environment of a command in the lab, for `lab_around` and the agent."""
        hosts = zip(self.names, self.pids, self.rates_bytes_per_s)
        words = [f"{name}={pid}:{'none' if rate is None else repr(rate)}" for name, pid, rate in hosts]
        return {LAB_VARIABLE: " ".join(words), "TMPDIR": TEMPORARY}


def host_names(hosts: int) -> tuple[str, ...]:
    """The names of so many hosts."""
    return tuple(f"h{number + 1}" for number in range(hosts))


def lab_around(environ: Mapping[str, str]) -> Lab | None:
    """The lab in which a process with this environment runs; None: it runs in none."""
    hosts = HOST.findall(environ.get(LAB_VARIABLE, ""))
    rates = tuple(None if rate == "none" else float(rate) for _, rate in hosts)
    return Lab(rates, tuple(int(pid) for pid, _ in hosts)) if hosts else None


def rates_of_hosts(hosts: int, rates: Sequence[float]) -> tuple[float, ...]:
    """The rate of each host's link in bytes/s, from one rate for all of them or one for each. Raises LabError."""
    if hosts < 1:
        raise LabError(f"{hosts} virtual hosts: expected at least 1")
    if hosts > MOST_HOSTS:
        raise LabError(f"{hosts} virtual hosts: expected at most {MOST_HOSTS}; they share the cores of one machine")
    for rate in rates:
        if not LEAST_RATE <= rate <= MOST_RATE:
            limits = f"{format_rate(LEAST_RATE)} to {format_rate(MOST_RATE)}"
            raise LabError(f"a link of {rate * 8:.4g} bit/s: expected {limits}, as tc takes it")
    if len(rates) not in (1, hosts):
        raise LabError(f"{len(rates)} rates for {hosts} virtual hosts: expected one rate, or one for each host")
    return tuple(rates) * (hosts if len(rates) == 1 else 1)
