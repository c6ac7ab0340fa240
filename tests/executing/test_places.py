"""Which messages and copies join places that are slow on some processors: none at pages, some 16 bytes apart."""

import numpy as np
import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.executing import Footprint
from allreduce_bench.executing.memory import PAGES, Memory, memory_of, page_of
from allreduce_bench.executing.pipeline import pipelined_program
from allreduce_bench.executing.places import begins_by_dest, close_copies, close_messages, ends_of, is_close
from allreduce_bench.executing.program import OUTPUT, Copy, Exchange, Program, View, exchanges
from allreduce_bench.executing.table import operations_of, table_of
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.cut import cut

ALGORITHMS = builtin()
PAGE = page_of(np.dtype("float32"))


def footprint(program: Program, memory: Memory, count: int) -> Footprint:
    lengths = count, count, program.scratch
    return Footprint(program, tuple(allocate(length, np.float32) for allocate, length in zip(memory, lengths)))


def close_moves(programs: list[Program], memory: Memory, count: int) -> int:
    """Over all ranks, as they exchange what they know."""
    footprints = [footprint(program, memory, count) for program in programs]
    ends = [ends_of(each) for each in footprints]
    begins = [begins_by_dest(own, len(ends)) for own in ends]
    arriving = [[of_source[rank] for of_source in begins] for rank in range(len(ends))]
    messages = sum(close_messages(own, of_rank)[0] for own, of_rank in zip(ends, arriving))
    return messages + sum(map(close_copies, footprints))


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("size", [2, 3, 4, 5, 7, 8])
def test_no_message_and_no_copy_is_close_at_pages(name, size):
    algorithm, topology = ALGORITHMS[name], Topology.one_node(size)
    if algorithm.unmet(size, topology):
        pytest.skip("it does not fit so many ranks")
    for count in (1, 5001, 16411):
        whole = algorithm.schedules(size, topology, count, 1000)
        assert close_moves([exchanges(steps, count, PAGE) for steps in whole], PAGES, count) == 0
        assert close_moves([exchanges(steps, count, PAGE, True) for steps in whole], PAGES, count) == 0
        pieces = whole if algorithm.segmented else [cut(steps, 777) for steps in whole]
        for window in (1, 3):
            assert close_moves([pipelined_program(steps, count, window, PAGE) for steps in pieces], PAGES, count) == 0


def test_what_lands_at_the_beginning_of_the_scratch_is_close_at_some_lengths():
    """So it was before the place in the scratch was chosen for each message."""
    counts = [count for count in range(5080, 5110) if close_moves(_programs("rabenseifner", 4, count, 1), PAGES, count)]
    assert counts
    assert not any(close_moves(_programs("rabenseifner", 4, count, PAGE), PAGES, count) for count in counts)


def test_buffers_16_bytes_apart_are_close():
    assert close_moves(_programs("ring", 2, 4096, PAGE), memory_of("16"), 4096) > 0
    assert close_moves(_programs("ring", 2, 4096, PAGE), memory_of("64"), 4096) == 0


def _programs(name: str, size: int, count: int, page: int) -> list[Program]:
    schedules = ALGORITHMS[name].schedules(size, Topology.one_node(size), count, 1)
    return [exchanges(steps, count, page) for steps in schedules]


def test_copies_and_messages_of_several_ranges_are_counted_by_themselves():
    apart = View(OUTPUT, (range(0, 2), range(4, 6)))
    program = Program([Copy(View(0, (range(4),)), View(OUTPUT, (range(4),))), Exchange(0, apart, 0, apart)], 0)
    own = footprint(program, memory_of("16"), 8)
    ends = ends_of(own)
    assert close_copies(own) == 1
    assert close_messages(ends, begins_by_dest(ends, 1)) == (0, 1)
    assert close_messages(ends, [[]]) == (0, 1)  # nobody sends it
    packed = table_of(program, PAGE)
    as_packed = footprint(Program(operations_of(packed), packed.scratch), memory_of("16"), 8)
    assert close_messages(ends_of(as_packed), begins_by_dest(ends_of(as_packed), 1)) == (0, 0)
    assert close_copies(as_packed) > 1  # what packs the message is counted, too


def test_close_is_a_little_behind_and_not_before():
    assert [is_close(0, delta) for delta in (0, 1, 31, 32, 4095)] == [False, True, True, False, False]
    assert is_close(4090, 5) and not is_close(5, 4090)
