"""The virtual hosts that other tests measure on: they have names, reach each other, and send at their rate at most."""

import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from virtual_hosts import INTERFACE, virtual_hosts

from allreduce_bench.lab.lab import AGENT_SCRIPT

UNRESOLVED = re.search(r'echo "(.*)\$1"', AGENT_SCRIPT)[1]

SINK = "import socket; s = socket.create_server(('', 5000)); c = s.accept()[0]\nwhile c.recv(1 << 20): pass"
SOURCE = "import socket; socket.create_connection(('h2', 5000)).sendall(bytes(2 * 10**6))"


@pytest.fixture(scope="module")
def hosts():
    with virtual_hosts(3, rate="100mbit", mtu=4000) as made:
        yield made


def test_each_has_a_name_and_one_interface(hosts):
    for number, name in enumerate(hosts.names):
        assert hosts.run(number, ["hostname"]).stdout == f"{name}\n"
        assert set(hosts.run(number, ["ls", "/sys/class/net"]).stdout.split()) == {"lo", INTERFACE}
        assert hosts.run(number, ["cat", f"/sys/class/net/{INTERFACE}/mtu"]).stdout == "4000\n"


def test_the_agent_reaches_another_host_in_a_fresh_environment(hosts):
    said = hosts.run(0, [hosts.agent, "-x", "-o", "BatchMode=yes", "h2", "hostname; echo [$MINE]"], env=with_mine())
    assert said.stdout == "h2\n[]\n"
    assert hosts.run(0, ["bash", "-c", "hostname; echo [$MINE]"], env=with_mine()).stdout == "h1\n[1]\n"
    unknown = hosts.run(0, [hosts.agent, "h9", "true"])
    assert unknown.returncode == 255 and f"{UNRESOLVED}h9" in unknown.stderr


def with_mine() -> dict[str, str]:
    return {**os.environ, "MINE": "1"}


def test_what_one_sends_to_another_is_counted_on_its_link(hosts):
    sink = subprocess.Popen(hosts.command(1, ["python3", "-c", SINK]))
    before = hosts.sent_nbytes(0), hosts.sent_nbytes(2)
    while hosts.run(0, ["python3", "-c", SOURCE]).returncode:
        time.sleep(0.05)
    sink.wait(timeout=240)
    sent, elsewhere = hosts.sent_nbytes(0) - before[0], hosts.sent_nbytes(2) - before[1]
    assert 2 * 10**6 < sent < 3 * 10**6 and elsewhere < 10**5  # what is lost on busy machines is sent again


def test_the_link_has_the_rate_that_was_asked_for(hosts):
    said = hosts.run(0, ["tc", "qdisc", "show", "dev", INTERFACE]).stdout
    assert "tbf" in said and "rate 100Mbit" in said


def test_nothing_is_left_of_them():
    with virtual_hosts(2) as made:
        left = subprocess.Popen(made.command(1, ["bash", "-c", "echo; sleep 1000"]), stdout=subprocess.PIPE)
        left.stdout.readline()
    left.communicate(timeout=240)
    assert not made.agent.exists() and not Path(f"/proc/{made.room.pid}").exists()
