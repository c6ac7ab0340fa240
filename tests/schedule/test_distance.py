"""How far bytes go on a torus: the ways of messages, and what schedules that are known send over its links."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allreduce_bench.algorithms import builtin
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.distance import distance, links_between

COUNT = 16 * 7 * 3


def of(name: str, dimensions: tuple[int, ...]) -> tuple[float, float]:
    """Elements times links, and those of the busiest link, in shares of the vector."""
    size = prod(dimensions)
    schedules = builtin()[name].schedules(size, Topology.one_node(size), COUNT, COUNT)
    found = distance(schedules, dimensions)
    return found.passed / COUNT, found.busiest / COUNT


@pytest.mark.parametrize(
    ("source", "dest", "dimensions", "links"),
    [
        (0, 0, (4,), []),
        (0, 3, (4,), [(0, 3)]),  # the shorter links_between round
        (0, 2, (4,), [(0, 1), (1, 2)]),  # of two equally long ones up
        (3, 0, (3, 4), [(3, 0)]),
        (1, 11, (3, 4), [(1, 9), (9, 10), (10, 11)]),  # the first dimension first
        (0, 1, (2,), [(0, 1)]),
        (0, 1, (1, 2, 1), [(0, 1)]),
    ],
)
def test_a_message_goes_along_one_dimension_after_the_other(source, dest, dimensions, links):
    assert [*links_between(source, dest, dimensions)] == links


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.data())
def test_a_way_leads_from_neighbour_to_neighbour_by_as_few_links_as_there_are(dimensions, data):
    size = prod(dimensions)
    source, dest = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size - 1))
    links = [*links_between(source, dest, dimensions)]
    least, stride = 0, size
    for length in dimensions:
        stride //= length
        ahead = (dest // stride - source // stride) % length
        least += min(ahead, length - ahead)
    assert len(links) == least
    ranks = [source, *(end for _, end in links)]
    assert ranks[-1] == dest and [begin for begin, _ in links] == ranks[:-1]


def test_what_is_known_of_schedules():
    assert of("ring", (8,)) == pytest.approx((14, 14 / 8))  # every message passes a single link
    assert of("bidirectional_ring", (8,)) == pytest.approx((14, 7 / 8))  # half of it in each direction
    for dimensions in ((2, 4), (4, 4)):
        size = prod(dimensions)
        assert of("torus", dimensions)[0] == pytest.approx(2 * (size - 1))  # rings of neighbours


def test_swing_goes_less_far_on_a_ring_than_doubling_and_every_way_is_as_long_as_by_hand():
    # Per rank and phase: halves, quarters, … of the vector over 1, 1, 3, 5 links (swing) and 1, 2, 4, 8 of them.
    assert of("swing", (16,))[0] == pytest.approx(2 * 16 * (1 / 2 + 1 / 4 + 3 / 8 + 5 / 16))
    assert of("rabenseifner", (16,))[0] == pytest.approx(2 * 16 * (1 / 2 + 2 / 4 + 4 / 8 + 8 / 16))
