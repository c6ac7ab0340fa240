"""Messages posted ahead over real MPI: programs of `tests/ranks` under mpirun, with every interpreter that has one."""

import json
import re
from pathlib import Path

import pytest
from interpreters import FULL, in_turn, interpreters
from rank_programs import mpirun

from allreduce_bench.launching.patience import Report, blame

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


@pytest.fixture(params=dict.fromkeys(interpreters()), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("buffers", ["--buffered", "--synchronous"])
def test_every_algorithm_is_exact_with_the_bits_of_blocking_exchanges(python, ranks, buffers):
    if not FULL and ranks // 2 % 2 == (buffers == "--buffered"):
        pytest.skip("a sample: 1, 4, 5 and 8 ranks buffered, 2 and 3 synchronous")
    in_turn(ranks % 3 // 2, python)
    status, words = mpirun(
        python, ranks, "exact_pipelines.py", buffers, "--sample", *["--half"] * (not FULL), timeout_s=900
    )
    number = re.search(r"^(\d+) cases, 0 wrong$", words, re.MULTILINE)
    assert status == 0 and number, words
    assert int(number[1]) > 80


@pytest.mark.slow
def test_the_check_notices_damage(python):
    in_turn(1, python)
    status, words = mpirun(python, 2, "exact_pipelines.py", "--sample", "--damaged")
    assert status != 0
    assert re.search(r"^wrong \(\d+\): ring, ", words, re.MULTILINE)
    assert re.search(r"^wrong \(\d+\): bits of ring, ", words, re.MULTILINE)


def test_a_cell_is_cut_or_says_why_not(python):
    in_turn(0, python)
    status, words = mpirun(python, 2, "pipelined_cells.py")
    assert status == 0, words
    ring, tree, crossed, cold = (json.loads(line) for line in words.splitlines() if line.startswith("{"))
    assert all((cell["state"], cell["wrong"]) == ("done", 0) for cell in (ring, tree, crossed, cold))
    assert (ring["steps"], ring["path_messages"]) == (10, 10)  # 2 steps of 500 elements, in pieces of 100
    assert crossed["steps"] == 1 and "adds" in crossed["run_whole"] and crossed["run_whole"].startswith("cut into seg")
    assert not ring["run_whole"] and not tree["run_whole"] and not cold["run_whole"]


def test_whoever_hangs_is_named_with_the_step_and_the_one_it_waits_for(python):
    """Rank 2 stays away; rank 0 waits for its first piece, rank 1 for a place in it or for what rank 0 cannot send."""
    status, words = mpirun(python, 3, "hanging_pipeline.py")
    places = {place["rank"]: place for place in map(json.loads, re.findall(r"^\{.*\}$", words, re.MULTILINE))}
    assert status != 0 and sorted(places) == [0, 1, 2], words
    calls = [places[rank]["call"] for rank in range(3)]
    assert (calls[0]["step"], calls[0]["of"], calls[0]["source"], calls[0]["dest"]) == (1, 16, 2, None)
    assert 1 <= calls[1]["step"] <= 5 and calls[2] is None
    reports = {
        rank: Report(f"n{rank}", "there", [["repeat", 0, int(rank < 2)]], "sleeping", call)
        for rank, call in enumerate(calls)
    }
    assert blame(reports).startswith("rank 2 on n2 never entered (sleeping); 0 waits for 2 in step 1")
