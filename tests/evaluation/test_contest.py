"""Which times of one size are ranked, and whether one of them may be the fastest."""

from made_rows import made_row

from allreduce_bench.evaluation.standings import contest_of

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
