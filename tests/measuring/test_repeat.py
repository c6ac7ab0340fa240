"""Calls are repeated on all ranks as rank 0 decides; where none begins on time, after a barrier. Faults are caught."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from interpreters import in_turn, interpreters
from rank_programs import mpirun

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")

LATE = """
import json, numpy as np
from mpi4py import MPI
from allreduce_bench.measuring.budget import Budget
from allreduce_bench.measuring.sync import Clock
from allreduce_bench.measuring.repeat import repeat

class Late:
    name = "round_time"
    def begin(self): return False
    def learn(self, late): pass

comm = MPI.COMM_SELF.Dup()
one, total = np.ones(1), np.zeros(1)
for budget in (Budget(3, None, 0.05), Budget(1, 4, 0.05), Budget(0, 1, 0.05)):
    times = repeat(lambda: lambda: comm.Allreduce(one, total), comm, budget, Late(), Clock(comm))
    print(json.dumps([times.calls["valid"], times.warmups, times.unusable, times.findings, times.facts["start"]]))
"""


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


def test_a_cell_to_which_somebody_is_always_late_goes_on_by_a_barrier_and_says_so(python):
    asked = subprocess.run([str(python), "-c", LATE], capture_output=True, text=True, timeout=60)
    assert asked.returncode == 0, asked.stderr
    by_time, four, one = map(json.loads, asked.stdout.splitlines())
    for valid, warmups, unusable, findings, start in (by_time, four, one):
        assert not any(valid[:warmups]) and all(valid[warmups:])  # late calls count as warm-ups
        assert start == "barrier" and unusable is None and [finding["code"] for finding in findings] == ["sync"]
    assert by_time[1] >= 3 + 7 and len(by_time[0]) >= by_time[1] + 6
    assert [(warmups, len(valid) - warmups) for valid, warmups, *_ in (four, one)] == [(1 + 4, 4), (1, 1)]


@pytest.mark.parametrize("ranks, how", [(2, ()), (2, ("--in-place",)), pytest.param(4, (), marks=pytest.mark.slow)])
def test_every_fault_that_comes_back_ends_its_cell_as_wrong(python, ranks, how):
    """A sample of tests/studies/faults.py."""
    in_turn(ranks // 2 + 1, python)
    status, words = mpirun(python, ranks, "faults.py", "--sample", "--cell-time", "0.02", *how)
    found = [json.loads(line) for line in words.splitlines() if line.startswith("{")]
    assert status == 0 and len(found) > 90, words
    assert [one for one in found if one["caught"] != (one["fault"] != "none")] == []
    assert {one["state"] for one in found if one["fault"] == "none"} == {"done"}
    of_batches = [one["state"] for one in found if "batch" in one["fault"] or "left as" in one["fault"]]
    assert of_batches.count("wrong") > len(of_batches) / 2  # the others had no batch of two calls
    assert len({one["fault"] for one in found}) == (27 if ranks < 4 else 28)
    late = [one for one in found if "when timed" in one["fault"]]
    assert late and all(
        one["reason"].partition(" after timed calls")[0].endswith("wrong elements")
        and "none after the" in one["reason"]
        for one in late
    )


@pytest.mark.slow
def test_a_table_that_goes_wrong_in_some_calls_of_a_batch_ends_its_cell_as_wrong(python):
    """A sample of tests/ranks/faulty_tables.py: calls and reductions left out, work remembered."""
    in_turn(1, python)
    status, words = mpirun(python, 2, "faulty_tables.py", "--sample", "--cell-time", "0.02")
    found = [json.loads(line) for line in words.splitlines() if line.startswith("{")]
    assert status == 0 and len(found) > 20, words
    assert [one for one in found if one["caught"] != (one["changed"] > 0)] == []
    assert len({one["fault"] for one in found if one["caught"]}) >= 7


def test_a_fault_of_one_call_in_many_is_caught_as_often_as_promised(python):
    in_turn(1, python)
    status, words = mpirun(python, 2, "faults.py", "--one-of", "20", "--cells", "60", "--cell-time", "0.005")
    found = [json.loads(line) for line in words.splitlines() if line.startswith("{")]
    assert status == 0 and len(found) == 60, words
    promised = np.array([one["promised"] for one in found])
    off = abs(sum(one["caught"] for one in found) - promised.sum()) / np.sqrt((promised * (1 - promised)).sum())
    assert off < 4.5  # standard deviations


@pytest.fixture
def repeat():
    from allreduce_bench.measuring import repeat

    return repeat


@pytest.mark.parametrize("count, period", [(0, 0), (1, 1), (7, 7), (8, 7), (21, 7), (1000, 7), (1000, 1000)])
def test_a_period_is_written_and_compared_bit_by_bit_over_the_whole_vector(repeat, monkeypatch, count, period):
    monkeypatch.setattr(repeat, "BLOCK", 100)
    vector, once = np.full(count, 9, "f"), np.arange(period, dtype="f")
    repeat.repeat_into(vector, once)
    assert np.array_equal(vector, np.resize(once, count)) and repeat.wrong_elements(vector, once) == 0
    for element in {0, count // 2, count - 1} & set(range(count)):
        kept = vector[element]
        for other in (np.nextafter(kept, np.float32(-9)), np.nan, -kept):
            vector[element] = other
            assert repeat.wrong_elements(vector, once) == 1
        vector[element] = kept
    if count:
        once[0] = np.nan
        assert repeat.wrong_elements(vector, once) == -(-count // period)
