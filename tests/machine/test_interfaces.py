"""Network interfaces: what is hardware, at which rate, with which address, and what they sent."""

import socket

import pytest

from allreduce_bench.machine import interfaces as module
from allreduce_bench.machine.interfaces import (
    Interface,
    fabric_devices,
    interfaces,
    likely_way,
    port_rates,
    reachable,
)
from allreduce_bench.machine.traffic import sent_bytes

NET, FABRIC = "sys/class/net", "sys/class/infiniband"


@pytest.fixture
def known(monkeypatch):
    """Return virtual and rate of interfaces of these names, whatever this machine has."""

    def ask(*names: str) -> list[tuple[bool, float | None]]:
        monkeypatch.setattr(module.socket, "if_nameindex", lambda: list(enumerate(names, start=1)))
        return [(one.virtual, one.rate_bytes_per_s) for one in interfaces()]

    return ask


def test_the_loopback_of_this_machine_is_as_everywhere():
    by_name = {one.name: one for one in interfaces()}
    assert {name for _, name in socket.if_nameindex()} == set(by_name)
    loopback = by_name["lo"]
    assert (loopback.address, loopback.up, loopback.virtual) == ("127.0.0.1", True, True)
    assert loopback not in reachable() and likely_way([]) == "NAME"


def test_the_likely_way_is_the_fastest_hardware():
    ways = [
        Interface("docker0", "172.17.0.1", True, True, None),
        Interface("hsn0", "10.1.0.1", True, False, 25e9),
        Interface("eth0", "10.0.0.1", True, False, 1e8),
    ]
    assert likely_way(ways) == "hsn0" and likely_way(ways[:1]) == "docker0"


def test_what_is_sent_is_counted():
    before = sent_bytes()["lo"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(bytes(50_000), ("127.0.0.1", 9))
    assert sent_bytes()["lo"] - before >= 50_000


def test_hardware_has_a_rate_and_the_invented_rate_of_a_virtual_interface_is_not_believed(put, known):
    put(f"{NET}/eth0/speed", 25000)
    put(f"{NET}/eth0/device/vendor", 1)
    put(f"{NET}/veth1/speed", 10000)
    assert known("eth0", "veth1", "unlisted") == [(False, 25e9 / 8), (True, None), (True, None)]


@pytest.mark.parametrize("speed", ["-1", "4294967295", "", "0"])
def test_a_speed_that_says_nothing_is_no_rate(put, known, speed):
    put(f"{NET}/eth0/speed", speed)
    put(f"{NET}/eth0/device/vendor", 1)
    assert known("eth0") == [(False, None)]


def test_a_bond_over_hardware_is_hardware_and_a_bridge_over_veths_is_not(put, known):
    put(f"{NET}/eth0/device/vendor", 1)
    for upper, lower in (("bond0", "eth0"), ("bond0.7", "bond0"), ("docker0", "veth1")):
        put(f"{NET}/{upper}/lower_{lower}", "")
        put(f"{NET}/{upper}/speed", 200000)
    assert known("bond0", "bond0.7", "docker0") == [(False, 25e9), (False, 25e9), (True, None)]


def test_infiniband_says_its_rate_at_its_port_and_counts_words(put, known):
    put(f"{NET}/ib1/dev_port", 1)
    for folder in (f"{NET}/ib1/device/infiniband", FABRIC):
        for port, rate in ((1, "unknown"), (2, "200 Gb/sec (4X HDR)")):
            put(f"{folder}/mlx4_0/ports/{port}/rate", rate)
    put(f"{FABRIC}/mlx4_0/ports/2/counters/port_xmit_data", 1000)
    assert known("ib1") == [(False, 25e9)]
    assert sent_bytes() == {"mlx4_0:2": 4000} and port_rates() == {"mlx4_0:1": None, "mlx4_0:2": 25e9}
    assert fabric_devices({"port_rates_bytes_per_s": port_rates()}) == ["mlx4_0"]


def test_without_sys_a_name_tells_what_is_virtual(root, known):
    names = ("lo", "eth0", "docker0", "veth12ab", "br-8c1f", "virbr0", "hsn0")
    assert [name for name, (virtual, _) in zip(names, known(*names)) if not virtual] == ["eth0", "hsn0"]


def test_without_anything_there_is_nothing_and_no_error(root, monkeypatch):
    assert sent_bytes() == {} and port_rates() == {} and fabric_devices({}) == []
    monkeypatch.delattr(module.socket, "if_nameindex")
    assert interfaces() == []


def test_what_stands_on_others_is_not_counted_twice(put):
    put("proc/net/dev", "of\nnet\n" + "\n".join(f"{name}: 0 0 0 0 0 0 0 0 1000" for name in ("eth0", "bond0", "ib0")))
    put(f"{NET}/bond0/lower_eth0", "")
    put(f"{NET}/ib0/type", 32)
    put(f"{FABRIC}/mlx5_0/ports/1/counters/port_xmit_data", 250)
    assert sent_bytes() == {"eth0": 1000, "mlx5_0:1": 1000}
