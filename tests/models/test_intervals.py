"""How far off predictions are is known by leaving ranks out, by distance."""

import numpy as np
import pytest

from allreduce_bench.models.anchor import Anchored, Measured
from allreduce_bench.models.intervals import BETWEEN, ENOUGH, FAR, NEAR, Range, distance, factors, judge


def price(ranks: int, nodes: int, size_bytes: int) -> float:
    return float(np.log2(ranks)) * (1e-6 + 1e-9 * size_bytes)


def judged(factor, ranks=(2, 4, 8, 16), sizes=tuple(8 << place for place in range(10))):
    cells = Measured(*map(np.array, zip(*[(p, p, n, factor(p) * price(p, p, n)) for p in ranks for n in sizes])))
    return judge(cells, lambda rows: Anchored(cells.where(rows), price))


def test_what_grows_faster_than_priced_is_off_by_as_much_at_the_largest():
    held_out, ranges = judged(lambda p: {16: 1.5}.get(p, 1.0))
    assert (held_out.median, held_out.cells) == (pytest.approx(1 / 3), 10) and held_out.p90 == pytest.approx(1 / 3)
    by_times = {one.times: one for one in ranges}
    assert by_times[NEAR].high == pytest.approx(1.5) and by_times[NEAR].low == 1.0
    assert by_times[FAR].ratios == 10 and by_times[BETWEEN].ratios == 20


def test_below_three_numbers_of_ranks_nothing_is_held_out():
    assert judged(lambda p: 1.0, (2, 4)) == (None, ())


def test_a_range_takes_ten_ratios_else_it_is_the_usual_one():
    known = {NEAR: Range(NEAR, 0.7, 1.1, ENOUGH)}
    assert factors(known, 2.0, 1.0, False) == (0.7, 1.1)
    few = {NEAR: Range(NEAR, 0.7, 1.1, ENOUGH - 1)}
    assert factors(few, 2.0, 1.0, False) == pytest.approx((1 / 1.8, 1.8))
    assert factors({}, 2.1, 1.0, False) == pytest.approx((1 / 3, 3.0)) and factors({}, 8.1, 1.0, False) is None


def test_sizes_beyond_widen_it():
    assert factors({}, 1.0, 4.0, True) == (0.25, 4.0) and factors({}, 1.0, 1.2, True) == pytest.approx((1 / 1.8, 1.8))
    assert factors({}, 2.0, 2.0, False) == pytest.approx((1 / 3.6, 3.6)) and factors({}, 1.0, 4.1, True) is None


def test_a_distance_is_to_the_nearest_end():
    assert [distance(value, (4, 8)) for value in (1, 4, 6, 8, 24)] == [4, 1, 1, 1, 3] and distance(7, ()) == 1
