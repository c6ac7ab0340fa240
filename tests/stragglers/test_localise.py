"""Node or rank. Whole reports: test_stragglers.py."""

import numpy as np

from allreduce_bench.stragglers.localise import localise
from allreduce_bench.stragglers.slow_units import NODE
from allreduce_bench.stragglers.synthetic import Slow, synthetic_arrivals


def late(ranks, slow, node_of):
    ready_s = synthetic_arrivals(ranks, 200, 4, slow, noise=0.02, spikes=0.0).ready_s
    return [(each.kind == NODE, each.node, each.ranks) for each in localise(ready_s, node_of, 1.0, 0.0)[1]]


def test_most_ranks_of_a_node_make_the_node():
    assert late(9, [Slow((0, 1), 0.3)], (0, 0, 0, 1, 1, 1, 2, 2, 2)) == [(True, 0, (0, 1))]
    assert late(8, [Slow((4, 5), 0.3)], (0, 0, 0, 0, 1, 1, 1, 1)) == [(False, 1, (4,)), (False, 1, (5,))]


def test_nodes_may_have_ranks_in_any_order_and_number():
    node_of = (0, 1, 0, 2, 1, 0, 2, 3, 0)
    assert late(9, [Slow((0, 2, 5, 8), 0.3)], node_of) == [(True, 0, (0, 2, 5, 8))]
    assert late(9, [Slow((7,), 0.3)], node_of) == [(False, 3, (7,))]


def test_nodes_of_one_rank_are_ranks():
    assert late(4, [Slow((2,), 0.3)], (0, 1, 2, 3)) == [(False, 2, (2,))]


def test_a_rank_of_which_nothing_is_known_does_not_hide_its_node():
    ready_s = synthetic_arrivals(9, 200, 4, [Slow((0, 1, 2), 0.3)], noise=0.02, spikes=0.0).ready_s
    ready_s[:, 2] = np.nan
    (only,) = localise(ready_s, (0, 0, 0, 1, 1, 1, 2, 2, 2), 1.0, 0.0)[1]
    assert only.kind == NODE and only.ranks == (0, 1)
