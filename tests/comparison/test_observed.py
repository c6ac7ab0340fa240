"""What cells of too few launches show: counts, factors and places as values."""

import pytest
from compared_runs import FASTER, SLOWER, compared_run, launches_on, row

from allreduce_bench.comparison.judgement import Comparison, compare
from allreduce_bench.comparison.replicates import JOB
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
    assert found.cells == 3
    expected = "3 of 3 slower, 1.6 to 25 times (most: ring 16 B, 2 ranks); a verdict needs 4 launches a side, found 1"
    assert str(found) == comparison.sentence == expected
    assert {cell.verdict for cell in comparison.cells} == {"undecided"}


def test_each_direction_has_its_count_and_its_factors():
    found = compared({8: 2.0, 16: 1.02, 32: 0.5, 64: 0.25}, launches=2).observed
    counts = {direction.observed: direction.cells for direction in found.directions}
    assert counts == {"slower": 1, "faster": 2, "same": 1}
    assert [direction.most for direction in found.directions] == pytest.approx([2, 4, 1.02])
    assert str(found) == (
        "1 of 4 slower, 2.0 times (ring 8 B, 2 ranks); 2 faster, 2.0 to 4.0 times (most: ring 64 B, 2 ranks); "
        "1 within 5 %; a verdict needs 4 launches a side, found 2"
    )


@pytest.mark.parametrize(
    ("hosts", "why"),
    [(("n2",), "other nodes: the allocation alone can differ by this much"), ((), "hosts unknown: on other nodes")],
)
def test_on_other_hosts_there_are_ratios_and_no_verdict(hosts, why):
    sides = [
        [compared_run("a", row(FASTER))],
        [compared_run("b", row([3e-6] * 9), attempts=launches_on(*hosts))],
    ]
    for one, other, kind in ((*sides, "slower"), (*sides[::-1], "faster")):
        comparison = compare(one, other, 0.05)
        (cell,) = comparison.cells
        assert (cell.verdict, cell.observed, cell.counted) == ("undecided", kind, (1, 1))
        assert cell.reason.startswith(why) and cell.reason.endswith("; a verdict needs 4 jobs a side, found 1")
        assert comparison.sentence.endswith(cell.reason) and comparison.failure.startswith("not proven: ")


def test_several_jobs_a_side_on_other_hosts_are_judged():
    jobs = ["1", "2", "3", "4"]
    sides = [
        [compared_run(name, row(times), attempts=launches_on(name, jobs=jobs))]
        for name, times in (("a", FASTER), ("b", SLOWER))
    ]
    (cell,) = compare(*sides, 0.05).cells
    assert (cell.verdict, cell.reason, cell.replicate) == ("slower", "slower in 16 of 16 pairs", JOB)
