"""The ranks as a table, the latest first."""

import numpy as np
from made_arrivals import judgement

from allreduce_bench.stragglers.sentences import (
    MOST_TABLE_RANKS,
    SINCE_COLUMN,
    TABLE_HEAD,
    judged,
    rank_rows,
    rank_table,
    table_head,
)
from allreduce_bench.tables import Screen


def test_the_guilty_rank_is_first():
    rows, left = rank_rows(judgement())
    assert rows[0][:2] == ["5", "n1"] and rows[0][5] == "100 %" and left == 0
    assert all(len(row) == len(TABLE_HEAD) for row in rows) and rows[0][8] == "0"


def test_many_ranks_are_cut():
    one = judgement(ranks=64, steps=40, slow=63)
    lines = rank_table(one, Screen(None))
    assert len(lines) == 1 + MOST_TABLE_RANKS + 1 and lines[1].split()[0] == "63"
    assert lines[-1].startswith(f"and {64 - MOST_TABLE_RANKS} more ranks")


def test_it_fits_a_terminal():
    one = judgement()
    for width in (40, 60, 80):
        assert max(map(len, rank_table(one, Screen(width)))) <= width


def test_an_unknown_rank_is_last_and_has_no_lateness():
    one = judgement()
    made = one.arrivals
    made.ready_s[:, 2] = np.nan
    rows, _ = rank_rows(judged("", made))
    assert rows[-1][0] == "2" and rows[-1][2] == "unknown"


def test_the_row_of_a_suspect_shows_the_figures_of_its_sentence():
    one = judgement(steps=400, from_step=240, by=0.2)
    (suspect,) = one.report.suspects
    rows, _ = rank_rows(one)
    assert (
        table_head(one) == (*TABLE_HEAD, SINCE_COLUMN) and rows[0][-1].startswith("since step 24") and rows[1][-1] == ""
    )
    assert rows[0][4] == f"{suspect.z:.3g}" and rows[0][5] == f"{100 * suspect.last_share:.3g} %"
    assert rows[0][3] == f"{100 * suspect.slower_by:.1f} %" and suspect.slower_by > 2 * one.report.slower_by[5]
