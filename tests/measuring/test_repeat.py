"""Calls are repeated on all ranks as rank 0 decides; where none begins on time, after a barrier. Faults are caught."""

from pathlib import Path

import numpy as np
import pytest
from interpreters import in_turn, interpreters

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
LIMIT_S = 600


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


def test_a_cell_to_which_somebody_is_always_late_goes_on_by_a_barrier_and_says_so(python, on_ranks):
    ((by_time, four, one),) = on_ranks(1, "always_late.cells")
    for valid, warmups, unusable, codes, start in (by_time, four, one):
        assert not any(valid[:warmups]) and all(valid[warmups:])  # late calls count as warm-ups
        assert start == "barrier" and unusable is None and codes == ["sync"]
    assert by_time[1] >= 3 + 7 and len(by_time[0]) >= by_time[1] + 6
    assert [(warmups, len(valid) - warmups) for valid, warmups, *_ in (four, one)] == [(1 + 4, 4), (1, 1)]


@pytest.mark.parametrize("ranks, in_place", [(2, False), (2, True), pytest.param(4, False, marks=pytest.mark.slow)])
def test_every_fault_that_comes_back_ends_its_cell_as_wrong(python, on_ranks, ranks, in_place):
    """A sample of tests/studies/faults.py."""
    in_turn(ranks // 2 + 1, python)
    found = on_ranks(ranks, "faults.of_settings", 0.02, sample=True, in_place=in_place, limit_s=LIMIT_S)[0]
    assert len(found) > 90
    assert [one for one in found if one["caught"] != (one["fault"] != "none")] == []
    assert {one["state"] for one in found if one["fault"] == "none"} == {"done"}
    of_batches = [one["state"] for one in found if "batch" in one["fault"] or "left as" in one["fault"]]
    assert of_batches.count("wrong") > len(of_batches) / 10  # the others had no batch of two calls, as on busy cores
    assert len({one["fault"] for one in found}) == (27 if ranks < 4 else 28)
    late = [one for one in found if "when timed" in one["fault"]]
    assert late and all(
        one["reason"].partition(" after timed calls")[0].endswith("wrong elements")
        and "none after the" in one["reason"]
        for one in late
    )


@pytest.mark.slow
def test_a_table_that_goes_wrong_in_some_calls_of_a_batch_ends_its_cell_as_wrong(python, on_ranks):
    """A sample of tests/ranks/faulty_tables.py: calls and reductions left out, work remembered."""
    in_turn(1, python)
    found = on_ranks(2, "faulty_tables.of_settings", 0.02, sample=True, limit_s=LIMIT_S)[0]
    assert len(found) > 20
    assert [one for one in found if one["caught"] != (one["changed"] > 0)] == []
    assert len({one["fault"] for one in found if one["caught"]}) >= 7


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
