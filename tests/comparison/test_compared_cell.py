"""The text of a cell: its ratio, its times, and how many pairs say so."""

import pytest
from compared_runs import compared_run, row

from allreduce_bench.comparison.judgement import compare


def cell_of(before: tuple, after: tuple):
    return compare([compared_run("base", row(before))], [compared_run("new", row(after))], 0.05).cells[0]


@pytest.mark.parametrize(
    ("after", "outcome"),
    [
        ((2e-6,) * 5, "2.00 times the baseline, 1.00 -> 2.00 us; slower in 25 of 25 pairs"),
        ((0.5e-6,) * 5, "0.500 times the baseline, 1.00 -> 0.500 us; faster in 25 of 25 pairs"),
        ((1.01e-6, 1e-6, 1e-6, 1e-6, 0.99e-6), "slower in 5, faster in 5 of 25 pairs"),
        ((1e-6, 2e-6), "1.50 times the baseline, 1.00 -> 1.50 us; a verdict needs 4 launches a side, found 2"),
    ],
)
def test_a_cell_says_ratio_times_and_pairs(after, outcome):
    cell = cell_of((1e-6,) * 5, after)
    assert cell.outcome.endswith(outcome)
    assert cell.shown_verdict == ("(slower)" if len(after) < 4 else cell.verdict)
