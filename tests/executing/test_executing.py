"""The schedules over real MPI: programs of `tests/ranks` under mpirun, with every interpreter that has an MPI."""

import re
from pathlib import Path

import pytest
from interpreters import FULL, contract, in_turn, interpreters
from rank_programs import mpirun

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


@pytest.fixture(params=dict.fromkeys(interpreters()), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("buffers", ["--buffered", "--synchronous"])
def test_every_algorithm_is_exact_over_mpi(python, ranks, buffers):
    """Every operation meets every type on up to three ranks; more of them take long turns on few cores."""
    if not FULL and ranks // 2 % 2 == (buffers == "--synchronous"):
        pytest.skip("a sample: 2 and 3 ranks buffered, 1, 4, 5 and 8 synchronous")
    in_turn([1, 2, 3, 4, 5, 8].index(ranks) // 2, python)
    sample = [] if ranks <= 3 and buffers == "--buffered" else ["--sample"]
    half = [] if FULL else ["--half"]  # the others on one rank more
    status, words = mpirun(python, ranks, "exactness.py", buffers, *sample, *half)
    number = re.search(r"^(\d+) cases, 0 wrong$", words, re.MULTILINE)
    assert status == 0 and number, words
    assert int(number[1]) > (80 if sample else 400)


def test_the_check_over_mpi_notices_damage(python):
    in_turn(1, python)
    status, words = mpirun(python, 2, "exactness.py", "--sample", "--damaged")
    assert status != 0
    assert re.search(r"^wrong \(\d+\): ring, ", words, re.MULTILINE)
    assert not re.search(r" 0 wrong$", words, re.MULTILINE)


def test_the_plain_ring_runs_by_itself(python):
    status, words = mpirun(python, 3, "plain_ring.py")
    assert status == 0 and "[300. 303. 306. 309. 312. 315. 318. 321. 324. 327.]" in words


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_every_way_reduces_in_place(python, ranks):
    """Schedules with the bits of out of place, the library and its mock-ups exactly."""
    in_turn(ranks // 2, python)
    reduce_in_place(python, ranks)


@contract
def test_every_way_reduces_in_place_with_every_mpi(python):
    reduce_in_place(python, 4)


def reduce_in_place(python, ranks: int) -> None:
    status, words = mpirun(python, ranks, "reduced_in_place.py", timeout_s=300)
    number = re.search(r"^(\d+) cases, 0 wrong$", words, re.MULTILINE)
    assert status == 0 and number, words
    assert int(number[1]) > 200
