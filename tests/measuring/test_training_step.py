"""Measured steps, over MPI: every way to overlap, every kind of computation, right averages, times that add up."""

import json
import subprocess

import pytest
from interpreters import in_turn, interpreters

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
REQUEST = {"counts": [1000, 50_000, 7], "gaps_s": [0.01, 0.03, 0.02], "before_s": 0.02, "steps": 3}
COMMAND = (
    "import json, sys; from allreduce_bench.launching.find import find_launcher, mpirun_command;"
    "from allreduce_bench.runs.start import UNASKED; program = [sys.executable, '-m', "
    "'allreduce_bench.measuring.training_step', sys.argv[1]];"
    "print(json.dumps(mpirun_command(find_launcher(), 2, UNASKED, program)))"
)
CASES = [
    ("native", "native", "thread", "sleep", "float32"),
    ("native", "native", "iallreduce", "sleep", "float64"),
    ("ring", "sendrecv", "blocking", "matmul", "float16"),
    ("ring", "pipelined", "thread", "spin", "float32"),
]


def measured(python, **more) -> dict:
    words = json.dumps({**REQUEST, **more})
    command = json.loads(subprocess.run([python, "-c", COMMAND, words], capture_output=True, check=True).stdout)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_a_step_is_measured_with_and_without_all_reduces(python, case):
    in_turn(case, python)
    names = ("algorithm", "executor", "overlap", "work", "dtype")
    found = measured(python, **dict(zip(names, CASES[case])))
    assert len(found["steps"]) == len(found["compute_alone_s"]) == 3
    assert all(len(times) == 3 and min(times) > 0 for times in found["alone_s"])
    for step in found["steps"]:
        ends = [end for _, _, end in step["transfers"]]
        assert ends == sorted(ends) and step["step_s"] >= ends[-1]
        for (ready, start, end), (_, _, computed) in zip(step["transfers"], step["phases"][1:]):
            assert computed <= ready <= start <= end
        if CASES[case][2] == "blocking":
            assert step["transfers"][0][1] >= step["phases"][-1][2]
        if CASES[case][3] == "sleep":
            assert step["compute_s"] >= 0.08


@pytest.mark.parametrize("python", interpreters()[:1], ids=lambda path: path.parent.parent.name)
def test_what_an_mpi_cannot_do_is_said(python):
    found = measured(python, dtype="bfloat16", algorithm="native", executor="native")
    assert "bfloat16" in found["refused"]
