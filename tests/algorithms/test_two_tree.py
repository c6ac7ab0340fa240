"""The two trees span all ranks, no rank is interior in both, and their colours let every rank send once a round."""

from allreduce_bench.algorithms.two_tree import in_order_tree, second_tree, two_trees

TREE_SIZES = [*range(2, 301), 1024, 4097]


def interior(parents) -> set[int]:
    return {parent for parent in parents if parent is not None}


def test_the_two_trees_span_all_ranks_at_logarithmic_height():
    for size in TREE_SIZES:
        for parents in (in_order_tree(size), second_tree(size)):
            assert parents.count(None) == 1, size
            height, level = 0, [rank for rank, parent in enumerate(parents) if parent is None]
            children = {rank: [] for rank in range(size)}
            for rank, parent in enumerate(parents):
                if parent is not None:
                    children[parent].append(rank)
            reached = set(level)
            while level := [child for rank in level for child in children[rank]]:
                height += 1
                reached.update(level)
            assert reached == set(range(size)), size
            assert max(map(len, children.values())) <= 2, size
            assert height == size.bit_length() - 1, size


def test_no_rank_is_interior_in_both_trees():
    for size in TREE_SIZES:
        assert not interior(in_order_tree(size)) & interior(second_tree(size)), size


def test_the_edges_of_the_two_trees_are_coloured_so_that_no_rank_sends_or_receives_twice_in_a_round():
    for size in TREE_SIZES:
        leaving, entering = set(), set()
        edges = 0
        for tree in two_trees(size):
            for rank, parent in enumerate(tree.parent):
                if parent is not None:
                    edges += 1
                    assert tree.up[rank] % 2 == tree.down[rank] % 2, size
                    leaving.add((rank, tree.up[rank] % 2))
                    entering.add((parent, tree.up[rank] % 2))
                    assert all(tree.up[child] < tree.up[rank] for child in tree.children[rank]), size
                    assert all(tree.down[child] > tree.down[rank] for child in tree.children[rank]), size
        assert len(leaving) == len(entering) == edges == 2 * (size - 1), size
