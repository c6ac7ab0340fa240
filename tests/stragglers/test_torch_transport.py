"""StepMonitor in a job of torchrun: steps of Gloo processes, and a stall."""

import importlib.util
import json
import re
import subprocess
import sys

import pytest
from measured_runs import with_package
from places import RANK_PROGRAMS, ROOT
from shown_commands import blocks

from allreduce_bench.stragglers.monitor.torch_transport import TorchTransport
from allreduce_bench.stragglers.monitor.transport import StepMonitorError

STALLED = "7 is in progress: rank 3 is not ready"

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")


def torchrun(processes: int, *program: str) -> subprocess.CompletedProcess:
    """A job of so many processes on this machine."""
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    return subprocess.run(
        [*start, *program], capture_output=True, text=True, timeout=240, check=False, env=with_package()
    )


@pytest.mark.slow
@needs_torch
def test_steps_and_a_stall_are_known_in_a_job_of_torchrun(tmp_path):
    log = tmp_path / "steps.jsonl"
    result = torchrun(4, str(RANK_PROGRAMS / "watched_steps.py"), "--torch", "stall", "--lines", str(log))
    assert result.returncode == 0, result.stderr
    assert re.search(STALLED + "$", result.stderr, re.MULTILINE), result.stderr
    assert "7 has ended after" in result.stderr
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["kind"] for line in lines].count("stall") == 2 and lines[-1]["complete"]
    late_s = [line["late_s"] for line in lines if line["kind"] == "steps"]
    assert sum(len(of_ranks[0]) for of_ranks in late_s) == 14 and all(len(of_ranks) == 4 for of_ranks in late_s)


@pytest.mark.slow
@needs_torch
def test_the_example_of_the_page_runs(tmp_path):
    text = (ROOT / "docs" / "step-monitor.md").read_text()
    (program,) = [block for block in blocks(text) if block.startswith("# train.py")]
    (tmp_path / "train.py").write_text(program.replace("range(150)", "range(60)"))
    result = torchrun(2, str(tmp_path / "train.py"))
    assert result.returncode == 0, result.stderr
    lines = [json.loads(line) for line in (tmp_path / "steps.jsonl").read_text().splitlines()]
    assert lines[-1]["steps"] == 60 and lines[-1]["complete"]
    assert all(None not in line["late_s"][0] for line in lines if line["kind"] == "steps")


def test_without_torch_a_communicator_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(StepMonitorError, match="under MPI"):
        TorchTransport()
