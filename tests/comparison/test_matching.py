"""Cells of two sides find each other; what one side lacks, and what failed there, is said."""

import pytest
from compared_runs import FASTER, SLOWER, compared_run, row

from allreduce_bench.comparison.matching import match_cells
from allreduce_bench.evaluation.summary_row import Accident
from allreduce_bench.runs.rows import RunError

ABSENT = "not planned"  # by a side
WRONG = "3 wrong elements"

BASE = compared_run("base", row(FASTER), row(FASTER, competitor="native"))


def match_one(before: dict, after: dict):
    (cell,) = match_cells([compared_run("base", before)], [compared_run("new", after)])
    return cell


def test_cells_are_matched_and_named():
    cells = match_cells([BASE], [compared_run("new", row(SLOWER), row(SLOWER, size_bytes=64))])
    assert [cell.name for cell in cells] == ["ring 8 B, 2 ranks", "native 8 B, 2 ranks", "ring 64 B, 2 ranks"]
    assert [cell.is_common for cell in cells] == [True, False, False]
    assert [list(side[0][1].values()) for side in cells[0].medians_s] == [list(FASTER), list(SLOWER)]
    assert cells[0].is_measured
    assert [cell.unjudged for cell in cells[1:]] == [
        (f"only in the baseline (new: {ABSENT})", "native 8 B, 2 ranks"),
        (f"only new (baseline: {ABSENT})", "ring 64 B, 2 ranks"),
    ]
    assert str(cells[1].unjudged) == ": ".join(cells[1].unjudged)


def test_a_cell_that_no_side_measured_is_on_neither():
    assert match_one(row(), row()).unjudged == ("on neither side (skipped, no memory)", "ring 8 B, 2 ranks")


def test_segments_are_named_where_nothing_else_differs():
    run = compared_run("run", row(FASTER, segment=4), row(FASTER, segment=8))
    assert [cell.name for cell in match_cells([run], [run])] == [
        "ring 8 B, 2 ranks, segment 16 B",
        "ring 8 B, 2 ranks, segment 32 B",
    ]


def test_a_failure_counts_on_the_new_side_alone():
    wrong, hung = row(state="wrong", reason=WRONG), row(FASTER, accidents=[Accident("2r-1", "late")])
    assert match_one(row(FASTER), wrong).failure == f"wrong ({WRONG}) in new"
    assert match_one(row(FASTER), hung).failure == "hung (in launch 2r-1: late) in new"
    assert not match_one(wrong, hung).failure and not match_one(wrong, row(FASTER)).failure


@pytest.mark.parametrize(
    "after, words",
    [
        (
            row(FASTER, ranks=4),
            "cell in common: ranks is 2 in the.*4 in the",
        ),
        (
            row(FASTER, op=None),
            "cell in common: op is sum in the.*unknown in the",
        ),
        (
            row(FASTER, size_bytes=64),
            "cell in common: size is 8 B in the.*64 B in the",
        ),
    ],
)
def test_where_nothing_is_common_the_column_is_named(after, words):
    with pytest.raises(RunError, match=words):
        match_one(row(FASTER), after)


def test_what_was_named_and_not_measured_is_refused():
    with pytest.raises(RunError, match="base has no cell that matches -a and --sizes; it has: ring, native; 8 B"):
        match_cells([BASE], [BASE], sizes=[64])
    (cell,) = match_cells([BASE], [BASE], algorithms=["native"])
    assert cell.key.competitor == "native"


@pytest.mark.parametrize(
    ("differs", "size_bytes", "is_condition", "words"),
    [
        ({}, 8, False, ""),
        ({"start": "round_time"}, 8, False, "calls begun by barrier and round_time are not compared below 64 KiB"),
        ({"start": "round_time"}, 65535, True, "calls begun by barrier and round_time are not"),
        ({"start": "round_time"}, 65536, False, ""),
        ({"time_definition": "completion"}, 65536, False, "timed by max_local and by completion"),
        ({"time_definition": "completion"}, 65536, True, ""),
        ({"time_definition": "osu_avg", "start": None}, 8, False, "timed by max_local and by osu_avg"),
    ],
)
def test_cells_that_were_timed_differently_say_so(differs, size_bytes, is_condition, words):
    rows = row(FASTER, size_bytes=size_bytes), row(SLOWER, size_bytes=size_bytes, **differs)
    reason = match_one(*rows).timing_difference(is_condition)
    assert reason.startswith(words) and bool(reason) == reason.endswith("add --despite time") == bool(words)
