"""StepMonitor as programs use it: misuse without MPI, slowed and stalled ranks over MPI, what it loads."""

import itertools
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from interpreters import FULL, in_turn, interpreters
from measured_runs import with_package
from places import ROOT
from rank_programs import mpirun
from shown_commands import blocks

import allreduce_bench
from allreduce_bench.stragglers.monitor import step_monitor
from allreduce_bench.stragglers.monitor.step_monitor import StepMonitor
from allreduce_bench.stragglers.monitor.transport import StepMonitorError, Transport
from allreduce_bench.stragglers.monitor.words import UNFINISHED, too_little_sentence
from allreduce_bench.stragglers.step_alarm import TooLittle

RANKS = (1, 2, 3, 4, 5, 8)


class Alone(Transport):
    """The transport of a program of one rank, which can be freed."""

    usable = True

    def is_usable(self):
        return self.usable

    def free(self):
        self.usable = False


@pytest.fixture
def alone(monkeypatch):
    transport = Alone()
    monkeypatch.setattr(step_monitor, "transport_of", lambda comm: transport)
    return transport


def test_it_is_offered_by_the_package():
    assert allreduce_bench.StepMonitor is StepMonitor
    with pytest.raises(AttributeError, match="no attribute 'StepMonitors'"):
        allreduce_bench.StepMonitors  # noqa: B018


def test_calls_without_a_meaning_are_one_sentence(alone):
    step = StepMonitor(every=2)
    with pytest.raises(StepMonitorError, match="StepMonitor watches"):
        step()
    with step:
        step.ready()
        step()
        with pytest.raises(StepMonitorError, match="step 1.*came without"):
            step()
    with pytest.raises(StepMonitorError, match="has ended"):
        step.ready()
    with pytest.raises(StepMonitorError, match="entered once"), step:
        pass
    alone.usable = True
    with StepMonitor(every=2) as step:
        step()
        with pytest.raises(StepMonitorError, match="earlier steps"):
            step.ready()
        alone.usable = False
        with pytest.raises(StepMonitorError, match="was freed"):
            step()


def test_a_program_of_one_rank_has_the_times_of_its_steps(alone, tmp_path, capfd):
    with StepMonitor(every=3, log=tmp_path / "steps.jsonl") as step:
        for _ in range(7):
            step()
    lines = read(tmp_path / "steps.jsonl")
    assert [line["kind"] for line in lines] == ["start", "steps", "steps", "steps", "end"]
    assert [len(line["step_s"]) for line in lines[1:4]] == [3, 3, 1] and lines[-1]["steps"] == 7
    assert all(line["late_s"] is None for line in lines[1:4])
    assert capfd.readouterr().err.splitlines() == [f"StepMonitor: {too_little_sentence(TooLittle(1, 7, None))}"]


