"""Virtual hosts in one machine: namespaces joined by a bridge, each with a name and a link of a known rate.

No root is needed where the kernel lets users make namespaces. All hosts live in the namespaces of one process: when it
ends, the kernel ends what was started inside and takes the network down.
"""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

INTERFACE = "e0"  # of every host
PROGRAMS = ("unshare", "nsenter", "mount", "ip", "tc")
ROOM = ("-U", "-r", "-n", "-m", "-p", "-f", "--mount-proc", "--kill-child")  # what holds the hosts, and their processes
HOST = ("-n", "-m", "-u", "-i")  # what a host has of its own: network, mounts, name, System V memory

BUILD = """set -e
ip link add bridge0 type bridge
ip link set bridge0 mtu {mtu} up
for number in $(seq {hosts}); do
    unshare {own} bash -ec '
        hostname h'$number'
        mount --bind hosts /etc/hosts
        mount -t sysfs sysfs /sys
        mount -t tmpfs tmpfs /dev/shm
        echo $$ > new; mv new pid.h'$number'; exec sleep infinity' < /dev/null &
    until [ -e pid.h$number ]; do kill -0 $! || exit 1; sleep 0.01; done
    ip link add port$number mtu {mtu} type veth peer name {interface} mtu {mtu} netns $(cat pid.h$number)
    ip link set port$number master bridge0 up
    nsenter -t $(cat pid.h$number) -n bash -ec '
        ip link set lo up
        ip address add 10.77.0.'$number'/24 dev {interface}
        ip link set {interface} up
        {shape}'
done
touch built
exec cat
"""

AGENT = """#!/bin/bash
# agent [OPTIONS] HOST COMMAND…: like ssh, in a fresh environment. Options are left out, and the value of -o.
while [[ $1 == -* ]]; do [[ $1 == -o ]] && shift; shift; done
pid=$(cat "{folder}/pid.$1" 2> /dev/null) || {{ echo "agent: could not resolve host $1" >&2; exit 255; }}
shift
exec env -i HOME="$HOME" PATH=/usr/local/bin:/usr/bin:/bin nsenter -t "$pid" {own} bash -c "$*"
"""


class VirtualHosts(NamedTuple):
    """Hosts h1, h2, … at 10.77.0.1, 10.77.0.2, …; their network is INTERFACE."""

    names: tuple[str, ...]
    folder: Path
    room: int  # the process whose namespaces hold them

    @property
    def agent(self) -> Path:
        """The program that reaches one host from another, called like ssh."""
        return self.folder / "agent"

    def command(self, number: int, words: Sequence[object]) -> list[str]:
        """The command line that runs `words` inside host `number` (0 is h1), in this folder and environment."""
        pid = (self.folder / f"pid.{self.names[number]}").read_text().strip()
        room = ["nsenter", "-t", str(self.room), "-U", "-n", "-m", "-p", "--preserve-credentials"]
        return [*room, "nsenter", "-t", pid, *HOST, "env", "-C", str(Path.cwd()), *map(str, words)]

    def run(self, number: int, words: Sequence[object], **options) -> subprocess.CompletedProcess:
        """Run `words` inside host `number`, text kept; `options` are those of `subprocess.run`."""
        kept = {"check": False, "capture_output": True, "text": True, "timeout": 240}
        return subprocess.run(self.command(number, words), **(kept | options))

    def sent_nbytes(self, number: int) -> int:
        """Bytes that host `number` put on its link so far, headers of all layers included."""
        path = f"/sys/class/net/{INTERFACE}/statistics/tx_bytes"
        return int(self.run(number, ["cat", path], check=True).stdout)


@contextmanager
def virtual_hosts(hosts: int, rate: str | None = "1gbit", mtu: int = 9000) -> Iterator[VirtualHosts]:
    """So many hosts, each sending at most at `rate` (in tc's words, such as 100mbit; None: unlimited).

    Skips the test, saying why, where this machine does not let us make them.
    """
    if missing := [name for name in PROGRAMS if not shutil.which(name)]:
        pytest.skip(f"virtual hosts need {', '.join(missing)}")
    with tempfile.TemporaryDirectory(prefix="virtual_hosts.") as name:
        folder = Path(name)
        holder = _start(folder, hosts, rate, mtu)
        try:
            _wait(holder, folder)
            room = int(Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text())
            yield VirtualHosts(tuple(f"h{number + 1}" for number in range(hosts)), folder, room)
        finally:
            holder.stdin.close()  # what the room reads from; it ends, too, when this process dies
            holder.wait(timeout=30)


def _start(folder: Path, hosts: int, rate: str | None, mtu: int) -> subprocess.Popen:
    own = " ".join(HOST)
    shape = f"tc qdisc add dev {INTERFACE} root tbf rate {rate} burst 64kb latency 400ms" if rate else ""
    table = [f"10.77.0.{number + 1} h{number + 1}" for number in range(hosts)]
    (folder / "hosts").write_text("\n".join(["127.0.0.1 localhost", *table, ""]))
    (folder / "build").write_text(BUILD.format(hosts=hosts, mtu=mtu, own=own, interface=INTERFACE, shape=shape))
    agent = folder / "agent"
    agent.write_text(AGENT.format(folder=folder, own=own))
    agent.chmod(0o755)
    with open(folder / "said", "w") as said:
        command = ["unshare", *ROOM, "bash", "build"]
        return subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=said, stderr=said)


def _wait(holder: subprocess.Popen, folder: Path) -> None:
    deadline = time.time() + 30
    while not (folder / "built").exists():
        if holder.poll() is not None or time.time() > deadline:
            said = (folder / "said").read_text().strip().splitlines()
            pytest.skip(f"this machine does not let us make virtual hosts: {(said or ['no answer'])[-1]}")
        time.sleep(0.02)
