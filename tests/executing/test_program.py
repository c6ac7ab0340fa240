"""What a rank does with its buffers, played without MPI on numbers: the result, the input, and the scratch."""

from collections import deque

import numpy as np
import pytest

from allreduce_bench import algorithms
from allreduce_bench.executing.program import INPUT, OUTPUT, SCRATCH, Copy, Exchange, Program, Reduce, exchanges
from allreduce_bench.schedule import elements
from allreduce_bench.schedule.algorithm import Topology

ALGORITHMS = algorithms.builtin()


def play(programs: list[Program], inputs: list[np.ndarray]) -> list[np.ndarray]:
    """What all ranks end with, messages buffered; the inputs are kept from being written."""
    for vector in inputs:
        vector.flags.writeable = False
    buffers = [
        (vector, np.full_like(vector, -99), np.empty(p.scratch, vector.dtype)) for vector, p in zip(inputs, programs)
    ]
    queues: dict[tuple[int, int], deque] = {}
    left = [deque(program.operations) for program in programs]
    sent = [False] * len(programs)
    while any(left):
        before = sum(map(len, left)), sum(sent)
        for rank, operations in enumerate(left):
            while operations and _do(rank, operations[0], buffers[rank], queues, sent):
                operations.popleft()
                sent[rank] = False
        assert (sum(map(len, left)), sum(sent)) != before, "nobody can go on"
    return [output for _, output, _ in buffers]


def _do(rank: int, operation, buffers, queues, sent: list[bool]) -> bool:
    """Whether the operation is over."""
    if isinstance(operation, Copy | Reduce):
        value, into = _read(buffers, operation.view), operation.into
        total = value if isinstance(operation, Copy) else value + _read(buffers, into)
        _write(buffers, into, total)
        return True
    assert isinstance(operation, Exchange)
    if operation.send and not sent[rank]:
        queues.setdefault((rank, operation.dest), deque()).append(_read(buffers, operation.send))
    sent[rank] = True
    if operation.recv is None:
        return True
    if queue := queues.get((operation.source, rank)):
        _write(buffers, operation.recv, queue.popleft())
        return True
    return False


def _read(buffers, view) -> np.ndarray:
    return np.concatenate([buffers[view.buffer][span.start : span.stop] for span in view.ranges])


def _write(buffers, view, values: np.ndarray) -> None:
    assert view.buffer != INPUT and elements(view.ranges) == len(values)
    start = 0
    for span in view.ranges:
        buffers[view.buffer][span.start : span.stop] = values[start : start + len(span)]
        start += len(span)


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
