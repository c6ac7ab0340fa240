"""Ports: a written kernel goes in before and after a launch, what grew and what is degraded comes out."""

import pytest

from allreduce_bench.machine.ports import LEAST_NBYTES, port_findings, watch_ports

DEVICE = "sys/class/infiniband/mlx5_0/device"
PORT = "sys/class/infiniband/mlx5_0/ports/1"
HEAD = "Inter-|   Receive\n face |bytes    packets errs drop\n"


@pytest.fixture
def port(put):
    """A port of InfiniBand that is up, in a slot as wide as its device."""
    put(f"{PORT}/state", "4: ACTIVE")
    put(f"{PORT}/rate", "200 Gb/sec (4X HDR)")
    put(f"{PORT}/link_layer", "InfiniBand")
    put(f"{PORT}/counters/symbol_error", 7)
    for kind, value in {"width": 16, "speed": "16.0 GT/s PCIe"}.items():
        for which in ("current", "max"):
            put(f"{DEVICE}/{which}_link_{kind}", value)
    return put


def interface(name: str, received: int, rx_errors: int = 0, tx_dropped: int = 0) -> str:
    return f"{HEAD} {name}: {received} 9 {rx_errors} 5 0 0 0 0 77 9 0 {tx_dropped} 0 0 0 0\n"


def found(ports: dict) -> list[tuple[str, str, str]]:
    findings = port_findings([{"host": "n1", "ports": ports}])
    return [(finding["code"], finding["level"], finding["text"].partition(": ")[2]) for finding in findings]


def test_where_nothing_is_shown_nothing_is_kept(root):
    assert watch_ports()() == {}


def test_what_was_counted_before_is_not_of_the_launch(port):
    assert watch_ports()() == {"ports": {}}


def test_errors_are_counted(port):
    since = watch_ports()
    port(f"{PORT}/counters/symbol_error", 9)
    errors = since()["ports"]
    assert errors == {"mlx5_0:1": {"counted": {"symbol_error": 2}}}
    assert found(errors) == [("port errors", "caution", "mlx5_0:1 symbol_error 2")]


def test_counters_that_were_set_back_are_no_errors(port):
    since = watch_ports()
    port(f"{PORT}/counters/symbol_error", 0)
    assert since() == {"ports": {}}


@pytest.mark.parametrize(
    ("file", "value", "words"),
    [
        (f"{PORT}/rate", "50 Gb/sec (1X HDR)", "mlx5_0:1 has one lane: 50 Gb/sec (1X HDR)"),
        (f"{DEVICE}/current_link_width", "8", "mlx5_0 has 8 of 16 lanes of PCIe"),
        (f"{DEVICE}/current_link_speed", "8.0 GT/s PCIe", "mlx5_0 has 8 of 16 GT/s of PCIe"),
    ],
)
def test_what_is_below_what_it_could_be_is_degraded(port, file, value, words):
    since = watch_ports()
    port(file, value)
    assert found(since()["ports"]) == [("degraded link", "caution", words)]


@pytest.mark.parametrize(("file", "value"), [("link_layer", "Ethernet"), ("state", "1: DOWN")])
def test_one_lane_of_ethernet_and_of_a_port_that_is_down_is_no_trouble(port, file, value):
    port(f"{PORT}/rate", "25 Gb/sec (1X EDR)")
    port(f"{PORT}/{file}", value)
    assert watch_ports()() == {"ports": {}}


def test_interfaces_count_where_they_took_part(put):
    put("proc/net/dev", interface("eth0", 0))
    since = watch_ports()
    put("proc/net/dev", interface("eth0", LEAST_NBYTES, rx_errors=3, tx_dropped=1))
    assert since()["ports"] == {"eth0": {"counted": {"rx_errors": 3, "tx_dropped": 1}}}
    put("proc/net/dev", interface("eth0", LEAST_NBYTES - 1, rx_errors=3))
    assert since() == {"ports": {}}
    put("proc/net/dev", interface("docker0", LEAST_NBYTES, rx_errors=3))
    assert since() == {"ports": {}}


def test_many_ports_are_said_in_few_words_and_only_the_nodes_concerned():
    ports = {f"mlx5_{number}:1": {"counted": {"link_downed": 1}} for number in range(6)}
    (one,) = port_findings([{"host": "n1", "ports": {}}, {"host": "n2", "ports": ports}])
    assert one["text"].endswith("mlx5_3:1 link_downed 1 and 2 more on n2")
