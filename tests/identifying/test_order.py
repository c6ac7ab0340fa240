"""The order of additions: found from outside as it follows from the steps."""

import numpy as np
import pytest
from interpreters import FULL

from allreduce_bench.algorithms import builtin
from allreduce_bench.identifying import order
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.verify import rendezvous

SOME = (*range(1, 10), 13, 16)  # numbers of ranks, unless FULL


def summed(schedules, inputs):
    """Return what each rank has at the end, in floats: the steps, executed on arrays."""
    held = [vector.copy() for vector in inputs]
    in_flight = {}

    def begin(rank, index):
        if index < len(schedules[rank]) and schedules[rank][index].send:
            step = schedules[rank][index]
            vector = inputs[rank] if step.original else held[rank]
            in_flight[rank, index] = [vector[span.start : span.stop].copy() for span in step.send]

    for rank in range(len(schedules)):
        begin(rank, 0)
    for rank, index, _, source_index in rendezvous(schedules):
        step = schedules[rank][index]
        if step.source is not None:
            for span, arrived in zip(step.recv, in_flight.pop((step.source, source_index))):
                own = held[rank][span.start : span.stop]
                held[rank][span.start : span.stop] = own + arrived if step.reduce else arrived
        begin(rank, index + 1)
    return held


def seen_from_outside(schedules, count):
    size = len(schedules)
    dtype = order.dtype_for(size)
    came_back = [{} for _ in range(size)]
    asked = order.pairs_to_ask(came_back[0], size)
    while asked:
        for pair in asked:
            inputs = [np.full(count, order.input_of(rank, pair, dtype), dtype) for rank in range(size)]
            for rank, result in enumerate(summed(schedules, inputs)):
                came_back[rank][pair] = order.Runs.of(result)
        asked = sorted(set().union(*(order.pairs_to_ask(of_rank, size) for of_rank in came_back)))
    return order.joined([order.trees_from_outside(of_rank, size) for of_rank in came_back], count)


@pytest.mark.parametrize("name", builtin())
@pytest.mark.parametrize("size", range(1, 17) if FULL else SOME)
def test_the_order_from_outside_follows_from_the_steps(name, size):
    algorithm, topology, count = builtin()[name], Topology.filled(size, 3), 37
    if algorithm.unmet(size, topology):
        topology = Topology.one_node(size)
    if algorithm.unmet(size, topology):
        pytest.skip("needs another number of ranks")
    schedules = algorithm.schedules(size, topology, count, 8)
    assert seen_from_outside(schedules, count) == order.order_of(schedules, count)


def test_the_trees_of_four_ranks():
    chains = order.order_of(builtin()["ring"].schedules(4, Topology.one_node(4), 4, 4), 4)
    assert [order.chain_of(span.trees[0]) for span in chains] == [
        [0, 1, 2, 3],
        [1, 2, 3, 0],
        [2, 3, 0, 1],
        [0, 3, 1, 2],
    ]
    (balanced,) = order.order_of(builtin()["recursive_doubling"].schedules(4, Topology.one_node(4), 4, 4), 4)
    assert order.formula(balanced.trees[0]) == "((0+1)+(2+3))"


def test_operands_that_are_added_at_once():
    came_back = {pair: order.Runs(np.array([0]), np.array([0.0])) for pair in order.pairs_to_ask({}, 4)}
    assert order.trees_from_outside(came_back, 4) == ([0], [(0, 1, 2, 3)])


def test_sums_of_no_tree():
    """As of an accumulator so wide that the ones are not lost."""
    came_back = {pair: order.Runs(np.array([0]), np.array([2.0])) for pair in order.pairs_to_ask({}, 4)}
    assert order.trees_from_outside(came_back, 4) == ([0], [None])


@pytest.mark.parametrize(("name", "most"), [("recursive_doubling", 200), ("naive", 200), ("tree", 400)])
def test_of_many_ranks_few_pairs_are_asked(name, most):
    size = 64
    schedules = builtin()[name].schedules(size, Topology.one_node(size), 1, 1)
    (span,) = order.order_of(schedules, 1)
    came_back, asked = {}, order.pairs_to_ask({}, size)
    while asked:
        for pair in asked:
            under = next(part for part in sorted(order.parts_of(span.trees[0]), key=len) if part.issuperset(pair))
            came_back[pair] = order.Runs(np.array([0]), np.array([float(size - len(under))]))
        asked = order.pairs_to_ask(came_back, size)
    assert len(came_back) <= most
    assert order.trees_from_outside(came_back, size) == ([0], [span.trees[0]])
