"""Where ranks stand: inside the picture, apart from each other, parents above their children."""

from itertools import combinations

import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.pages.drawing import drawing
from allreduce_bench.pages.layout import WIDTH, layout_of


@pytest.mark.parametrize("name", builtin())
@pytest.mark.parametrize("ranks", [1, 6, 16, 31])
def test_boxes_are_inside_the_picture_and_do_not_touch(name, ranks):
    layout = layout_of(drawing(name, ranks))
    wide, tall = layout.box_width, layout.box_height
    points = [point for places in layout.places for point in places]
    assert all(wide / 2 <= x <= WIDTH - wide / 2 and tall / 2 <= y <= layout.height - tall / 2 for x, y in points)
    for (a, b), (c, d) in combinations(points, 2):
        assert abs(a - c) > wide or abs(b - d) > tall
    assert wide >= 30 and layout.height <= 1.6 * WIDTH


def test_the_trees_of_a_pair_stand_upright_below_each_other_and_each_has_its_blocks():
    layout = layout_of(drawing("two_tree", 16, segment=16))
    first, second = layout.places
    assert max(y for _, y in first) < min(y for _, y in second)
    assert layout.tree_of_block == (0, 0, 1, 1)
    for message in (
        message for round_ in drawing("two_tree", 16, segment=16).rounds[:4] for message in round_.messages
    ):
        points = layout.places[layout.tree_of_block[message.blocks[0]]]
        assert points[message.source][1] > points[message.dest][1]  # sums climb in both trees


def test_ranks_of_a_node_are_inside_its_frame():
    drawn = drawing("hierarchical_ring", 12)
    layout = layout_of(drawn)
    assert len(layout.frames) == len(drawn.nodes) == 3
    for frame, ranks in zip(layout.frames, drawn.nodes):
        for x, y in (layout.places[0][rank] for rank in ranks):
            assert frame.x < x - layout.box_width / 2 and x + layout.box_width / 2 < frame.x + frame.width
            assert frame.y < y - layout.box_height / 2 and y + layout.box_height / 2 < frame.y + frame.height


@pytest.mark.parametrize(("ranks", "ranks_per_node"), [(6, 1), (8, 2), (32, 4), (16, 8)])
def test_a_frame_has_room_for_the_name_of_its_node_and_is_wider_than_boxes(ranks, ranks_per_node):
    drawn = drawing("hierarchical_ring", ranks, ranks_per_node=ranks_per_node)
    layout = layout_of(drawn)
    for frame, members in zip(layout.frames, drawn.nodes):
        assert all(layout.places[0][rank][1] - layout.box_height / 2 >= frame.y + 20 for rank in members)
        assert frame.width > layout.box_width


def test_the_master_of_a_star_is_in_the_middle():
    layout = layout_of(drawing("parameter_server", 9))
    assert layout.places[0][0] == pytest.approx((WIDTH / 2, layout.height / 2), abs=1)


def test_a_ring_goes_round_clockwise_from_the_top():
    top, right, bottom, left = layout_of(drawing("ring", 4)).places[0]
    assert top[1] < right[1] < bottom[1] and top[1] < left[1] < bottom[1] and left[0] < top[0] < right[0]


def test_a_parent_stands_above_its_children():
    layout = layout_of(drawing("tree", 13))
    assert all(layout.places[0][(rank - 1) // 2][1] < layout.places[0][rank][1] for rank in range(1, 13))
