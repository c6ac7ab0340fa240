"""Columns of texts."""

from allreduce_bench.text_table import aligned

ROWS = [("name", "us", "why"), ("a", "1.25", ""), ("longer", "10", "late")]


def test_columns_are_flush_right_unless_they_are_named():
    assert aligned(ROWS) == ["  name    us   why", "     a  1.25", "longer    10  late"]
    assert aligned(ROWS, left=(0, 2)) == ["name      us  why", "a       1.25", "longer    10  late"]


def test_nothing_has_no_lines():
    assert aligned([]) == [] and aligned([()]) == [""]
