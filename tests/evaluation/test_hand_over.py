"""Where one algorithm hands over to another."""

import pytest
from made_rows import made_rows

from allreduce_bench.evaluation.verdict import hand_over

SIZES = [2**k for k in range(3, 21)]
BOTH = ("tree", "ring")


def rows_of(crossing: float, sizes=SIZES):
    """tree takes 1 + n / 1000, ring as much at `crossing`, from a larger start with a lower slope."""
    start, slope = 1 + crossing / 2000, 1 / 2000
    times = {n: {"tree": 1 + n / 1000, "ring": start + slope * n} for n in sizes}
    rows = made_rows({(name, n): [s] * 3 for n, of_size in times.items() for name, s in of_size.items()})
    return {n: {row["competitor"]: row for row in rows if row["size_bytes"] == n} for n in times}


@pytest.mark.parametrize("crossing", [100, 5000, 70000])
def test_the_crossing_is_between_the_sizes_that_were_told(crossing):
    sizes = rows_of(crossing)
    leaders = {n: {"tree"} if n < crossing / 2 else {"ring"} if n > 2 * crossing else {*BOTH} for n in SIZES}
    before, after = [n for n in SIZES if "tree" in leaders[n]], [n for n in SIZES if "tree" not in leaders[n]]
    over = hand_over(sizes, leaders, ("tree", before), ("ring", after))
    assert (over.before, over.after) == BOTH
    assert over.low == max(n for n in SIZES if n < crossing / 2) and over.high == after[0]
    assert over.size_bytes == pytest.approx(crossing, rel=0.1)


def test_where_both_were_measured_at_one_end_only_it_is_in_the_middle():
    sizes = {n: {name: row for name, row in rows.items() if name == "tree" or n > 8} for n, rows in rows_of(40).items()}
    over = hand_over(sizes, {8: {"tree"}, 128: {"ring"}}, ("tree", [8]), ("ring", [128]))
    assert 8 < over.size_bytes < 128


def test_a_size_out_of_order_does_not_move_it():
    sizes = rows_of(5000)
    sizes[64]["ring"] |= {"launch_medians": {"2r-1": 0.9, "2r-2": 0.9, "2r-3": 0.9}}
    over = hand_over(sizes, {8: {"tree"}, 1 << 20: {"ring"}}, ("tree", [8]), ("ring", [1 << 20]))
    assert over.size_bytes == pytest.approx(5000, rel=0.1)
