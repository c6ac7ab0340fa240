"""The sizes of a sweep grow by one factor, and end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allreduce_bench.runs.plan import PlanError
from allreduce_bench.runs.sizes import geometric_sizes


@given(st.integers(1, 10**6), st.integers(0, 10**9), st.sampled_from([1.3, 2, 4, 10]))
def test_geometric_sizes_grow_by_the_factor_up_to_the_last(first, more, factor):
    last = first + more
    sizes = geometric_sizes(first, last, factor)
    assert sizes[0] == first
    assert sizes == tuple(sorted(set(sizes)))
    assert sizes[-1] <= last < sizes[-1] * factor + factor
    assert all(large <= small * factor + factor for small, large in zip(sizes, sizes[1:]))


def test_geometric_sizes_reach_the_last_in_spite_of_rounding():
    assert geometric_sizes(8, 128, 2) == (8, 16, 32, 64, 128)
    assert geometric_sizes(1000, 10**9, 10)[-1] == 10**9
    assert geometric_sizes(4, 4, 2) == (4,)


@pytest.mark.parametrize(
    "first, last, factor, words",
    [
        (64, 8, 2, "smallest size"),
        (8, 64, 1, "must be above 1"),
        (8, 64, float("nan"), "must be above 1"),
        (8, 64, 1.0000001, "makes more than 1000 sizes"),
        (0, 64, 2, "--sizes takes 0 too"),
    ],
)
def test_a_sweep_that_never_ends_or_never_starts_is_refused(first, last, factor, words):
    with pytest.raises(PlanError, match=words):
        geometric_sizes(first, last, factor)
