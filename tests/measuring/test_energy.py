"""Joules of a call: what is counted in a loop of calls, less what idle nodes take; where nothing is counted, why."""

import json
from csv import DictReader
from types import SimpleNamespace

import pytest
from interpreters import interpreters

from allreduce_bench.machine.energy import Meter, NoCount

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")

IDLE_W, BUSY_W, MEMORY_W, CALL_S = 40.0, 100.0, 5.0, 0.02


class Machine:
    """A node whose package takes BUSY_W while calls are made, IDLE_W else, and whose memory always takes MEMORY_W."""

    def __init__(self):
        self.now_s = self.package = self.memory = 0.0
        self.memory_w, self.package_w = MEMORY_W, IDLE_W

    def sleep(self, seconds, package_w=None):
        self.now_s += seconds
        self.package += seconds * (self.package_w if package_w is None else package_w)
        self.memory += seconds * self.memory_w

    def counters(self):
        def counter(name):
            def spent_j(before, after, elapsed_s):
                return after - before

            return Shown(name, lambda: getattr(self, name.rpartition("/")[2]), spent_j)

        return [counter("package"), counter("package/memory")]


class Shown(SimpleNamespace):
    """A counter of a `Machine`."""

    is_power = False

    def __init__(self, name, read, spent_j):
        super().__init__(name=name, read=read, spent_j=spent_j)

    def __hash__(self):
        return hash(self.name)


class Comm:
    """One rank, beside those whose objects are `others`."""

    rank, size = 0, 1

    def __init__(self, *others):
        self.others = others

    def bcast(self, value):
        return value

    def allgather(self, value):
        return [value, *self.others]

    def Barrier(self):  # noqa: N802 - as in mpi4py
        pass

    def Ibarrier(self):  # noqa: N802 - as in mpi4py
        return SimpleNamespace(Test=lambda: True)


@pytest.fixture
def machine(monkeypatch):
    from allreduce_bench.measuring import energy

    machine = Machine()

    def back_to_back(call, comm, clock, calls):
        machine.sleep(CALL_S * calls, BUSY_W)
        return CALL_S

    monkeypatch.setattr(energy, "MEMORY", "/memory")
    monkeypatch.setattr(energy, "find_counters", machine.counters)
    monkeypatch.setattr(energy, "Meter", lambda counters: Meter(counters, lambda: machine.now_s))
    monkeypatch.setattr(energy, "perf_counter", lambda: machine.now_s)
    monkeypatch.setattr(energy, "sleep", machine.sleep)
    monkeypatch.setattr(energy, "back_to_back", back_to_back)
    monkeypatch.setattr(energy, "host", lambda: "n1")
    monkeypatch.delenv(energy.SHARED_VARIABLE, raising=False)
    return machine


def make_energy(*others):
    from allreduce_bench.measuring.energy import Energy

    return Energy(Comm(*others), reads=True)


def test_a_loop_of_a_second_is_counted_less_what_the_node_takes_idle(machine):
    energy = make_energy()
    assert energy.is_counted and energy.findings == [] and energy.facts == {}
    assert energy.count_idle() == [] and machine.now_s == pytest.approx(2.0)
    columns, found, call_s = energy.count(None, None)
    assert columns["energy_j"] == pytest.approx((BUSY_W - IDLE_W) * CALL_S) and call_s == pytest.approx(CALL_S)
    assert columns["energy_idle_share"] == pytest.approx((IDLE_W + MEMORY_W) / (BUSY_W + MEMORY_W))
    assert columns["energy_counters"] == "package, package/memory" and found == []
    assert energy.facts == {"energy": {"idle_w": [pytest.approx(IDLE_W + MEMORY_W)]}}
    assert energy.count_idle() == [] and machine.now_s == pytest.approx(3.0, abs=0.1)  # once


