"""Which carrier a communicator has."""

import importlib.util

import pytest

from allreduce_bench.stragglers.monitor.step_monitor import StepMonitor
from allreduce_bench.stragglers.monitor.transport import StepMonitorError, Transport
from allreduce_bench.stragglers.monitor.transport_of_comm import transport_of


@pytest.mark.parametrize("comm", [0, "world", object()])
def test_what_is_no_communicator_is_refused(comm):
    with pytest.raises(TypeError, match=f"expected a communicator .*, found {type(comm).__name__}$"):
        transport_of(comm)


needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")


@needs_torch
def test_one_process_without_a_process_group_is_watched_alone(tmp_path, monkeypatch, capfd):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert type(transport_of(None)) is Transport
    with StepMonitor(every=2, log=tmp_path / "steps.jsonl") as step:
        for _ in range(5):
            step.ready()
            step()
    assert capfd.readouterr().err.count("\n") == 1  # that nobody can be late
    assert '"steps": 5' in (tmp_path / "steps.jsonl").read_text()


@needs_torch
def test_a_process_that_torchrun_started_needs_its_group(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(StepMonitorError, match="init_process_group"):
        transport_of(None)
