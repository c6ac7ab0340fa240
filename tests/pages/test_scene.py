"""A drawing on a picture of so many pixels."""

import numpy as np
import pytest

from allreduce_bench.pages.drawing import drawing
from allreduce_bench.pages.names import rank_names
from allreduce_bench.pages.scene import along, scene, visible_way

CASES = [("ring", 4), ("naive", 5), ("two_tree", 8), ("hierarchical_ring", 16), ("ring", 32), ("tree", 1)]


@pytest.mark.parametrize(("algorithm", "ranks"), CASES)
def test_it_fits_into_its_pixels(algorithm, ranks):
    width, height = scene(drawing(algorithm, ranks), rank_names(ranks), 500, 300).size
    assert width <= 500.001 and height <= 300.001
    assert width == pytest.approx(500) or height == pytest.approx(300)


@pytest.mark.parametrize(("algorithm", "ranks"), CASES)
def test_messages_stay_inside_from_rank_to_rank(algorithm, ranks):
    placed = scene(drawing(algorithm, ranks), rank_names(ranks), 500, 500)
    left, right, bottom, top = placed.limits
    for message in (message for round_ in placed.drawing.rounds for message in round_.messages):
        assert along(placed, message, 0) == pytest.approx(placed.places[message.source])
        assert along(placed, message, 1) == pytest.approx(placed.places[message.dest])
        line = visible_way(placed, message)
        assert len(line) >= 2 and np.all(line > (left, bottom)) and np.all(line < (right, top))


def test_two_opposite_ways_are_apart():
    placed = scene(drawing("recursive_doubling", 4), rank_names(4), 500, 500)
    there, back = (message for message in placed.drawing.rounds[0].messages if {message.source, message.dest} == {0, 1})
    assert abs(along(placed, there, 0.5).y - along(placed, back, 0.5).y) > 0.1
