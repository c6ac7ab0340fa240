"""What another placement changes: ratios to the placement that is judged, and the fastest of each."""

import random

from made_rows import made_row, rank

from allreduce_bench.evaluation.cell_times import competing, ways_of
from allreduce_bench.evaluation.winners_elsewhere import placement_winners

US = 1e-6


def rows_of(times, seed=1):
    """Rows of `times`: placement -> algorithm -> microseconds, five launches with a little noise."""
    drawn = random.Random(seed)
    rows = [
        made_row(name, nbytes, [time * US * drawn.gauss(1, 0.01) for _ in range(5)], placement=placement)
        for nbytes in (1024, 4096, 16384)
        for placement, by_name in times.items()
        for name, time in by_name.items()
    ]
    return rank(rows)


CHANGED = {"page": {"native": 20.0, "ring": 40.0}, "numpy": {"native": 80.0, "ring": 40.0}}


def test_one_placement_has_no_lines():
    assert placement_winners(rows_of({"page": {"native": 1.0, "ring": 2.0}})) == [] == placement_winners([])


def test_another_winner_is_told_with_the_price_of_its_placement():
    lines = placement_winners(rows_of(CHANGED))
    assert [(line.nbytes, line.placement, line.judged, line.fastest) for line in lines] == [
        (nbytes, "numpy", "native", "ring") for nbytes in (1024, 4096, 16384)
    ]
    ratios = {time.algorithm: round(time.time_s / time.usual_s) for time in lines[0].times}
    assert ratios == {"native": 4, "ring": 1}


def test_cells_of_other_placements_compete_among_themselves_alone():
    rows = rows_of(CHANGED)
    assert [way.placement for way in ways_of(rows)] == ["page", "numpy"]
    assert {row["placement"] for row in competing(rows)} == {"page"}
    assert {row["placement"] for row in competing(rows, placement="numpy")} == {"numpy"}
    fastest = {(row["placement"], row["competitor"]) for row in rows if row["standing"] == "fastest"}
    assert fastest == {("page", "native"), ("numpy", "ring")}
