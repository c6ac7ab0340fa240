"""What is made of blocks: the same alerts on all ranks, files and sentences on rank 0 only."""

import json

import numpy as np
import pytest

from allreduce_bench.stragglers.monitor import observer
from allreduce_bench.stragglers.monitor.blocks import Block
from allreduce_bench.stragglers.monitor.observer import MonitoredJob, Observer
from allreduce_bench.stragglers.monitor.watchdog import Stall
from allreduce_bench.stragglers.monitor.words import too_little_sentence
from allreduce_bench.stragglers.step_alarm import Alert, TooLittle

SLOW = Alert("slow", 1, 10, 0.12, 9.0, np.int64(0))


class Alarm:
    """Says that rank 1 is slow, and after that that it is not."""

    def __init__(self, ranks, node_of):
        self.steps, self.clock_error_s, self.least_told = 0, 0.0, 0.1

    def update(self, ready_s, step_s):
        self.steps += len(step_s)
        assert self.clock_error_s == 1e-6
        return [SLOW if self.steps == 10 else SLOW._replace(kind="recovered", step=self.steps)]

    def too_little(self, steps):
        return TooLittle(2, steps, self.least_told)


def block(first_step: int, ready_s: float = 1.0) -> Block:
    return Block(first_step, np.full((10, 2), ready_s), np.full(10, 0.5), 1.0, 1e-6)


@pytest.fixture
def played(monkeypatch):
    monkeypatch.setattr(observer, "StepAlarm", Alarm)


@pytest.mark.parametrize("rank", [0, 1])
def test_alerts_reach_the_program_on_each_rank_and_files_on_rank_0(played, rank, tmp_path, capfd):
    alerts: list = []
    job = MonitoredJob(rank, (0, 1), ("n1", "n2"), 10)
    watching = Observer(job, tmp_path / "a.jsonl", alerts.append)
    watching.take(block(0))
    watching.take(block(10))
    watching.close(complete=True, raised="")
    assert [alert.kind for alert in alerts] == ["slow", "recovered"]
    assert {alert.host for alert in alerts} == {"n2"}
    told = capfd.readouterr().err.splitlines()
    if rank:
        assert not told and not [*tmp_path.iterdir()]
        return
    assert told[0].startswith("StepMonitor: step 10: rank 1 on node n2 is 12 % slower") and len(told) == 2
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["start", "steps", "slow", "steps", "recovered", "end"]
    assert len({line["job"] for line in lines}) == 1 and len(lines[0]["job"]) == 16
    assert lines[1]["first_step"] == 0 and lines[3]["first_step"] == 10 and lines[2]["rank"] == 1
    assert lines[2]["host"] == "n2"
    assert "too_little" not in lines[-1]


def test_without_ready_times_nobody_is_judged_and_that_is_told_once(played, capfd):
    watching = Observer(MonitoredJob(0, (0, 0), ("n1",), 10), None, None)
    watching.take(block(0, np.nan))
    watching.take(block(10, np.nan))
    assert capfd.readouterr().err.count("no rank calls ready()") == 1 and watching.alarm.steps == 0


@pytest.mark.parametrize("least_told", [None, 0.35])
def test_too_little_to_judge_by_is_told_once_at_the_end(played, least_told, tmp_path, capfd):
    watching = Observer(MonitoredJob(0, (0, 0), ("n1",), 10), tmp_path / "a.jsonl", None)
    watching.alarm.least_told = least_told
    watching.take(block(0))
    capfd.readouterr()
    watching.close(complete=True, raised="")
    (told,) = capfd.readouterr().err.splitlines()
    assert told == f"StepMonitor: {too_little_sentence(TooLittle(2, 10, least_told))}"
    end = json.loads((tmp_path / "a.jsonl").read_text().splitlines()[-1])
    assert end["too_little"] == {"ranks": 2, "steps": 10, "least_told": least_told}


def test_a_function_of_the_program_that_raises_ends_no_thread(capfd):
    def raising(fact):
        raise KeyError("mine")

    watching = Observer(MonitoredJob(0, (0, 0), ("n1",), 10), None, raising)
    watching.tell(Stall(7, 61.0, behind=(1,)))
    watching.tell(Stall(7, 71.0, behind=(1,), is_over=True))
    watching.tell(Stall(7, 61.0, told_by=1))
    told = capfd.readouterr().err
    assert told.count("on_alert raised KeyError: 'mine'") == 2 and "Traceback" not in told


def test_an_end_without_all_ranks_is_told(capfd):
    Observer(MonitoredJob(0, (0, 0), ("n1",), 10), None, None).close(complete=False, raised="")
    Observer(MonitoredJob(0, (0, 0), ("n1",), 10), None, None).close(complete=False, raised="KeyError")
    Observer(MonitoredJob(1, (0, 0), ("n1",), 10), None, None).close(complete=False, raised="")
    assert len(capfd.readouterr().err.splitlines()) == 1
