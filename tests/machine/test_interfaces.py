"""Network interfaces: what is hardware, at which rate, with which address, and what they sent."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from allreduce_bench.machine import interfaces as module
from allreduce_bench.machine.interfaces import fabric_devices, interfaces, sent_bytes

ASK = """
import json
from allreduce_bench.machine.interfaces import interfaces
print(json.dumps({one.name: one._asdict() for one in interfaces()}))
"""


def net(root: Path, name: str, **files: str) -> Path:
    """An interface under a pretended /sys; its files by name, `device` and `lower_X` as folders."""
    folder = root / "sys" / "class" / "net" / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (folder / file).write_text(text + "\n")
    return folder


@pytest.fixture
def known(monkeypatch):
    """Interfaces of these names exist, whatever this machine has."""

    def set_names(*names: str) -> None:
        monkeypatch.setattr(module.socket, "if_nameindex", lambda: list(enumerate(names, start=1)))

    return set_names


def by_name() -> dict[str, module.Interface]:
    return {one.name: one for one in interfaces()}


def test_the_loopback_of_this_machine_is_as_everywhere():
    assert {name for _, name in socket.if_nameindex()} == set(by_name())
    loopback = by_name()["lo"]
    assert (loopback.address, loopback.prefix, loopback.up, loopback.virtual) == ("127.0.0.1", 8, True, True)


def test_what_is_sent_is_counted():
    before = sent_bytes()["lo"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(bytes(50_000), ("127.0.0.1", 9))
    assert sent_bytes()["lo"] - before >= 50_000


def test_hardware_has_a_rate_and_the_invented_rate_of_a_virtual_interface_is_not_believed(root, known):
    (net(root, "eth0", speed="25000") / "device").mkdir()
    net(root, "veth1", speed="10000")
    known("eth0", "veth1", "ghost")
    assert (by_name()["eth0"].virtual, by_name()["eth0"].rate_bytes_per_s) == (False, 25e9 / 8)
    assert (by_name()["veth1"].virtual, by_name()["veth1"].rate_bytes_per_s) == (True, None)
    assert by_name()["ghost"] == ("ghost", None, None, False, True, None)


@pytest.mark.parametrize("speed", ["-1", "4294967295", "", "0"])
def test_a_speed_that_says_nothing_is_no_rate(root, known, speed):
    (net(root, "eth0", speed=speed) / "device").mkdir()
    known("eth0")
    assert by_name()["eth0"].rate_bytes_per_s is None


def test_a_bond_over_hardware_is_hardware_and_a_bridge_over_veths_is_not(root, known):
    (net(root, "eth0") / "device").mkdir()
    (net(root, "bond0", speed="200000") / "lower_eth0").mkdir()
    (net(root, "bond0.7", speed="200000") / "lower_bond0").mkdir()
    net(root, "veth1")
    (net(root, "docker0", speed="10000") / "lower_veth1").mkdir()
    known("bond0", "bond0.7", "docker0")
    assert [(one.virtual, one.rate_bytes_per_s) for one in interfaces()] == [
        (False, 25e9),
        (False, 25e9),
        (True, None),
    ]


def test_infiniband_says_its_rate_at_its_port_and_counts_words(root, known):
    folder = net(root, "ib1", dev_port="1") / "device" / "infiniband" / "mlx4_0" / "ports"
    for port, rate in ((1, "10 Gb/sec (4X)"), (2, "200 Gb/sec (4X HDR)")):
        (folder / str(port)).mkdir(parents=True)
        (folder / str(port) / "rate").write_text(rate + "\n")
    counters = root / "sys" / "class" / "infiniband" / "mlx4_0" / "ports" / "2" / "counters"
    counters.mkdir(parents=True)
    (counters / "port_xmit_data").write_text("1000\n")
    known("ib1")
    assert by_name()["ib1"].rate_bytes_per_s == 25e9
    assert sent_bytes() == {"mlx4_0:2": 4000}
    assert fabric_devices() == ["mlx4_0"]


def test_without_sys_a_name_tells_what_is_virtual(root, known):
    known("lo", "eth0", "docker0", "veth12ab", "br-8c1f", "virbr0", "hsn0")
    assert [one.name for one in interfaces() if not one.virtual] == ["eth0", "hsn0"]
    assert all(one.rate_bytes_per_s is None for one in interfaces())


def test_without_proc_the_counters_of_sys_are_read(root):
    (net(root, "eth0") / "statistics").mkdir()
    (root / "sys/class/net/eth0/statistics/tx_bytes").write_text("77\n")
    assert sent_bytes() == {"eth0": 77}


def test_without_anything_there_is_nothing_and_no_error(root, monkeypatch):
    assert sent_bytes() == {} and fabric_devices() == []
    monkeypatch.delattr(module.socket, "if_nameindex")
    assert interfaces() == []


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="making interfaces needs root and ip")
def test_a_real_bridge_in_a_network_of_its_own():
    make = (
        "ip link add docker0 type bridge && ip addr add 172.17.0.1/16 dev docker0 && ip link set docker0 up && "
        "ip link add v0 type veth peer name v1 && ip link set v0 master docker0 && ip addr add 10.9.8.7/30 dev v1"
    )
    command = ["unshare", "-n", "sh", "-c", f'{make} && exec "$0" -c "$1"', sys.executable, ASK]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    if asked.returncode:
        pytest.skip(f"this machine does not let us make interfaces: {asked.stderr.strip()}")
    found = json.loads(asked.stdout)
    assert set(found) == {"lo", "docker0", "v0", "v1"}
    assert (found["docker0"]["address"], found["docker0"]["prefix"], found["docker0"]["up"]) == ("172.17.0.1", 16, True)
    assert (found["v1"]["address"], found["v1"]["prefix"], found["v1"]["up"]) == ("10.9.8.7", 30, False)
    assert all(one["virtual"] and one["rate_bytes_per_s"] is None for one in found.values())


def test_what_stands_on_others_is_not_counted_twice(root):
    for name, files in {"eth0": {}, "eth1": {}, "bond0": {}, "ib0": {"type": "32"}}.items():
        (net(root, name, **files) / "statistics").mkdir()
        (root / f"sys/class/net/{name}/statistics/tx_bytes").write_text("1000\n")
    for below in ("eth0", "eth1"):
        (root / f"sys/class/net/bond0/lower_{below}").mkdir()
    port = root / "sys/class/infiniband/mlx5_0/ports/1"
    (port / "counters").mkdir(parents=True)
    (port / "counters" / "port_xmit_data").write_text("250\n")
    (port / "rate").write_text("200 Gb/sec (4X HDR)\n")
    assert sent_bytes() == {"eth0": 1000, "eth1": 1000, "mlx5_0:1": 1000}
    assert module.port_rates() == {"mlx5_0:1": 25e9}
