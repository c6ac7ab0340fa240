"""A comparison for the eye: aligned, and as Markdown that shows names as they are."""

import pytest
from compared_runs import FASTER, SLOWER, compared_run, row

from allreduce_bench.evaluation.comparison.judgement import Comparison, compare
from allreduce_bench.evaluation.comparison.text import markdown, method, table


@pytest.fixture
def comparison() -> Comparison:
    base = compared_run("base", row(FASTER, algorithm="my|ring"), row(FASTER, nbytes=64, count=16))
    return compare([base], [compared_run("new", row(SLOWER, algorithm="my|ring"))], 0.05)


def test_the_table_has_a_line_a_cell_and_ends_with_the_sentence(comparison):
    lines = table(comparison).splitlines()
    assert lines[:3] == ["baseline: base", "new: new", method(comparison)]
    (cell,) = [line for line in lines if line.startswith("my|ring")]
    assert cell.split()[5:8] == ["1.00", "2.00", "2.000"] and cell.endswith("slower")
    assert lines[-2:] == ["only in the baseline: ring 64 B, 2 ranks (new: not planned)", comparison.sentence]


def test_markdown_escapes_names(comparison):
    lines = markdown(comparison).splitlines()
    assert lines[0] == f"**{comparison.sentence}**" and lines[3].startswith("| :-- | --: |")
    assert lines[4].startswith("| my\\|ring 8 B, 2 ranks | 1.00 | 2.00 |")