def test_files_stay_where_they_are_when_the_program_goes_elsewhere(alone, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    with StepMonitor(every=1, log="steps.jsonl") as step:
        monkeypatch.chdir(tmp_path / "elsewhere")
        step()
    assert {path.name for path in tmp_path.iterdir()} == {"elsewhere", "steps.jsonl"}
    assert not list((tmp_path / "elsewhere").iterdir())


def test_blocks_grow_until_they_take_a_second(alone, tmp_path, monkeypatch):
    milliseconds = itertools.count()
    monkeypatch.setattr(step_monitor, "perf_counter", lambda: next(milliseconds) * 1e-3)
    with StepMonitor(log=tmp_path / "steps.jsonl") as step:
        for _ in range(250):
            step()
    sizes = [len(line["step_s"]) for line in read(tmp_path / "steps.jsonl") if line["kind"] == "steps"]
    assert sizes[:3] == [10, 10, 100] and sum(sizes) == 250


def test_an_exception_is_kept_and_nothing_is_asked_of_other_ranks(alone, tmp_path, monkeypatch):
    with pytest.raises(ArithmeticError), StepMonitor(every=5, log=tmp_path / "steps.jsonl") as step:
        step()
        monkeypatch.setattr(alone, "gather", None)
        raise ArithmeticError
    assert alone.usable
    assert read(tmp_path / "steps.jsonl")[-1] | {"time": "", "job": ""} == {
        "job": "",
        "kind": "end",
        "steps": 0,
        "complete": False,
        "raised": "ArithmeticError",
        "time": "",
    }


def test_it_loads_nothing_that_measures_starts_or_reports():
    program = "import sys; from allreduce_bench import StepMonitor; print(*sys.modules)"
    command = [sys.executable, "-c", program]
    loaded = set(subprocess.check_output(command, text=True, env=with_package()).split())
    assert "allreduce_bench.stragglers.monitor.watchdog" in loaded
    heavy = {"pandas", "rich", "scipy", "matplotlib", "click", "jinja2", "torch", "mpi4py"}
    assert not heavy & {name.partition(".")[0] for name in loaded}
    rooms = {name.split(".")[1] for name in loaded if name.startswith("allreduce_bench.")}
    assert rooms <= {"stragglers", "robust", "units", "message", "wings"}, rooms


def read(path) -> list[dict]:
    """The lines of a log, whole ones."""
    text = path.read_text()
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


needs_mpi = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


@pytest.fixture(params=dict.fromkeys(interpreters()), ids=lambda path: path.parent.parent.name)
def python(request):
    return request.param


@needs_mpi
@pytest.mark.parametrize("ranks", RANKS if FULL else [1, 2, 5, 8])
def test_the_slowed_rank_is_named_on_all_ranks(python, on_ranks, ranks, tmp_path):
    in_turn(RANKS.index(ranks), python)
    log = tmp_path / "steps.jsonl"
    limit = ["--until-alert", "--steps", "400"] if ranks > 1 else ["--steps", "23"]
    given = ["slow", "--every", "10", *limit, "--lines", str(log)]
    ended = on_ranks(ranks, "watched_steps.scenario", *given, limit_s=600)
    found = {re.fullmatch(r"rank \d+ after (\d+) steps: (.*)\n", printed).groups() for printed, _ in ended}
    assert len(found) == 1
    ((number, alerts),) = found
    steps, alerts, words = int(number), json.loads(alerts), "".join(said for _, said in ended)
    lines = read(log)
    assert lines[0]["kind"] == "start" and lines[0]["schema"] == "allreduce-bench-steps-1"
    assert lines[0]["ranks"] == len(lines[0]["node_of"]) == ranks and len(lines[0]["nodes"]) == 1
    blocks = [line for line in lines if line["kind"] == "steps"]
    assert [block["first_step"] for block in blocks] == [*range(0, steps, 10)]
    assert all(np.shape(block["late_s"]) == (ranks, len(block["step_s"])) for block in blocks)
    assert all(np.min(block["late_s"], axis=0).max() == 0 for block in blocks)
    end = {"kind": "end", "steps": steps, "complete": True, "raised": None, "time": 0, "job": lines[0]["job"]}
    assert (lines[-1].pop("too_little", None) is not None) >= (ranks == 1)
    assert lines[-1] | {"time": 0} == end
    if ranks > 1:  # the last rank sleeps twice as long
        late_s = np.median(np.concatenate([block["late_s"] for block in blocks], axis=1), axis=1)
        assert late_s.argmax() == ranks - 1 and late_s[-1] > 0.005
        assert ["slow", ranks - 1] in alerts
        said = rf"^StepMonitor: step \d+: rank {ranks - 1} is \d+ % slower than the others"
        assert len(re.findall(said, words, re.MULTILINE)) == 1


@needs_mpi
def test_stalls_are_named_and_misuse_and_ranks_that_leave_hang_nobody(python, on_ranks, tmp_path):
    log = tmp_path / "steps.jsonl"
    said = {}
    for name in ("stall", "absent", "stop", "without", "different", "freed", "leave"):
        ended = on_ranks(3, "watched_steps.scenario", name, "--lines", str(log))
        said[name] = "".join(words for _, words in ended)
    in_step_7 = r"StepMonitor: no step has ended for \d+ s, step 7 is in progress: rank 2"
    over = r"StepMonitor: step 7 has ended after \d+ s: the stall is over\n"
    too_few = r"StepMonitor: 14 steps of 3 ranks are too little to say who is slow; .*\n"
    assert re.fullmatch(rf"{in_step_7} is not ready\n{over}{too_few}", said["stall"]), said
    assert re.match(
        rf"{in_step_7} has ended it, and the others are still in it: it left out an all-reduce", said["absent"]
    ), said
    assert re.match(rf"{in_step_7} does not answer \(stopped, ended, or busy .*\n", said["stop"]), said
    assert not any("rank 0 does not ask" in words for words in said.values())
    assert said["without"].count("StepMonitor: ") == said["without"].count("no rank calls ready()") == 1
    assert said["different"] == "" and UNFINISHED in said["leave"]
    first, last = (line for line in read(log) if line["kind"] == "stall")
    assert first["behind"] == last["behind"] == [2] and first["step"] == last["step"] == 7
    assert not first["is_over"] and last["is_over"] and last["stall_s"] > first["stall_s"]
    assert not read(log)[-1]["complete"]


@pytest.mark.slow
@needs_mpi
def test_the_example_of_the_page_runs(python, tmp_path):
    in_turn(0, python)
    text = (ROOT / "docs" / "step-monitor.md").read_text()
    (program,) = [block for block in blocks(text) if block.startswith("# steps.py")]
    (tmp_path / "steps.py").write_text(program.replace("range(300)", "range(50)"))  # played ranks say who is slow
    status, words = mpirun(python, 4, str(tmp_path / "steps.py"))
    assert status == 0, words
    assert read(tmp_path / "steps.jsonl")[-1]["steps"] == 50
    assert {path.name for path in tmp_path.iterdir()} == {"steps.py", "steps.jsonl"}
