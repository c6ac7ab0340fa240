"""The formulas of the usual first lesson equal what the schedules move, for any number of ranks."""

import pytest

from allreduce_bench.pages.gallery.facts import transfers


@pytest.mark.parametrize("ranks", [2, 3, 4, 7, 16])
@pytest.mark.parametrize("blocks", [1, 5])
def test_schedules_move_what_the_lesson_says(ranks, blocks):
    count = ranks * blocks
    naive, master, ring = transfers(ranks, count)
    assert naive.in_all == ranks * (ranks - 1) * count
    assert master.in_all == ring.in_all == 2 * (ranks - 1) * count
    assert ring.busiest_sends == ring.idlest_sends == 2 * (ranks - 1) * count / ranks
    assert (master.busiest_sends, master.idlest_sends) == ((ranks - 1) * count, count)
    for row in (naive, master, ring):
        assert row.scheme.in_all(ranks, count) == row.in_all
        assert row.scheme.per_rank(ranks, count) == row.busiest_sends


def test_formulas_as_text_say_the_same_as_those_that_are_counted():
    for row in transfers(5, 20):
        text = row.scheme.formula_in_all.replace("G(", "G*(").replace(")N", ")*N").replace("2(", "2*(")
        assert eval(text, {"G": 5, "N": 20}) == row.in_all


def test_unequal_blocks_are_seen():
    *_, ring = transfers(4, 10)  # blocks of 3, 3, 2, 2
    assert ring.in_all == 60 and ring.busiest_sends > 2 * 3 * 10 / 4
