"""One verdict a cell, what a reader must know of the runs, and the sentence of all."""

import pytest
from compared_runs import FASTER, SLOWER, compared_run, row

from allreduce_bench.evaluation.comparison.judgement import compare
from allreduce_bench.runs.rows import RunError

NATIVE = {"algorithm": "native", "executor": "native"}


def judged(before: list[dict], after: list[dict], **choices):
    return compare([compared_run("base", *before)], [compared_run("new", *after)], 0.05, **choices)


def test_slower_and_faster_are_told():
    comparison = judged([row(FASTER), row(SLOWER, **NATIVE)], [row(SLOWER), row(FASTER, **NATIVE)])
    assert [cell.verdict for cell in comparison.cells] == ["slower", "faster"]
    assert comparison.failure == "slower: ring 8 B, 2 ranks"
    assert comparison.sentence == "2 cells: 1 slower, 1 faster, 0 same, 0 undecided"
    slower = comparison.cells_with("slower")[0]
    assert slower.ratio == pytest.approx(2) and slower.outcome.startswith("2.000 times the baseline [")


def test_too_few_launches_are_undecided():
    comparison = judged([row(FASTER[:1])], [row(SLOWER)])
    (cell,) = comparison.cells
    assert (cell.verdict, cell.more) == ("undecided", 2)
    assert cell.reason == "1 and 3 launches; a verdict takes 3 a side" and not comparison.failure
    assert comparison.sentence.endswith("1 undecided (3 launches a side are the least for a verdict)")


def test_more_launches_would_decide():
    comparison = judged([row((1e-6, 1.2e-6, 0.8e-6))], [row((1.1e-6, 1.3e-6, 0.9e-6))])
    assert comparison.cells[0].more and comparison.sentence.endswith("a side would decide)")


def test_cells_come_by_ranks_then_size_and_failures_among_them():
    wrong = row(state="wrong", reason="x", ranks=4)
    comparison = judged([row(FASTER, ranks=4), row(FASTER)], [wrong, row(SLOWER)])
    assert [(cell.key.ranks, cell.verdict) for cell in comparison.cells] == [(2, "slower"), (4, "failed")]
    assert comparison.sentence.startswith("2 cells: 1 failed, 1 slower")


def test_a_copy_is_refused():
    with pytest.raises(RunError, match="new holds the same times as base: a copy"):
        judged([row(FASTER)], [row(FASTER)])


def test_times_of_several_kinds_are_judged_only_if_wanted():
    before, after = [row(FASTER), row(FASTER, **NATIVE)], [row(SLOWER), row(SLOWER, **NATIVE)]
    after += [row(SLOWER, count=count, nbytes=4 * count) for count in (4, 8)]
    after[0]["time_definition"] = "round_time_max_local"
    undecided = judged(before, after).cells_with("undecided")
    assert [cell.name for cell in undecided] == ["ring 8 B, 2 ranks"] and "--despite time" in undecided[0].reason
    assert not judged(before, after, despite=["time"]).cells_with("undecided")


def test_unfinished_runs_are_named():
    base = compared_run("base", row(FASTER), unfinished=["2r-2"])
    notes = compare([base], [compared_run("new", row(SLOWER))], 0.05).notes
    assert notes[0].startswith("one run a side") and notes[1].startswith("base is unfinished: cells are left in 2r-2")
