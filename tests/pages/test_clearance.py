"""Messages are drawn where they hide neither boxes nor each other."""

from itertools import combinations

import pytest

from allreduce_bench.pages.drawing import drawing, rank_names
from allreduce_bench.pages.scene import Spot, along, clear_spots, extent, scene, ways

Area = tuple[float, float, float, float]  # the middle, width and height


def shared(one: Area, other: Area) -> float:
    """The area that two rectangles share, over that of the first."""
    sides = [
        min(one[axis] + one[axis + 2] / 2, other[axis] + other[axis + 2] / 2)
        - max(one[axis] - one[axis + 2] / 2, other[axis] - other[axis + 2] / 2)
        for axis in (0, 1)
    ]
    return max(sides[0], 0) * max(sides[1], 0) / (one[2] * one[3])


@pytest.mark.parametrize(
    ("algorithm", "ranks", "side", "most"),
    [
        ("ring", 4, 420, 0.02),
        ("two_tree", 8, 560, 0.05),
        ("tree", 16, 640, 0.02),
        ("rabenseifner", 4, 420, 0.1),
        ("hierarchical_ring", 8, 560, 0.35),
    ],
)
def test_words_and_rows_hide_little(algorithm, ranks, side, most):
    found = scene(drawing(algorithm, ranks), rank_names(ranks), side, side)
    boxes = [(*place, *found.box) for places in found.places for place in places]
    left, right, bottom, top = found.limits
    for round_ in found.drawing.rounds:
        sent = ways(found, round_.messages)
        drawn = []
        for way, spot in zip(sent, clear_spots(found, sent, 0.42)):
            x, y = along(found, way, spot.share)
            drawn.append((x, y + spot.lift, *extent(found, way)))
        assert all(left <= x - wide / 2 and x + wide / 2 <= right for x, _, wide, _ in drawn)
        assert all(bottom <= y - high / 2 and y + high / 2 <= top for _, y, _, high in drawn)
        assert all(shared(one, box) <= most for one in drawn for box in boxes)
        assert all(shared(one, other) <= most for one, other in combinations(drawn, 2))


def test_with_room_enough_it_is_the_wished_share():
    found = scene(drawing("naive", 4), rank_names(4), 420, 420)
    sent = ways(found, found.drawing.rounds[1].messages[:1])
    assert clear_spots(found, sent, 0.5) == [Spot(pytest.approx(0.5), 0.0)]


def test_the_second_of_two_on_one_way_gives_room():
    found = scene(drawing("naive", 4), rank_names(4), 420, 420)
    first, second = clear_spots(found, 2 * ways(found, found.drawing.rounds[1].messages[:1]), 0.5)
    assert first != second
