"""One verdict a cell, what a reader must know of the runs, and the sentence of all."""

import re

import pytest
from compared_runs import FASTER, SLOWER, compared_run, row

from allreduce_bench.comparison.judgement import compare
from allreduce_bench.evaluation.summary_row import Grade, Reason
from allreduce_bench.runs.rows import RunError
from allreduce_bench.runs.schema import NOT_RELIABLE, PROVISIONAL

NATIVE = {"competitor": "native"}
BUSY, WRONG = (Grade(NOT_RELIABLE, (Reason(code, NOT_RELIABLE, 1.0),)) for code in ("others", "wrong"))


def judged(before: list[dict], after: list[dict], **choices):
    return compare([compared_run("base", *before)], [compared_run("new", *after)], 0.05, **choices)


def test_slower_and_faster_are_told():
    comparison = judged([row(FASTER), row(SLOWER, **NATIVE)], [row(SLOWER), row(FASTER, **NATIVE)])
    assert [cell.verdict for cell in comparison.cells] == ["slower", "faster"]
    assert comparison.failure == "slower: ring 8 B, 2 ranks"
    assert comparison.sentence == "2 cells: 1 slower, 1 faster, 0 same, 0 undecided"
    slower = comparison.cells_with("slower")[0]
    assert slower.ratio == pytest.approx(2) and slower.outcome.startswith("2.00 times the baseline, ")


def test_cells_of_too_few_launches_beside_decided_ones_are_counted_apart():
    few = [row(FASTER[:1], **NATIVE), row(SLOWER[:1], **NATIVE)]
    comparison = judged([row(FASTER), few[0]], [row(SLOWER), few[1]])
    assert comparison.sentence.startswith("2 cells: 1 slower, 0 faster, 0 same, 1 undecided")
    assert comparison.observed.cells == 1 and not comparison.is_only_observed
    assert not judged([row(FASTER)], [row(SLOWER)]).observed


def test_cells_come_by_ranks_then_size_and_failures_among_them():
    wrong = row(state="wrong", reason="x", ranks=4)
    comparison = judged([row(FASTER, ranks=4), row(FASTER)], [wrong, row(SLOWER)])
    assert [(cell.key.ranks, cell.verdict) for cell in comparison.cells] == [(2, "slower"), (4, "failed")]
    assert comparison.sentence.startswith("2 cells: 1 failed, 1 slower")


def test_times_of_several_kinds_are_judged_only_if_wanted():
    before, after = [row(FASTER), row(FASTER, **NATIVE)], [row(SLOWER), row(SLOWER, **NATIVE)]
    after += [row(SLOWER, size_bytes=size) for size in (16, 32)]
    after[0]["time_definition"] = "completion"
    undecided = judged(before, after).cells_with("undecided")
    assert [cell.name for cell in undecided] == ["ring 8 B, 2 ranks"] and "--despite time" in undecided[0].reason
    assert not judged(before, after, despite=["time"]).cells_with("undecided")


def test_unfinished_runs_are_named():
    base = compared_run("base", row(FASTER), unfinished=["2r-2"])
    notes = compare([base], [compared_run("new", row(SLOWER))], 0.05).notes
    assert "one run on a side" in notes[0] and "base is unfinished" in notes[1]


def test_why_times_are_provisional_is_named_by_numbers_of_ranks():
    grades = [
        Grade(PROVISIONAL, (Reason(*reason),)) for reason in (("others", PROVISIONAL, 0.08), ("wide", PROVISIONAL, 1.3))
    ]
    rows = [row(FASTER, ranks=ranks, grading=grade) for ranks, grade in zip((2, 4, 8), (grades[0], *grades))]
    notes = compare(
        [compared_run("base", *rows)], [compared_run("new", *(row(SLOWER, ranks=n) for n in (2, 4, 8)))], 0.05
    ).notes
    assert "base: the times of 2, 4 ranks are provisional: other processes used 8 % of the cores" in notes
    assert "base: the times of 8 ranks are provisional: times known to ±14 %" in notes


WIDE = [row((1e-6, 1.3e-6, 0.8e-6, 1e-6)), row((1.1e-6, 1.3e-6, 0.9e-6, 1e-6))]
CLEAR = [row(FASTER, **NATIVE), row((1.002e-6, 1.01e-6, 0.99e-6, 1e-6), **NATIVE)]


