"""Segments of pipelined ways: the cheapest by the prices, within bounds, in whole elements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allreduce_bench.runs.cuts import (
    LONGEST_NBYTES,
    NOMINAL,
    SHORTEST_NBYTES,
    chosen_cuts,
    chosen_segment_nbytes,
    given_cuts,
)
from allreduce_bench.runs.plan import Cut, CutPrices, Plan

MIB = 1 << 20


def pipelined(**choices) -> Plan:
    usual = {"competitors": ("ring@pipelined",), "sizes": (8, 16 * MIB), "ranks": (2, 4), "window": 4}
    return Plan(**(usual | choices))


@pytest.mark.parametrize(
    "message, prices, expected",
    [
        (8 * MIB, (4e-6, 1e-10, 4e-10), 565 * 1024),  # sqrt(8 MiB * 4 us / 0.1 ns): 565.7 KiB
        (8 * MIB, (1e-9, 1e-10, 1e-10), SHORTEST_NBYTES),
        (64 * MIB, (1e-3, 1e-10, 1e-10), LONGEST_NBYTES),
        (64 * MIB, (1e-6, 1e-10, 0.0), LONGEST_NBYTES),  # reductions without cost: nothing to overlap with
        (2 * SHORTEST_NBYTES, (0.0, 1e-10, 1e-10), SHORTEST_NBYTES),
        (2 * SHORTEST_NBYTES - 1, (0.0, 1e-10, 1e-10), None),
    ],
)
def test_the_segment_is_the_cheapest_within_the_bounds(message, prices, expected):
    assert chosen_segment_nbytes(message, CutPrices(*prices, "test")) == expected


@given(st.integers(128 * 1024, 1 << 32), st.floats(1e-7, 1e-4), st.floats(1e-12, 1e-8), st.floats(1e-12, 1e-8))
def test_no_other_segment_within_the_bounds_costs_less(message, alpha_s, beta, gamma):
    def cost_s(size_bytes: float) -> float:
        return message / size_bytes * alpha_s + size_bytes * min(beta, gamma)

    chosen = chosen_segment_nbytes(message, CutPrices(alpha_s, beta, gamma, "test"))
    if chosen is not None:
        others = (SHORTEST_NBYTES, chosen / 2, chosen * 2, LONGEST_NBYTES)
        allowed = [other for other in others if SHORTEST_NBYTES <= other <= LONGEST_NBYTES]
        assert all(cost_s(chosen) <= 1.02 * cost_s(other) for other in allowed)  # a whole number of KiB costs a little


def test_each_size_and_number_of_ranks_has_its_own_segment_of_the_block():
    plan = pipelined()
    found = chosen_cuts(plan, NOMINAL)
    assert [(cut.ranks, cut.size_bytes) for cut in found] == [(2, 16 * MIB), (4, 16 * MIB)]  # 8 bytes are never cut
    assert [cut.segment_nbytes for cut in found] == [chosen_segment_nbytes(16 * MIB / p, NOMINAL) for p in (2, 4)]
    in_groups = chosen_cuts(pipelined(ranks=(4,), groups="2"), NOMINAL)
    assert in_groups[0].segment_nbytes == found[0].segment_nbytes  # two ranks of each group share a vector


def test_a_given_segment_cuts_every_size():
    assert given_cuts(pipelined(ranks=(2,)), 4) == (Cut(2, 8, 4), Cut(2, 16 * MIB, 4))
