"""What cells of too few launches show: counts, factors and places as values, and the sentence of the issue."""

import pytest
from compared_runs import compared_run, row

from allreduce_bench.comparison.judgement import Comparison, compare
from allreduce_bench.evaluation.single_algorithm import Direction

NEW_US = {8: 1.6, 16: 25.0, 32: 3.0}  # where the baseline takes 1 us


def compared(new_us: dict[int, float], launches: int = 1) -> Comparison:
    """A log of `launches` launches a side with these times at sizes in bytes."""
    sides = [
        [row([time_us * 1e-6] * launches, size_bytes=size_bytes) for size_bytes, time_us in times.items()]
        for times in (dict.fromkeys(new_us, 1.0), new_us)
    ]
    return compare([compared_run("good", *sides[0])], [compared_run("bad", *sides[1])], 0.05)


def test_every_cell_slower_is_one_sentence():
    comparison = compared(NEW_US)
    found = comparison.observed
    (slower,) = found.directions
    assert slower == Direction("slower", 3, pytest.approx(1.6), pytest.approx(25), "ring 16 B, 2 ranks")
    assert found.launches == (1, 1) and found.cells == 3
    expected = "3 of 3 slower, 1.6 to 25 times (most: ring 16 B, 2 ranks); one launch a side: no interval"
    assert str(found) == comparison.sentence == expected
    assert {cell.verdict for cell in comparison.cells} == {"undecided"}


def test_each_direction_has_its_count_and_its_factors():
    found = compared({8: 2.0, 16: 1.02, 32: 0.5, 64: 0.25}, launches=2).observed
    counts = {direction.observed: direction.cells for direction in found.directions}
    assert counts == {"slower": 1, "faster": 2, "same": 1}
    assert [direction.most for direction in found.directions] == pytest.approx([2, 4, 1.02])
    assert str(found) == (
        "1 of 4 slower, 2.0 times (ring 8 B, 2 ranks); 2 faster, 2.0 to 4.0 times (most: ring 64 B, 2 ranks); "
        "1 within 5 %; 2 launches a side: no interval"
    )


def test_enough_launches_leave_nothing_to_observe():
    assert compared(NEW_US, launches=3).observed is None
