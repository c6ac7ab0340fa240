"""The room of a lab: hosts with links of their rate, as root and as a user; nothing is left of it, whatever ends it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from places import ROOT

from allreduce_bench.lab import lab as room_module
from allreduce_bench.lab.lab import INTERFACE, LabError, room

LEFT = "processes of the lab are left"
UNMADE_SECOND = "h2 of 2 could not be made"

pytestmark = pytest.mark.usefixtures("needs_lab")
RATE = 12.5e6
HOLD = """import sys, time
from allreduce_bench.lab.lab import room
with room([12.5e6, 12.5e6]) as made:
    print(made.pid, flush=True)
    time.sleep(1000)
"""
AS_USER = """import os, subprocess
from allreduce_bench.lab.lab import room
with room([12.5e6, 6.25e6]) as made:
    words = "hostname; tc qdisc show dev e0; exec 3<>/dev/tcp/h1/5000"
    print(os.geteuid(), made.as_user, subprocess.run(made.command(1, ["bash", "-c", words]), capture_output=True))
"""


def said_by(made, number: int, *words: str) -> str:
    return subprocess.run(made.command(number, words), capture_output=True, text=True, check=True).stdout


def network_of_machine() -> tuple[str, list[str], list[str]]:
    """Interfaces, mounts but for those of other tests, and named network namespaces, as this process sees them."""
    named = sorted(os.listdir("/run/netns")) if Path("/run/netns").is_dir() else []
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    return said("ip", "-o", "link"), [mount for mount in mounts if "/pytest-of-" not in mount], named


def said(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def processes_in(space: str) -> list[str]:
    """The processes in a namespace of processes, given as its link in /proc."""
    found = []
    for path in Path("/proc").glob("[0-9]*/ns/pid"):
        try:
            found += [str(path)] if os.readlink(path) == space else []
        except OSError:
            continue
    return found


def test_each_host_has_the_rate_of_its_link_at_both_ends():
    with room([RATE, RATE / 2, None]) as made:
        own = [said_by(made, number, "tc", "qdisc", "show", "dev", INTERFACE) for number in range(3)]
        bridge = said("nsenter", "-t", str(made.pid), "-n", "tc", "qdisc", "show")
    assert ["rate 100Mbit" in own[0], "rate 50Mbit" in own[1], "tbf" in own[2]] == [True, True, False]
    assert "dev port1 root" in bridge and bridge.count("tbf") == 2 and bridge.count("rate 50Mbit") == 1


def test_a_host_has_its_own_name_shared_memory_and_the_files_of_the_machine(tmp_path):
    with room([RATE, RATE]) as made:
        said_by(made, 1, "bash", "-c", "hostname > told; touch /dev/shm/own")
        assert "own" not in said_by(made, 0, "ls", "/dev/shm")
    assert (tmp_path / "told").read_text() == "h2\n" and not Path("/dev/shm/own").exists()


@pytest.fixture
def open_folder():
    """A folder that other users may enter, unlike those that pytest makes."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_user_makes_hosts_where_the_kernel_has_user_namespaces(open_folder):
    python, drop = shutil.which("python3", path="/usr/bin"), ["setpriv", "--reuid=65534", "--regid=65534"]
    package = open_folder / "allreduce_bench"
    shutil.copytree(ROOT / "allreduce_bench", package, ignore=shutil.ignore_patterns("__pycache__"))
    allowed = [*drop, "--clear-groups", "unshare", "-Urn", "true"]
    if not python or not shutil.which("setpriv") or subprocess.run(allowed, capture_output=True).returncode:
        pytest.skip("no Python for other users, or no user namespaces")
    command = [
        *drop,
        "--clear-groups",
        "env",
        f"PYTHONPATH={open_folder}",
        "PATH=/usr/bin:/bin:/usr/sbin",
        python,
        "-c",
        AS_USER,
    ]
    result = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=240)
    assert result.stdout.startswith("65534 True"), result.stderr
    assert "h2" in result.stdout and "rate 50Mbit" in result.stdout and "Connection refused" in result.stdout


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_when_the_holder_dies(number):
    before = network_of_machine()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD], env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True
    )
    first = int(holder.stdout.readline())
    space = os.readlink(f"/proc/{first}/ns/pid")
    left = subprocess.Popen(["nsenter", "-t", str(first), "-n", "-p", "sleep", "1000"])
    while len(processes_in(space)) < 4:  # what holds the lab, two hosts, and sleep
        time.sleep(0.01)
    holder.send_signal(number)
    holder.wait(timeout=240)
    left.wait(timeout=240)
    deadline = time.time() + 240
    while processes_in(space):
        assert time.time() < deadline, LEFT
        time.sleep(0.02)
    assert network_of_machine() == before


def test_what_tc_refuses_is_said_and_nothing_is_left():
    before = network_of_machine()
    with pytest.raises(LabError, match=UNMADE_SECOND + ".*(?:rate|burst)"), room([RATE, 1e300]):
        pass
    assert network_of_machine() == before


def test_a_missing_program_is_named_with_its_package(monkeypatch, tmp_path):
    for name in ("bash", "unshare", "nsenter", "mount", "hostname"):
        (tmp_path / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(room_module, "SYSTEM_PATHS", ())
    said = "virtual hosts need ip and tc: not found in PATH; install iproute2"
    with pytest.raises(LabError, match=said), room([RATE]):
        pass


def test_without_root_and_user_namespaces_both_ways_out_are_said(monkeypatch, tmp_path):
    (tmp_path / "unshare").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "unshare").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    said = "run it as root, or allow them .sysctl user.max_user_namespaces"
    with pytest.raises(LabError, match=said), room([RATE]):
        pass
