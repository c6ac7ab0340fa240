"""The price of a copy between places that are a few bytes apart is measured, whatever the processor."""

from allreduce_bench.machine.close_copies import close_copy_factor


def test_the_factor_is_a_ratio_of_times():
    assert 0.05 < close_copy_factor() < 50
