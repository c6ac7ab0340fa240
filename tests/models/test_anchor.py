"""Times begin at what was measured: the very times there, scaled prices between and beyond."""

import numpy as np
import pytest

from allreduce_bench.models.anchor import Anchored, Measured, trend_s

RANKS, SIZES = (2, 4, 16), (8, 64, 512)


def price(ranks: int, nodes: int, size_bytes: int) -> float:
    """A schedule of log2 p messages, each of 1 us and 1 ns a byte."""
    return float(np.log2(ranks)) * (1e-6 + 1e-9 * size_bytes)


def anchored(factor=lambda ranks, size_bytes: 1.0, has_trend: bool = False, nodes=lambda ranks: ranks) -> Anchored:
    """Times that are `factor` of the price."""
    cells = [(p, nodes(p), n, price(p, 0, n) * factor(p, n)) for p in RANKS for n in SIZES]
    return Anchored(Measured(*map(np.array, zip(*cells))), price, has_trend)


@pytest.mark.parametrize("has_trend", [False, True])
def test_a_measured_cell_gives_its_time(has_trend):
    random = np.random.default_rng(1)
    factors = {(p, n): random.uniform(0.1, 10) for p in RANKS for n in SIZES}
    found = anchored(lambda p, n: factors[p, n], has_trend)
    for p in RANKS:
        for n in SIZES:
            timed = found.predict(p, p, n)
            assert timed.is_measured and timed.time_s == pytest.approx(price(p, 0, n) * factors[p, n], rel=1e-12)


def test_between_ranks_the_ratio_is_interpolated_in_log_p_and_beyond_it_is_the_last_one():
    found = anchored(lambda p, n: {2: 1.0, 4: 2.0, 16: 8.0}[p])
    assert found.predict(8, 8, 64).time_s == pytest.approx(4 * price(8, 0, 64))
    assert found.predict(64, 64, 64).time_s == pytest.approx(8 * price(64, 0, 64))
    assert Anchored(found.cells.where(found.cells.ranks > 2), price).predict(2, 2, 64).time_s == pytest.approx(
        2 * price(2, 0, 64)
    )


def test_between_sizes_the_ratio_is_interpolated_in_log_n():
    found = anchored(lambda p, n: {8: 1.0, 64: 2.0, 512: 8.0}[n])
    assert found.predict(4, 4, 181).time_s == pytest.approx(4 * price(4, 0, 181), rel=0.01)
    assert not found.predict(4, 4, 181).is_measured


def test_a_size_that_other_ranks_lack_takes_the_anchors_it_has():
    cells = [(p, p, n, 2 * price(p, 0, n)) for p in RANKS for n in SIZES if (p, n) != (16, 512)]
    found = Anchored(Measured(*map(np.array, zip(*cells))), price)
    assert found.predict(16, 16, 512).time_s == pytest.approx(2 * price(16, 0, 512))


def test_below_the_sizes_it_is_the_last_time_above_them_it_grows_as_the_last_two_do():
    found = anchored()
    assert found.predict(4, 4, 2).time_s == found.predict(4, 4, 8).time_s
    slope = np.log(found.predict(4, 4, 512).time_s / found.predict(4, 4, 64).time_s) / np.log(8)
    assert found.predict(4, 4, 2048).time_s == pytest.approx(found.predict(4, 4, 512).time_s * 4**slope)


@pytest.mark.parametrize(("factor", "growth"), [(100.0, 4.0), (0.1, 1.0)])
def test_the_growth_beyond_the_sizes_is_held_between_0_and_1(factor, growth):
    found = anchored(lambda p, n: factor if n == 512 else 1.0)
    assert found.predict(4, 4, 2048).time_s == pytest.approx(growth * found.predict(4, 4, 512).time_s)


def test_a_librarys_own_choice_is_the_geometric_mean_with_the_trend_of_its_size():
    found = anchored(has_trend=True)
    line = trend_s(np.array(RANKS), np.array([price(p, 0, 64) for p in RANKS]), 64)
    assert found.predict(64, 64, 64).time_s == pytest.approx(np.sqrt(price(64, 0, 64) * line))
    assert line == pytest.approx(price(64, 0, 64))  # these times are a line over log2 p


def test_a_trend_does_not_fall_below_half_of_the_least_time():
    assert trend_s(np.array([2, 4]), np.array([4e-6, 1e-6]), 1024) == 5e-7
    assert trend_s(np.array([2, 4, 8]), np.array([1e-6, 2e-6, 3e-6]), 16) == pytest.approx(4e-6)


def test_a_time_that_was_not_measured_does_not_exceed_that_of_a_larger_size():
    found = anchored(lambda p, n: 30.0 if n == 64 else 1.0)
    curve = found.curve(8, 8)
    assert (np.diff(curve.time_s) >= 0).all() and found.predict(8, 8, 64).is_cut and not found.predict(8, 8, 8).is_cut
    assert found.predict(8, 8, 64).time_s == found.predict(8, 8, 512).time_s
    assert found.predict(4, 4, 100).is_cut and found.predict(4, 4, 100).time_s == found.predict(4, 4, 512).time_s
    assert found.predict(4, 4, 64).time_s == pytest.approx(30 * price(4, 0, 64))  # it was measured


def test_between_sizes_no_time_is_below_both_neighbours():
    found = anchored(lambda ranks, size_bytes: 1.04 if size_bytes == 8 else 1.0)
    times_s = [found.predict(8, 8, size).time_s for size in range(8, 65)]
    assert times_s[0] == times_s[1] < times_s[-1] and (np.diff(times_s) >= 0).all()


def test_an_anchor_that_is_far_off_both_neighbours_is_named():
    assert anchored(lambda p, n: 2.0 if (p, n) == (4, 64) else 1.0).outliers() == [(4, 64)]
    assert anchored(lambda p, n: 0.5 if (p, n) == (16, 64) else 1.0).outliers() == [(16, 64)]
    assert anchored(lambda p, n: 1.7 if (p, n) == (4, 64) else 1.0).outliers() == []
    assert anchored(lambda p, n: {8: 1.0, 64: 2.0, 512: 4.0}[n]).outliers() == []


def test_ranks_that_share_a_node_are_anchored_at_those_that_do():
    cells = [(p, p // per, n, per * price(p, 0, n)) for per in (1, 4) for p in (4, 16) for n in SIZES]
    found = Anchored(Measured(*map(np.array, zip(*cells))), price)
    assert found.predict(64, 64, 64).time_s == pytest.approx(price(64, 0, 64))
    assert found.predict(64, 16, 64).time_s == pytest.approx(4 * price(64, 0, 64))
    assert found.predict(64, 32, 64).time_s == pytest.approx(2 * price(64, 0, 64))  # between both
