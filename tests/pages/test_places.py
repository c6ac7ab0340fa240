"""Where ranks stand in pictures."""

from itertools import combinations

import pytest

from allreduce_bench.pages.drawing import drawing
from allreduce_bench.pages.places import box, places, reduction_trees


@pytest.mark.parametrize("algorithm", ["ring", "naive", "parameter_server", "tree", "two_tree", "hierarchical_ring"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 7, 16, 32])
def test_no_box_overlaps_another(algorithm, ranks):
    placed = places(drawing(algorithm, ranks))
    width, height = box(placed)
    assert len(placed) == ranks and width > 0
    for one, other in combinations(placed, 2):
        assert abs(one.x - other.x) > width or abs(one.y - other.y) > height


@pytest.mark.parametrize("ranks", [6, 8, 16, 24])
def test_ranks_of_a_hypercube_stand_in_rows(ranks):
    placed = places(drawing("recursive_doubling", ranks))
    assert len({*placed}) == ranks
    partners = [(rank, rank ^ bit) for rank in range(ranks) for bit in (1, 2, 4, 8, 16) if rank ^ bit < ranks]
    assert all(placed[a].x == placed[b].x or placed[a].y == placed[b].y for a, b in partners)


def test_a_ring_goes_round_clockwise_from_the_top():
    top, right, bottom, left = places(drawing("ring", 4))
    assert top.y > right.y > bottom.y and top.y > left.y > bottom.y and right.x > top.x > left.x


def test_a_parent_stands_above_its_children():
    drawn = drawing("tree", 13)
    (parents,) = reduction_trees(drawn)
    placed = places(drawn)
    assert parents == tuple(None if rank == 0 else (rank - 1) // 2 for rank in range(13))
    assert all(placed[parent].y > placed[rank].y for rank, parent in enumerate(parents) if parent is not None)


@pytest.mark.parametrize("ranks", [4, 7, 8, 13, 16])
def test_of_two_trees_one_grows_up_and_the_other_down(ranks):
    drawn = drawing("two_tree", ranks)
    placed, (first, second) = places(drawn), reduction_trees(drawn)
    assert [place.x for place in placed] == sorted(place.x for place in placed)
    for tree, up in ((first, 1), (second, -1)):
        assert all(
            up * placed[parent].y > up * placed[rank].y for rank, parent in enumerate(tree) if parent is not None
        )


def test_what_is_no_tree_has_none():
    assert reduction_trees(drawing("recursive_doubling", 8)) == []


def test_ranks_of_a_node_stand_together():
    drawn = drawing("hierarchical_ring", 12, ranks_per_node=4)
    placed = places(drawn)

    def reach(ranks) -> float:
        return max(max(abs(placed[a].x - placed[b].x), abs(placed[a].y - placed[b].y)) for a in ranks for b in ranks)

    assert [reach(node) for node in drawn.nodes] == [reach(drawn.nodes[0])] * 3
    assert reach(range(12)) > 2 * reach(drawn.nodes[0])
