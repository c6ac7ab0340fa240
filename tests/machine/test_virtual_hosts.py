"""The finding about virtual hosts: how many, which links, and who shares the cores."""

from allreduce_bench.machine.findings import findings
from allreduce_bench.machine.node import describe, virtual_finding

RATE = 12.5e6
MACHINE = {"host": "h1", "cores": 2, "threads": 2, "timer": {"step_s": 1e-8, "resolution_s": 1e-9, "cost_s": 1e-8}}
PYPI = {"library": "MPICH 5.0.2", "from_pypi": True}


def test_hosts_and_links_are_said():
    assert describe([RATE] * 4) == "4 virtual hosts of one machine, links of 100 Mbit/s"
    assert describe([RATE / 2, RATE]) == "2 virtual hosts of one machine, links of 50 Mbit/s to 100 Mbit/s"
    assert describe([RATE]) == "1 virtual host of one machine, links of 100 Mbit/s"


def test_more_ranks_than_cores_are_a_caution():
    shared, alone = virtual_finding(4, 2, True, [RATE] * 4), virtual_finding(2, 2, False, [RATE] * 2)
    assert shared["level"] == "caution" and shared["text"].split(": ")[-1].split(", ") == [
        "4 ranks on 2 cores",
        "waiting ranks yield",
    ]
    assert alone["level"] == "info" and alone["text"].endswith(": 2 ranks on 2 cores")


def codes(rates: list[float], hosts: int) -> list[str]:
    machines = [{**MACHINE, "host": f"h{number}"} for number in range(hosts)]
    return [found["code"] for found in findings(machines, [1] * hosts, PYPI, None, rates)]


def test_a_launch_on_virtual_hosts_says_so_and_does_not_ask_for_a_fabric():
    assert "virtual" in codes([RATE] * 4, 4) and "pypi" not in codes([RATE] * 4, 4)
    assert "virtual" not in codes([], 4) and "pypi" in codes([], 4)
