"""The suspects as a table."""

from made_arrivals import judgement

from allreduce_bench.stragglers.sentences import MOST_ROWS, TABLE_HEAD, suspect_rows, suspect_table
from allreduce_bench.tables import Screen


def test_a_row_shows_the_figures_of_its_suspect():
    one = judgement(steps=400, from_step=240, by=0.2)
    (suspect,), (row,) = one.report.suspects, suspect_rows(one)
    who, late, share, cost, _, cause, when = row
    assert len(row) == len(TABLE_HEAD) and who == "rank 5 on node n1" and cause == "yes"
    assert late.endswith(" ms") and share == f"{100 * suspect.slower_by:.3g} %" and when.startswith("since step 24")
    assert cost == f"{100 * suspect.cost_share:.3g} %"


def test_many_suspects_are_cut():
    one = judgement()
    (suspect,) = one.report.suspects
    many = tuple(suspect._replace(ranks=(rank,)) for rank in range(MOST_ROWS + 4))
    lines = suspect_table(one._replace(report=one.report._replace(suspects=many)), Screen(None))
    assert len(lines) == 1 + MOST_ROWS + 1 and lines[-1].startswith("and 4 more suspects")
