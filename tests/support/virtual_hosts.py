"""The virtual hosts of `allreduce_bench.lab` for tests that reach them like other hosts: by name, over an ssh."""

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from allreduce_bench.lab.lab import AGENT, INTERFACE, LabError, Room, room
from allreduce_bench.units import parse_rate
from allreduce_bench.watching.lifeline import LAB_VARIABLE

__all__ = ["INTERFACE", "VirtualHosts", "virtual_hosts"]


class VirtualHosts(NamedTuple):
    """Hosts h1, h2, … at 10.77.0.1, 10.77.0.2, …; their network is INTERFACE. Commands think them real."""

    names: tuple[str, ...]
    agent: Path  # the program that reaches one host from another, called like ssh
    room: Room

    def command(self, number: int, words: Sequence[object]) -> list[str]:
        """The command line that runs `words` inside host `number` (0 is h1), in this folder and environment."""
        return self.room.command(number, words)

    def run(self, number: int, words: Sequence[object], **options) -> subprocess.CompletedProcess:
        """Run `words` inside host `number`, text kept; `options` are those of `subprocess.run`."""
        kept = {"check": False, "capture_output": True, "text": True, "timeout": 600}
        return subprocess.run(self.command(number, words), **(kept | options))

    def sent_nbytes(self, number: int) -> int:
        """Bytes that host `number` put on its link so far, headers of all layers included."""
        path = f"/sys/class/net/{INTERFACE}/statistics/tx_bytes"
        return int(self.run(number, ["cat", path], check=True).stdout)


@contextmanager
def virtual_hosts(hosts: int, rate: str | None = "1gbit", mtu: int = 9000) -> Iterator[VirtualHosts]:
    """So many hosts, each sending at most at `rate` (None: unlimited).

    Skips the test, saying why, where this machine does not let us make them.
    """
    with ExitStack() as ending:
        try:
            made = ending.enter_context(room([None if rate is None else parse_rate(rate)] * hosts, mtu))
        except LabError as error:
            pytest.skip(f"this machine does not let us make virtual hosts: {error}")
        agent = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="virtual_hosts."))) / "agent"
        variable = made.lab.variables()[LAB_VARIABLE]  # which commands of tests do not have
        agent.write_text(f"#!/bin/bash\nexport {LAB_VARIABLE}='{variable}'\nexec {AGENT} \"$@\"\n")
        agent.chmod(0o755)
        yield VirtualHosts(made.lab.names, agent, made)
