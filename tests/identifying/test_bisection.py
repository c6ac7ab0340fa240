"""Sizes at which the library changes are found by bisection."""

import pytest

from allreduce_bench.identifying.look import middle


@pytest.mark.parametrize(("low", "high", "switch"), [(8, 1 << 16, 8192), (8, 4096, 16), (1 << 16, 1 << 24, 1 << 20)])
def test_a_switch_at_a_power_of_two_is_the_upper_one_of_two_near_sizes(low, high, switch):
    for share in (0.0, 1 / 64):
        below, above, asked = low, high, 0
        while (size_bytes := middle(below, above, 4, share)) is not None:
            below, above, asked = (
                (below, size_bytes, asked + 1) if size_bytes >= switch else (size_bytes, above, asked + 1)
            )
            assert size_bytes % 4 == 0 and asked < 30
        assert above == switch and switch - below <= max(4, share * switch)


def test_there_is_none_between_neighbours():
    assert middle(4, 8, 4, 0.0) is None and middle(8, 24, 8, 0.0) == 16
