"""The natural picture of each algorithm, found in its messages alone."""

import pytest

from allreduce_bench.pages.drawing import SHAPES, drawing, parents_of, trees_of

NATURAL = {
    "ring": "ring",
    "naive": "ring",
    "parameter_server": "star",
    "parameter_server_sharded": "ring",
    "tree": "tree",
    "two_tree": "two_trees",
    "recursive_doubling": "hypercube",
    "rabenseifner": "hypercube",
}


@pytest.mark.parametrize("name", NATURAL)
@pytest.mark.parametrize("ranks", [4, 7, 12, 31])
def test_the_natural_picture(name, ranks):
    assert drawing(name, ranks).shape == NATURAL[name]


def test_an_algorithm_that_heeds_nodes_is_drawn_on_nodes():
    assert drawing("hierarchical_ring", 12).nodes == ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11))
    assert drawing("hierarchical_ring", 12).shape == "nodes"
    assert drawing("hierarchical_ring", 12, ranks_per_node=12).shape == "ring"
    assert drawing("ring", 12).nodes == (tuple(range(12)),)
    assert drawing("ring", 12, ranks_per_node=5).shape == "nodes"


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_few_ranks_have_some_picture(ranks):
    assert {drawing(name, ranks).shape for name in NATURAL} <= {*SHAPES}


def test_each_half_of_the_two_tree_has_a_tree_of_its_own():
    drawn = drawing("two_tree", 8, segment=8)
    first, second = trees_of(8, [round_.messages for round_ in drawn.rounds])
    assert first != second and drawn.blocks == 16 // 2
    root = 3 if (3, 7) in first else 7
    parents = parents_of(first, 8, root)
    assert parents[root] is None and parents.count(None) == 1
    assert {(min(pair), max(pair)) for pair in enumerate(parents) if pair[1] is not None} == first
