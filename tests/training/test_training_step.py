"""Measured steps, over MPI: every kind of computation, right averages, times that add up."""

import json
import subprocess

import pytest
from interpreters import in_turn, interpreters
from measured_runs import with_package
from rank_programs import launch

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
ONE_PASS = [("forward", 0.01), ("backward", 0.02)]  # of two, whose second one has the all-reduces
ACTIONS = [*ONE_PASS, ("forward", 0.01)]
for gap_s in (0.01, 0.01, 0.02):
    ACTIONS += [("backward", gap_s), ("bucket", 0.0)]
REQUEST = {"counts": [1000, 50_000, 7], "actions": ACTIONS, "steps": 2}
CASES = [
    ("native", "sleep", "float32"),
    ("ring", "spin", "float16"),
    ("ring@pipelined", "spin", "float64"),
    ("ring@compiled-pipelined", "sleep", "float32"),
    ("native@compiled", "sleep", "float32"),
]
NAMES = ("competitor", "work", "dtype")
over_mpi = pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)


@pytest.fixture
def measured(on_ranks):
    """What so many ranks measure of the request with these fields."""

    def measure(ranks: int = 2, **fields: object) -> dict:
        return on_ranks(ranks, "training_steps.measure", REQUEST | fields)[0]

    return measure


@pytest.mark.parametrize("case", range(len(CASES)))
@over_mpi
def test_a_step_is_measured_with_and_without_all_reduces(python, measured, case):
    in_turn(case, python)
    found = measured(**dict(zip(NAMES, CASES[case])))
    assert len(found["steps"]) == len(found["compute_alone_s"]) == 2
    assert all(len(times) == 3 and min(times) > 0 for times in found["alone_s"])
    for step in found["steps"]:
        ends = [end for _, _, end in step["transfers"]]
        assert ends == sorted(ends) and step["step_s"] >= ends[-1]
        for (ready, start, end), (_, _, computed) in zip(step["transfers"], step["phases"][3:]):
            assert computed <= ready <= start <= end
        if CASES[case][1] == "sleep":
            assert step["compute_s"] >= 0.08
            assert [kind for kind, _, _ in step["phases"]][:3] == ["forward", "backward", "forward"]


@pytest.mark.parametrize("python", interpreters()[:1], ids=lambda path: path.parent.parent.name)
def test_a_rank_that_fails_ends_all_of_them(python, tmp_path):
    request = tmp_path / "request.json"
    request.write_text(json.dumps(REQUEST | {"counts": [1 << 50, 1, 1]}))
    command = [*launch(python, 2), str(python), "-m", "allreduce_bench.training.measuring.training_step", str(request)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=with_package())
    assert ended.returncode and "Error: " in ended.stderr


def test_what_an_mpi_cannot_do_is_said(measured):
    assert "bfloat16" in measured(dtype="bfloat16", competitor="native")["refused"]
