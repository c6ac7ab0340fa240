"""What a rank does with its buffers, played without MPI on numbers: the result, the input, and the scratch."""

import numpy as np
import pytest
from player import play

from allreduce_bench import algorithms
from allreduce_bench.executing.program import INPUT, OUTPUT, SCRATCH, Copy, Exchange, exchanges
from allreduce_bench.schedule.algorithm import Topology

ALGORITHMS = algorithms.builtin()


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
def test_what_all_ranks_do_is_an_all_reduce(name, size):
    algorithm, topology = ALGORITHMS[name], Topology.one_node(size)
    if algorithm.unmet(size, topology):
        pytest.skip("it does not fit so many ranks")
    for count in (0, 1, size, size + 1, 23):
        programs = [exchanges(steps, count) for steps in algorithm.schedules(size, topology, count, 5)]
        inputs = [np.arange(count) + 100 * rank for rank in range(size)]
        for output in play(programs, inputs):
            assert (output == sum(inputs)).all()


def test_what_is_reduced_first_needs_no_scratch():
    (steps, _) = ALGORITHMS["ring"].schedules(2, Topology.one_node(2), 8, 1)
    program = exchanges(steps, 8)
    views = [operation.recv for operation in program.operations if isinstance(operation, Exchange)]
    assert {view.buffer for view in views if view} == {OUTPUT} and program.scratch == 4
    assert not any(isinstance(operation, Copy) for operation in program.operations)


def test_what_is_reduced_again_lands_in_the_scratch():
    (steps, *_) = ALGORITHMS["recursive_doubling"].schedules(4, Topology.one_node(4), 8, 1)
    first, second = (operation for operation in exchanges(steps, 8).operations if isinstance(operation, Exchange))
    assert (first.send.buffer, first.recv.buffer) == (INPUT, OUTPUT)
    assert (second.send.buffer, second.recv.buffer) == (OUTPUT, SCRATCH)
