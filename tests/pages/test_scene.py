"""A drawing on a picture of so many pixels."""

import numpy as np
import pytest

from allreduce_bench.pages.drawing import drawing, rank_names
from allreduce_bench.pages.scene import LEAST_BOX, WIDEST_BOX, Scene, along, layout_of, scene, visible_way, ways

CASES = [("ring", 4), ("naive", 5), ("two_tree", 8), ("hierarchical_ring", 16), ("ring", 32), ("tree", 1)]


def placed(algorithm: str, ranks: int, width: float = 500, height: float = 500, **options) -> Scene:
    return scene(drawing(algorithm, ranks, **options), rank_names(ranks), width, height)


@pytest.mark.parametrize(("algorithm", "ranks", "trees"), [("ring", 4, 1), ("naive", 5, 1), ("two_tree", 8, 2)])
def test_each_tree_fits_into_its_pixels(algorithm, ranks, trees):
    width, height = placed(algorithm, ranks, 500, 300).size
    assert width <= 500.001 and height <= trees * 300.001
    assert width == pytest.approx(500) or height == pytest.approx(trees * 300)


def test_boxes_of_many_ranks_have_room_for_their_names():
    found = placed("ring", 32, 100, 100)
    assert found.in_pixels(found.layout.box_width) == pytest.approx(LEAST_BOX)


@pytest.mark.parametrize(("algorithm", "ranks"), CASES)
def test_ranks_stand_where_they_stand_on_a_page(algorithm, ranks):
    found = placed(algorithm, ranks)
    layout = layout_of(found.drawing, WIDEST_BOX)
    assert [[(x, -y) for x, y in points] for points in found.places] == [[*points] for points in layout.places]
    assert found.box[0] <= layout.box_width and found.box[1] <= layout.box_height + 1e-9


@pytest.mark.parametrize(("algorithm", "ranks"), CASES)
def test_messages_stay_inside_from_rank_to_rank(algorithm, ranks):
    found = placed(algorithm, ranks)
    left, right, bottom, top = found.limits
    for message in (message for round_ in found.drawing.rounds for message in round_.messages):
        for way in ways(found, [message]):
            (places,) = (points for points in found.places if way.source in points)
            assert along(found, way, 0) == pytest.approx(places[message.source])
            assert along(found, way, 1) == pytest.approx(places[message.dest])
            line = visible_way(found, way)
            assert len(line) >= 2 and np.all(line > (left, bottom)) and np.all(line < (right, top))


def test_each_block_travels_in_its_tree():
    found = placed("two_tree", 8, segment=16)
    seen = set()
    for round_ in found.drawing.rounds:
        for way in ways(found, round_.messages):
            (tree,) = (number for number, points in enumerate(found.places) if way.source in points)
            assert way.dest in found.places[tree]
            seen |= {(block, tree) for block in way.blocks}
    assert seen == set(enumerate(found.layout.tree_of_block)) and len({tree for _, tree in seen}) == 2


def test_a_message_of_two_trees_travels_in_both():
    found = placed("two_tree", 8)
    message = found.drawing.rounds[0].messages[0]
    both = message._replace(blocks=(0, 1), content=(frozenset({0}), frozenset({1})))
    first, second = ways(found, [both])
    assert (first.blocks, second.blocks) == ((0,), (1,)) and second.content == (frozenset({1}),)
    assert first.source.y > second.source.y


def test_two_opposite_ways_are_apart():
    found = placed("recursive_doubling", 4)
    pair = [message for message in found.drawing.rounds[0].messages if {message.source, message.dest} == {0, 1}]
    there, back = ways(found, pair)
    assert abs(along(found, there, 0.5).y - along(found, back, 0.5).y) > 0.5 * found.name_height
