"""The lines of `doctor` about the node."""

import os
from pathlib import Path

import pytest

from allreduce_bench.machine import findings
from allreduce_bench.machine.core_load import Glance, Program


@pytest.fixture
def bare(root, monkeypatch) -> Path:
    """A machine that tells nothing."""
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.delattr(os, "getloadavg")
    monkeypatch.delattr("socket.if_nameindex")
    return root


def test_a_machine_that_tells_nothing_is_missing_everything_in_words(bare):
    found = list(findings.node_checks(findings.node_of_this_process()))
    assert [check.name for check in found if check.level == "missing"] == [
        *["processor", "processor", "load", "frequency", "memory", "huge pages", "container"],
        *["interfaces", "interfaces"],
    ]
    measured = {"copying", "timer"}  # whatever the machine tells: some processors copy slowly
    assert {check.level for check in found if check.name not in measured} <= {"missing", "ok"}


def test_a_finding_takes_the_place_of_what_is_in_order(bare):
    node = {
        **findings.node_of_this_process(),
        "at_work": Glance(2, 1.9, (Program("make", 7, 0.9),)),
        "governors": ["powersave"],
        "threads": 2,
        "cpus_of_ranks": 1,
        "cores": 2,
    }
    bad = {check.name: check for check in findings.node_checks(node) if check.level not in ("missing", "ok")}
    assert bad["processor"].level == "severe" and bad["processor"].text.startswith(
        "oversubscribed: 2 ranks on 1 hardware"
    )
    assert bad["load"].level == "caution" and bad["load"].text == node["at_work"].words
    assert bad["frequency"].level == "caution" and "cpupower" in bad["frequency"].advice
    assert not any(check.level == "ok" for check in findings.node_checks(node) if check.name in bad)


@pytest.mark.parametrize(("factor", "level", "advice"), [(1.4, "ok", ""), (1.6, "caution", "multiples of 64 bytes")])
def test_copies_that_take_longer_where_vectors_lie_close_are_said_with_what_to_do(bare, factor, level, advice):
    node = {**findings.node_of_this_process(), "copying": {"close_factor": factor, "fsrm": True, "libc": "glibc 2.36"}}
    (found,) = (check for check in findings.node_checks(node) if check.name == "copying")
    assert found.level == level and f"takes {factor:.2f} times as long" in found.text and advice in found.advice