def test_memory_that_does_not_count_is_left_out_by_name(machine):
    machine.memory_w = 0.0
    energy = make_energy()
    (found,) = energy.count_idle()
    assert found["text"] == "energy is counted without some memory: package/memory of n1 stood still"
    columns, found, _ = energy.count(None, None)
    assert energy.is_counted and columns["energy_counters"] == "package" and found == []
    assert columns["energy_idle_share"] == pytest.approx(IDLE_W / BUSY_W)


def test_a_package_that_does_not_count_ends_the_count(machine):
    machine.package_w = 0.0
    energy = make_energy()
    (found,) = energy.count_idle()
    assert found["text"] == "no energy is counted: package of n1 stood still" and not energy.is_counted


def test_a_counter_at_fault_in_a_cell_costs_this_cell(machine):
    energy = make_energy()
    energy.count_idle()
    machine.memory_w = -1.0
    columns, (found,), _ = energy.count(None, None)
    assert columns == {} and energy.is_counted
    assert found["text"] == "no energy is counted in some cells: package/memory of n1 ran backwards"


def test_a_node_that_cannot_count_or_that_others_may_use_ends_the_count_by_name(machine, monkeypatch):
    from allreduce_bench.measuring import energy

    def fail():
        raise NoCount("a virtual machine", "advice")

    refused = make_energy(("n2", "a reason", "advice"))
    assert not refused.is_counted and refused.findings[0]["text"] == "no energy is counted on n2: a reason"
    monkeypatch.setenv(energy.SHARED_VARIABLE, "job 12 may share its nodes")
    assert make_energy().findings[0]["text"] == "no energy is counted on these nodes: job 12 may share its nodes"
    monkeypatch.setattr(energy, "find_counters", fail)
    (found,) = make_energy(("n2", "a virtual machine", "advice"), ("n3", "another", "advice")).findings
    assert (found["text"], found["advice"]) == ("no energy is counted on n1, n2: a virtual machine", "advice")


@pytest.fixture
def alone(monkeypatch):
    """Nodes that are ours alone, whatever scheduler this machine has."""
    from allreduce_bench.cli import in_job

    monkeypatch.setenv(in_job.SHARED_VARIABLE, "")  # afterwards it is as before
    monkeypatch.setattr(in_job, "why_shared", lambda environ: "")


def launch_of(folder):
    facts = json.loads((folder / "launches/2r-1.1.json").read_text())
    with open(folder / "launches/2r-1.1.cells.csv", newline="") as file:
        return facts, [*DictReader(file)]


def test_ranks_keep_the_energy_of_a_cell_and_the_power_of_idle_nodes(alone, run_on_ranks, tmp_path):
    words = ["-n", 2, "--sizes", "8", "-a", "ring", "--iters", 3, "--launches", 1, "--energy", "-o", tmp_path / "run"]
    result = run_on_ranks(*words, by="measured_launch.measure_with_counters")
    assert result.returncode == 0, result.stderr
    facts, cells = launch_of(tmp_path / "run")
    (cell,) = [cell for cell in cells if cell["competitor"] == "ring"]
    assert cell["energy_counters"] == "package" and float(cell["energy_j"]) > 0
    assert 0.2 < float(cell["energy_idle_share"]) < 1 and 30 < facts["energy"]["idle_w"][0] < 60
    assert all(cell["energy_j"] == "" for cell in cells if cell["competitor"] != "ring")


def test_where_nothing_counts_one_sentence_is_said_and_the_run_is_as_without(alone, run_on_ranks, tmp_path):
    words = ["-n", 2, "--sizes", "8,64", "-a", "ring", "--iters", 3, "--launches", 1, "--energy"]
    result = run_on_ranks(*words, "-o", tmp_path / "run", by="measured_launch.measure_without_counters")
    assert result.returncode == 0, result.stderr
    facts, cells = launch_of(tmp_path / "run")
    texts = [found["text"] for found in facts["findings"] if found["code"] == "energy"]
    assert len(texts) == 1 and texts[0].endswith("the kernel shows none of pm_counters, powercap or power_meter")
    assert {cell["energy_j"] for cell in cells} == {""} and "energy" not in facts
