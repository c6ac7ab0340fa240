"""What launches tell of the pairs of one size, and of several sizes together."""

import pytest
from made_rows import made_row

from allreduce_bench.evaluation.verdict import compared_means, compared_pairs, contest_of, has_enough_calls

TIMES_S = {"ring": [1.0, 1.1, 0.9, 1.0, 1.05], "tree": [2.0, 2.1, 1.9, 2.0, 2.0], "native": [3.0, 3.1, 3.0, 2.9, 3.0]}


def rows(size_bytes: int = 8, **changed):
    return [
        made_row(name, size_bytes, times_s, doubt=None, grade="good") | changed for name, times_s in TIMES_S.items()
    ]


def test_doubted_rows_are_not_ranked_and_close_the_contest_where_they_may_be_lowest():
    all_rows = rows()
    contest = contest_of(all_rows)
    assert contest.lowest == "ring" and contest.others == ["tree", "native"] and contest.is_open
    all_rows[0]["doubt"] = "drift"
    assert contest_of(all_rows).lowest == "tree" and not contest_of(all_rows).is_open
    assert contest_of(all_rows[:2]) is None
    assert not contest_of(rows(grade="not reliable")).is_open


def test_pairs_are_told_both_ways():
    told = compared_pairs({8: contest_of(rows())})
    assert len(told) == 6
    assert (
        told[8, "tree", "ring"].ratio == pytest.approx(1 / told[8, "ring", "tree"].ratio) == pytest.approx(2, rel=0.03)
    )


def test_few_calls_tell_nothing():
    few = rows(repetitions=29)
    assert not has_enough_calls(few[0]) and has_enough_calls({**few[0], "imported": True})
    assert compared_pairs({8: contest_of(few)}) == {}


def test_means_are_over_the_sizes_that_rank_both():
    contests = {8: contest_of(rows()), 64: contest_of(rows(64)[:2]), 512: contest_of(rows(512)[1:])}
    tree, back, native, nobody = compared_means(
        contests,
        [
            ("tree", "ring", [8, 64, 512]),
            ("ring", "tree", [8, 64]),
            ("native", "ring", [64, 8]),
            ("native", "ring", [64, 512]),
        ],
    )
    assert tree.ratio == pytest.approx(2, rel=0.03) and back.ratio == pytest.approx(1 / tree.ratio)
    assert native.ratio == pytest.approx(3, rel=0.03) and nobody is None
