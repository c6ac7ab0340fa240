"""The text of a cell: numbers as long as somebody can read them."""

import pytest
from compared_runs import compared_run, row

from allreduce_bench.comparison.judgement import compare


def cell_of(before: tuple, after: tuple):
    return compare([compared_run("base", row(before))], [compared_run("new", row(after))], 0.05).cells[0]


def test_an_interval_that_nobody_can_read_becomes_words():
    wide = cell_of((1e-6, 1e-4, 1e-2), (1.1e-6, 1.2e-4, 1.3e-2))
    wider = "wider than a factor of 10"
    assert wide.interval == wider and f"[{wider}]" in wide.outcome
    assert wide.estimate and wide.estimate.low < 0.1 and wide.estimate.high > 10  # programs get numbers


def test_numbers_else_and_nothing_where_there_is_no_interval():
    usual = cell_of((1e-6, 1.01e-6, 0.99e-6), (2e-6, 2.02e-6, 1.98e-6))
    low, high = map(float, usual.interval.split(" to "))
    assert low < usual.ratio == pytest.approx(2) and high > 2
    assert usual.outcome == f"2.000 times the baseline [{usual.interval}], 1.000 -> 2.000 us"
    none = cell_of((1e-6,), (1e-6, 2e-6))
    assert none.interval == "" and none.outcome.endswith("1 and 2 launches; a verdict needs 3 per side")
