"""A comparison for the eye: aligned, and as Markdown that shows names as they are."""

import pytest
from compared_runs import FASTER, SLOWER, compared_run, row

from allreduce_bench.comparison.formats import markdown, method, sentences, table
from allreduce_bench.comparison.judgement import Comparison, compare

ABSENT = "not planned"  # by a side


@pytest.fixture
def comparison() -> Comparison:
    base = compared_run("base", row(FASTER, competitor="my|ring"), row(FASTER, size_bytes=64))
    return compare([base], [compared_run("new", row(SLOWER, competitor="my|ring"))], 0.05)


def test_the_table_has_a_line_a_cell_and_ends_with_the_sentence(comparison):
    lines = table(comparison).splitlines()
    assert lines[:4] == [comparison.heading, "baseline: base", "new: new", method(comparison)]
    (cell,) = [line for line in lines if line.startswith("my|ring")]
    assert cell.split()[-10:] == ["1.00", "2.00", "2.00", "slower", "slower", "in", "16", "of", "16", "pairs"]
    assert lines[-2:] == [f"only in the baseline (new: {ABSENT}): ring 64 B, 2 ranks", comparison.sentence]


def test_what_the_gate_did_not_see_stands_in_the_last_line_and_below_the_sentence():
    cells = [row(FASTER), row(FASTER[:1], size_bytes=64)]
    comparison = compare([compared_run("base", *cells)], [compared_run("new", row(SLOWER), cells[1])], 0.05)
    beside = f"by the ratio alone: {comparison.observed}"
    assert comparison.warning and sentences(comparison) == [comparison.sentence, beside, comparison.warning]
    assert table(comparison).splitlines()[-3:] == sentences(comparison)
    assert markdown(comparison).splitlines()[2:5:2] == [beside, comparison.warning]


def test_cells_of_too_few_launches_have_their_direction_in_brackets():
    comparison = compare([compared_run("base", row(FASTER[:1]))], [compared_run("new", row(SLOWER[:1]))], 0.05)
    (cell,) = [line for line in table(comparison).splitlines() if line.startswith("ring")]
    assert cell.split()[-4:] == ["1.00", "2.00", "2.00", "(slower)"]
    assert "undecided" not in table(comparison) and "pairs" not in method(comparison)


def test_a_reason_not_to_judge_cells_stands_once_with_all_of_them():
    sizes = (8, 64, 512)
    before = [row(FASTER, size_bytes=size) for size in (*sizes, 4096, 8192)]
    after = [row(SLOWER, size_bytes=size, start="round_time") for size in sizes]
    text = table(compare([compared_run("base", *before)], [compared_run("new", *after)], 0.05))
    assert text.count("calls begun by") == text.count(ABSENT) == 1
    assert "--despite time: ring 8 B, 2 ranks; ring 64 B, 2 ranks; ring 512 B, 2 ranks" in text
    assert f"(new: {ABSENT}): ring 4 KiB, 2 ranks; ring 8 KiB, 2 ranks" in text