def gated(*cells: list[dict], undecided: str):
    before, after = zip(*cells)
    return compare([compared_run("base", *before)], [compared_run("new", *after)], 0.1, undecided=undecided)


@pytest.mark.parametrize(("undecided", "says"), [("pass", ""), ("fail", "undecided: ring 8 B, 2 ranks"), ("warn", "")])
def test_undecided_cells_beside_a_decided_one(undecided, says):
    comparison = gated(WIDE, CLEAR, undecided=undecided)
    assert [cell.verdict for cell in comparison.cells] == ["undecided", "same"]
    assert comparison.failure == says and ("undecided" in comparison.failing) == bool(says)
    warning = comparison.warning
    if undecided != "warn":
        assert not warning
    else:
        assert "1 cell is undecided" in warning and "--undecided" in warning


def test_where_no_cell_was_decided_the_gate_fails_unless_that_is_wanted():
    blind = gated(WIDE, undecided="warn")
    assert "the only cell is undecided;" in blind.failure
    assert re.search("undecided pass", blind.failure)
    assert not blind.warning and "undecided" in blind.failing
    assert not gated(WIDE, undecided="pass").failure
    nothing = compare([compared_run("base", row())], [compared_run("new", row())], 0.1, undecided="pass")
    assert "both sides" in nothing.failure


@pytest.mark.parametrize(
    ("fact", "words"),
    [({"doubt": "two states"}, "bimodal: two levels in new"), ({"grading": BUSY}, "not reliable in new")],
)
def test_a_cell_that_has_a_reason_not_to_be_compared_is_undecided_with_it(fact, words):
    comparison = gated([row(FASTER), row(SLOWER, **fact)], CLEAR, undecided="warn")
    assert comparison.cells[0][2:4] == ("undecided", f"not ranked: {words}")
    assert comparison.sentence == "2 cells: 0 slower, 0 faster, 1 same, 1 undecided"


def test_a_wrong_cell_does_not_hide_that_another_one_is_slower():
    (cell,) = judged([row(FASTER)], [row(SLOWER, grading=WRONG)]).cells
    assert cell.verdict == "slower"


def test_times_are_those_of_the_tables():
    """One launch of five was disturbed: the mean of all is a time that no launch took."""
    calm, disturbed = (501e-6, 499e-6, 502e-6, 500e-6, 503e-6), (501e-6, 499e-6, 9e-3, 500e-6, 502e-6)
    (cell,) = judged([row(calm, time_s=501e-6)], [row(disturbed, time_s=501e-6)]).cells
    assert (cell.baseline_s, cell.new_s, cell.ratio) == pytest.approx((501e-6, 501e-6, 1))
    assert cell.times == ("501", "501") and cell.verdict == "undecided"
    assert cell.reason.endswith("of 25 pairs")


def test_whoever_divides_the_printed_times_gets_the_printed_ratio():
    (cell,) = judged([row((1.00049e-6,) * 4)], [row((1.09851e-6,) * 4)]).cells
    assert cell.times == ("1.00", "1.10") and cell.printed_ratio == pytest.approx(1.10)
    assert cell.outcome.startswith("1.10 times the baseline, 1.00 -> 1.10 us")


def test_several_runs_of_a_side_on_the_same_hosts_are_one_set_of_launches():
    runs = [compared_run(f"base{time_s}", row([time_s * 1e-6] * 4)) for time_s in (1, 4)]
    (cell,) = compare(runs, [compared_run("new", row([3.9e-6] * 4))], 0.05).cells
    assert cell.baseline_s == pytest.approx(2.5e-6) and cell.counted == cell.launches == (8, 4)
    assert (cell.verdict, cell.reason) == ("undecided", "slower in 16, faster in 16 of 32 pairs")


def test_a_copy_on_the_same_side_is_refused():
    runs = [compared_run(name, row([1e-6] * 4)) for name in ("base", "copy")]
    with pytest.raises(RunError, match="copy holds the same times as base"):
        compare(runs, [compared_run("new", row([4e-6] * 4))], 0.05)
