"""Calls are repeated on all ranks as rank 0 decides; where none begins on time, after a barrier."""

import json
import subprocess
from pathlib import Path

import pytest
from interpreters import interpreters

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")

LATE = """
import json, numpy as np
from mpi4py import MPI
from allreduce_bench.measuring.budget import Budget
from allreduce_bench.measuring.clock import Clock
from allreduce_bench.measuring.repeat import repeat

class Late:
    name = "round_time"
    def begin(self): return False
    def learn(self, late): pass

comm = MPI.COMM_SELF.Dup()
one, total = np.ones(1), np.zeros(1)
for budget in (Budget(3, None, 0.05), Budget(1, 4, 0.05), Budget(0, 1, 0.05)):
    times = repeat(lambda: lambda: comm.Allreduce(one, total), comm, budget, Late(), Clock(comm))
    ways = [name.removesuffix("_max_local") for name in times.calls["time_definition"]]
    print(json.dumps([list(zip(ways, times.calls["valid"])), times.warmups, times.unusable, times.findings]))
"""


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


def test_a_cell_to_which_somebody_is_always_late_goes_on_by_a_barrier_and_says_so(python):
    asked = subprocess.run([str(python), "-c", LATE], capture_output=True, text=True, timeout=60)
    assert asked.returncode == 0, asked.stderr
    by_time, four, one = map(json.loads, asked.stdout.splitlines())
    for calls, warmups, unusable, findings in (by_time, four, one):
        begun = [[way, valid] for way, valid in calls[warmups:]]
        late = begun.index(["barrier", True])
        assert begun[:late] == [["round_time", False]] * late and begun[late:] == [["barrier", True]] * len(
            begun[late:]
        )
        assert unusable is None and [finding["code"] for finding in findings] == ["sync"]
    assert len(by_time[0]) - by_time[1] >= 8 + 5
    assert [len(calls) - warmups for calls, warmups, *_ in (four, one)] == [8, 2]
