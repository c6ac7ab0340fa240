"""The schedules over real MPI: functions of `tests/ranks`, with every interpreter that has an MPI."""

from pathlib import Path

import pytest
from interpreters import FULL, contract, in_turn, interpreters

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
LIMIT_S = 900 if FULL else 600


@pytest.fixture(params=dict.fromkeys(interpreters()), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("synchronous", [False, True])
def test_every_algorithm_is_exact_over_mpi(python, on_ranks, ranks, synchronous):
    """Every operation meets every type on up to three ranks; more of them take long turns on few cores."""
    if not FULL and ranks // 2 % 2 == synchronous:
        pytest.skip("a sample: 2 and 3 ranks buffered, 1, 4, 5 and 8 synchronous")
    in_turn([1, 2, 3, 4, 5, 8].index(ranks) // 2, python)
    sample = ranks > 3 or synchronous
    options = {"synchronous": synchronous, "sample": sample, "half": not FULL}  # the others on one rank more
    number, wrong = on_ranks(ranks, "exactness.blocking", **options, limit_s=LIMIT_S)[0]
    assert not wrong
    assert number > (80 if sample else 400)


def test_the_check_over_mpi_notices_damage(python, on_ranks):
    in_turn(1, python)
    _, wrong = on_ranks(2, "exactness.blocking", sample=True, damaged=True, limit_s=LIMIT_S)[0]
    assert any(words.startswith("ring, ") for words in wrong)


def test_the_plain_ring_runs_by_itself(on_ranks):
    assert on_ranks(3, "plain_ring.of_counts") == [[300.0, 303, 306, 309, 312, 315, 318, 321, 324, 327]] * 3


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_every_way_reduces_in_place(python, on_ranks, ranks):
    """Schedules with the bits of out of place, the library and its mock-ups exactly."""
    in_turn(ranks // 2, python)
    number, wrong = on_ranks(ranks, "reduced_in_place.in_place", half=not FULL, limit_s=LIMIT_S)[0]
    assert not wrong and number > 150


@contract
def test_every_way_reduces_in_place_with_every_mpi(python, on_ranks):
    """All algorithms: elsewhere half of them, the others on one rank more."""
    number, wrong = on_ranks(4, "reduced_in_place.in_place", limit_s=LIMIT_S)[0]
    assert not wrong and number > 200
