"""Messages posted ahead over real MPI: functions of `tests/ranks`, with every interpreter that has one."""

from pathlib import Path

import pytest
from interpreters import FULL, in_turn, interpreters

from allreduce_bench.launching.blame import Report, blame

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


@pytest.fixture(params=dict.fromkeys(interpreters()), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("synchronous", [False, True])
def test_every_algorithm_is_exact_with_the_bits_of_blocking_exchanges(python, on_ranks, ranks, synchronous):
    if not FULL and ranks // 2 % 2 != synchronous:
        pytest.skip("a sample: 1, 4, 5 and 8 ranks buffered, 2 and 3 synchronous")
    in_turn(ranks % 3 // 2, python)
    options = {"synchronous": synchronous, "sample": True, "half": not FULL}
    number, wrong = on_ranks(ranks, "exact_pipelines.pipelined", **options, limit_s=900 if FULL else 600)[0]
    assert not wrong and number > 80


@pytest.mark.slow
def test_the_check_notices_damage(python, on_ranks):
    in_turn(1, python)
    _, wrong = on_ranks(2, "exact_pipelines.pipelined", sample=True, damaged=True, limit_s=600)[0]
    assert {"ring", "bits of ring"} <= {words.partition(",")[0] for words in wrong}


def test_a_cell_is_cut_or_says_why_not(python, on_ranks):
    in_turn(0, python)
    ring, tree, crossed, cold = on_ranks(2, "pipelined_cells.measured")[0]
    assert all((cell["state"], cell["wrong"]) == ("done", 0) for cell in (ring, tree, crossed, cold))
    assert (ring["steps"], ring["path_messages"]) == (10, 10)  # 2 steps of 500 elements, in pieces of 100
    assert crossed["steps"] == 1 and "adds" in crossed["run_whole"] and crossed["run_whole"].startswith("cut into seg")
    assert not ring["run_whole"] and not tree["run_whole"] and not cold["run_whole"]


def test_whoever_hangs_is_named_with_the_step_and_the_one_it_waits_for(python, on_ranks, tmp_path):
    """Rank 2 stays away; rank 0 waits for its first piece, rank 1 for a place in it or for what rank 0 cannot send."""
    calls = [place["call"] for place in on_ranks(3, "hanging_pipeline.hang", tmp_path)]
    assert (calls[0]["step"], calls[0]["of"], calls[0]["source"], calls[0]["dest"]) == (1, 16, 2, None)
    assert 1 <= calls[1]["step"] <= 5 and calls[2] is None
    reports = {
        rank: Report(f"n{rank}", "there", [["repeat", 0, int(rank < 2)]], "sleeping", call)
        for rank, call in enumerate(calls)
    }
    assert blame(reports).startswith("rank 2 on n2 never entered (sleeping); 0 waits for 2 in step 1")
