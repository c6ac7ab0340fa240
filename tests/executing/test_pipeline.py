"""The order of messages that are posted ahead, played without MPI and without any buffering."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from player import play
from random_schedules import all_reduces

from allreduce_bench.algorithms import builtin
from allreduce_bench.executing.pipeline import pipelined_program
from allreduce_bench.executing.program import OUTPUT, SCRATCH, Copy, PostReceive, PostSend, Program, Wait, exchanges
from allreduce_bench.schedule import Schedule
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.cut import cut, cut_schedules

ALGORITHMS = builtin()
MIB = 1 << 18  # elements of four bytes


def random_inputs(size: int, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng([size, count])
    return [rng.standard_normal(count, dtype=np.float32) for _ in range(size)]


def bits(outputs) -> list[bytes]:
    return [output.tobytes() for output in outputs]


def steps_of(name: str, size: int, count: int, segment: int) -> list[Schedule]:
    """Cut, but for algorithms that have segments of their own."""
    schedules = ALGORITHMS[name].schedules(size, Topology.one_node(size), count, segment)
    return schedules if ALGORITHMS[name].segmented else [cut(steps, segment) for steps in schedules]


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
def test_every_algorithm_gives_the_bits_of_blocking_exchanges(name, size):
    if ALGORITHMS[name].unmet(size, Topology.one_node(size)):
        pytest.skip("it does not fit so many ranks")
    for count, segment in ((0, 1), (1, 1), (size - 1, 1), (size, 3), (size + 1, 1), (37, 3), (37, 100)):
        inputs = random_inputs(size, count)
        whole = ALGORITHMS[name].schedules(size, Topology.one_node(size), count, segment)
        expected = bits(play([exchanges(steps, count) for steps in whole], inputs))
        for window in (1, 2, 5):
            programs = [pipelined_program(steps, count, window) for steps in steps_of(name, size, count, segment)]
            assert bits(play(programs, inputs)) == expected, (count, segment, window)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
def test_every_algorithm_gives_the_same_bits_in_place(name, size):
    """Blocking, and posted ahead."""
    if ALGORITHMS[name].unmet(size, Topology.one_node(size)):
        pytest.skip("it does not fit so many ranks")
    for count, segment, window in ((0, 1, 1), (size - 1, 1, 2), (size + 1, 1, 5), (37, 3, 2), (37, 100, 1)):
        inputs = random_inputs(size, count)
        whole = ALGORITHMS[name].schedules(size, Topology.one_node(size), count, segment)
        expected = bits(play([exchanges(steps, count) for steps in whole], inputs))
        assert bits(play([exchanges(steps, count, 4, True) for steps in whole], inputs, True)) == expected
        cuts = steps_of(name, size, count, segment)
        ahead = [pipelined_program(steps, count, window, 4, True) for steps in cuts]
        assert bits(play(ahead, inputs, True)) == expected, (count, segment, window)


@settings(max_examples=200, deadline=None)
@given(all_reduces(), st.integers(1, 6), st.integers(1, 13))
def test_any_schedule_gives_the_bits_of_blocking_exchanges(case, window, segment):
    """Whole, and in pieces where these are proved."""
    schedules, count = case
    inputs = random_inputs(len(schedules), count)
    expected = bits(play([exchanges(steps, count) for steps in schedules], inputs))
    assert bits(play([pipelined_program(steps, count, window) for steps in schedules], inputs)) == expected
    pieces = cut_schedules(schedules, count, segment)
    assert bits(play([pipelined_program(steps, count, window) for steps in pieces.schedules], inputs)) == expected
    in_place = [pipelined_program(steps, count, window, 2, True) for steps in pieces.schedules]
    assert bits(play(in_place, inputs, True)) == expected


def ring_program(size: int, count: int, segment: int, window: int) -> Program:
    return pipelined_program(steps_of("ring", size, count, segment)[1], count, window)


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("window", [1, 2, 4])
def test_the_window_bounds_what_is_under_way(size, window):
    program = ring_program(size, 400, 5, window)
    under_way, most = set(), Counter()
    kinds = {}
    for operation in program.operations:
        if isinstance(operation, PostReceive | PostSend):
            under_way.add(operation.request)
            kinds[operation.request] = type(operation)
        elif isinstance(operation, Wait):
            under_way.remove(operation.request)
        for kind, number in Counter(kinds[request] for request in under_way).items():
            most[kind] = max(most[kind], number)
    assert most[PostReceive] == window and window <= most[PostSend] <= 2 * window
    assert program.requests == 3 * window


def test_receives_are_posted_ahead_and_applied_in_order():
    operations = ring_program(2, 32, 4, 3).operations
    assert [type(operation) for operation in operations[:6]] == [PostReceive] * 3 + [PostSend] * 3
    waits = [operation for operation in operations if isinstance(operation, Wait)]
    received = [wait.step for wait in waits if wait.request < 3]
    assert received == sorted(received) == [*range(1, 9)]


@pytest.mark.parametrize("size", [2, 3, 4, 8])
def test_what_the_ring_gathers_lands_directly_and_ahead(size):
    """Also what it reduces first; nothing is copied, and only messages that are reduced again need the scratch."""
    program = ring_program(size, 64 * size, 4, 4)
    views = [operation.recv for operation in program.operations if isinstance(operation, PostReceive)]
    assert not any(isinstance(operation, Copy) for operation in program.operations)
    assert {view.buffer for view in views} == {OUTPUT} and program.scratch == 0
    posted = 0
    for operation in program.operations[:-12]:  # the last ones have nothing ahead of them
        posted += isinstance(operation, PostReceive)
        if isinstance(operation, Wait) and operation.request < 4:
            assert posted == min(len(views), operation.step + 3)


def test_a_send_starts_as_soon_as_what_it_reads_is_there():
    """The second step of the ring sends a piece right after its reduction, with the rest of the first step to come."""
    operations = ring_program(3, 120, 10, 8).operations  # 4 pieces a step
    sends = [index for index, operation in enumerate(operations) if isinstance(operation, PostSend)]
    waits = [index for index, operation in enumerate(operations) if isinstance(operation, Wait)]
    assert sum(index < waits[0] for index in sends) == 4
    assert waits[0] < sends[4] < waits[1] < sends[5] < waits[2]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_scratch_is_bounded_at_64_mib(name):
    """By the window times the segment; without segments by the largest message that is reduced."""
    count, window = 64 * MIB, 4
    for segment in (MIB // 4, MIB):
        for size in (2, 4):
            topology = Topology.one_node(size)
            for steps in steps_of(name, size, count, segment)[:2]:
                assert pipelined_program(steps, count, window).scratch <= window * segment
            whole = ALGORITHMS[name].schedules(size, topology, count, segment)[0]
            largest = max((sum(map(len, step.recv)) for step in whole if step.reduce), default=0)
            assert exchanges(whole, count).scratch <= largest


def test_what_is_reduced_again_has_slots_of_its_own():
    (steps, *_) = steps_of("naive", 4, 40, 10)
    program = pipelined_program(steps, 40, 2)
    slots = {op.recv.ranges for op in program.operations if isinstance(op, PostReceive) and op.recv.buffer == SCRATCH}
    assert slots == {(range(0, 10),), (range(10, 20),)} and program.scratch == 20


def test_the_player_notices_a_send_that_is_overwritten():
    steps = ALGORITHMS["recursive_doubling"].schedules(2, Topology.one_node(2), 4, 1)
    damaged = [pipelined_program(own, 4, 1) for own in steps]
    damaged = [
        program._replace(operations=[op for op in program.operations if not isinstance(op, Wait) or op.request == 0])
        for program in damaged
    ]
    with pytest.raises(AssertionError, match="not waited for"):
        play(damaged, random_inputs(2, 4))
