"""The lines of `doctor` about the node."""

import os

import pytest

from allreduce_bench.machine import checks
from allreduce_bench.machine.at_work import Glance, Program
from allreduce_bench.machine.interfaces import Interface


@pytest.fixture
def lines(root, monkeypatch):
    """The lines about a machine that tells nothing but some facts."""
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.delattr("socket.if_nameindex")

    def lines_with(**facts) -> dict[str, checks.Check]:
        return {check.name: check for check in checks.node_checks({**checks.node_of_this_process(), **facts})}

    return lines_with


def test_a_machine_that_tells_nothing_is_missing_everything_in_words(lines):
    found = lines()
    missing = [name for name, check in found.items() if check.level == "missing"]
    assert missing == ["load", "frequency", "memory", "container"] and "affinity unknown" in found["processor"].text
    measured = {"copying", "timer"}  # whatever the machine tells: some processors copy slowly
    assert {check.level for name, check in found.items() if name not in measured} <= {"missing", "ok"}


def test_a_finding_takes_the_place_of_what_is_in_order(lines, monkeypatch):
    busy = Glance(2, 1.9, (Program("make", 7, 0.9),))
    monkeypatch.setattr(checks, "glance", lambda seconds: busy)
    found = lines(governors=["powersave"], threads=2, cpus_of_ranks=1, cores=2)
    assert found["processor"].level == "severe" and found["processor"].text.startswith("oversubscribed: 2 ranks on")
    assert found["load"].level == "caution" and found["load"].text == busy.words
    assert found["frequency"].level == "caution" and "cpupower" in found["frequency"].advice


def test_virtual_interfaces_beside_others_are_named_with_the_one_to_take(lines, monkeypatch):
    docker = Interface("docker0", "172.17.0.1", True, True, None)
    eth0 = Interface("eth0", "10.0.0.1", True, False, 1.25e8)
    monkeypatch.setattr(checks, "reachable", lambda: [eth0, docker])
    found = lines(port_rates_bytes_per_s={"mlx5_0:1": None})["interfaces"]
    assert found.level == "info" and found.advice.endswith("--interface eth0")
    assert found.text == "eth0 10.0.0.1 (1 Gbit/s), docker0 172.17.0.1 (virtual), port mlx5_0:1"
    monkeypatch.setattr(checks, "reachable", lambda: [docker])
    assert lines()["interfaces"].level == "ok"


@pytest.mark.parametrize(("factor", "level", "advice"), [(1.4, "ok", ""), (1.6, "caution", "multiples of 64 bytes")])
def test_copies_that_take_longer_where_vectors_lie_close_are_said_with_what_to_do(
    lines, monkeypatch, factor, level, advice
):
    monkeypatch.setattr(checks, "close_copy_factor", lambda: factor)
    found = lines()["copying"]
    assert found.level == level and f"takes {factor:.2f} times as long" in found.text and advice in found.advice
