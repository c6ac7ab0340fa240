"""Steps in Horovod's cycles, over MPI: every gradient is averaged once, when it is ready on all ranks."""

import pytest
from interpreters import in_turn, interpreters
from measured_steps import step_on_ranks

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
COUNTS = [3, 1000, 1, 40_000, 7, 7, 250, 12_000]
ACTIONS = [("forward", 0.005), *(one for _ in COUNTS for one in (("backward", 0.002), ("bucket", 0)))]
BEHIND = [("forward", 0.005), ("backward", 0.016), *[("bucket", 0)] * len(COUNTS)]
REQUEST = {"counts": COUNTS, "actions": ACTIONS, "steps": 2, "work": "sleep", "cycle_s": 1e-3, "buffer_nbytes": 4096}
REQUEST |= {"alone": [1, 50, 40_000]}
CASES = [
    ("native", "native", "float32", 2),
    ("ring", "sendrecv", "float64", 3),
    ("ring", "pipelined", "float16", 2),
    ("native", "compiled", "float32", 3),
]
over_mpi = pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)


def cycled(python, ranks: int = 2, level: str = "multiple", **more) -> dict:
    found = step_on_ranks(python, {**REQUEST, **more}, ranks, level)
    assert "refused" in found or [len(found[name]) for name in ("steps", "alone_s")] == [2, 2]
    return found


@pytest.mark.parametrize("case", range(len(CASES)))
@over_mpi
def test_every_gradient_goes_once_and_in_order(python, case):
    in_turn(case, python)
    *names, ranks = CASES[case]
    found = cycled(python, ranks, **dict(zip(("algorithm", "executor", "dtype"), names)))
    assert all(len(times) == 3 and min(times) > 0 for times in found["alone_s"]), found
    for step in found["steps"]:
        assert sum(vectors for *_, vectors in step["transfers"]) == len(COUNTS)
        times = [time_s for ready, start, end, _ in step["transfers"] for time_s in (start, end)]
        assert times == sorted(times) and times[-1] <= step["step_s"]
        assert all(ready <= start for ready, start, _, _ in step["transfers"])
        number, agreement_s, binding_s = step["cycles"]
        assert number >= 1 and agreement_s > 0 and binding_s > 0


@over_mpi
def test_what_is_ready_at_once_is_fused_as_the_buffer_holds_it(python):
    in_turn(1, python)
    found = cycled(python, actions=BEHIND, cycle_s=0.5)
    for step in found["steps"]:
        assert [vectors for *_, vectors in step["transfers"]] == [3, 1, 3, 1]
        assert step["transfers"][0][1] >= step["phases"][-1][2] and step["cycles"][0] == 2


@pytest.mark.parametrize("python", interpreters()[:1], ids=lambda path: path.parent.parent.name)
def test_the_thread_needs_an_mpi_that_takes_calls_of_several_threads(python):
    assert "MPI_THREAD_MULTIPLE" in cycled(python, level="single")["refused"]


@pytest.mark.parametrize("python", interpreters()[:1], ids=lambda path: path.parent.parent.name)
def test_what_the_thread_cannot_do_ends_the_measurement(python):
    assert "bfloat16" in cycled(python, dtype="bfloat16")["refused"]


@over_mpi
def test_ranks_of_a_group_add_activations_while_cycles_run(python):
    in_turn(1, python)
    actions = [("forward", 0.005), ("tensor", 0), *ACTIONS[1:9], ("tensor", 0), *ACTIONS[9:]]
    found = cycled(python, 4, actions=actions, groups="div:2", tensor_count=5000)
    assert [len(times) for times in found["tensor_alone_s"]] == [2, 2]
    assert all(len(step["stalls"]) == 2 for step in found["steps"])
