"""A table has the operations of its program, in order; messages of several ranges are copied beside them."""

import numpy as np

from allreduce_bench.algorithms import builtin
from allreduce_bench.executing.program import (
    INPUT,
    OUTPUT,
    SCRATCH,
    Copy,
    Exchange,
    PostReceive,
    PostSend,
    Program,
    Reduce,
    View,
    Wait,
    exchanges,
)
from allreduce_bench.executing.table import (
    ALL_REDUCE,
    COPY,
    DIVIDE,
    EXCHANGE,
    NOBODY,
    POST_RECEIVE,
    POST_SEND,
    REDUCE,
    WAIT,
    Row,
    partners,
    table_of,
    table_of_native,
    with_division,
)
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.watching.whereabouts import Partners

TWO, SWAPPED = (range(0, 2), range(5, 8)), (range(5, 8), range(0, 2))


def rows(table) -> list[Row]:
    return [Row(*row) for row in table.rows.tolist()]


def run_alone(table, vector: np.ndarray) -> np.ndarray:
    """The output of a rank whose messages all go to itself."""
    buffers = vector, np.zeros_like(vector), np.zeros(table.scratch)
    sent: list[np.ndarray] = []
    landing: dict[int, np.ndarray] = {}
    for row in rows(table):
        read = buffers[row.buffer][row.offset : row.offset + row.length]
        written = buffers[row.into][row.into_offset : row.into_offset + row.into_length]
        if row.kind in (COPY, EXCHANGE):
            written[:] = read
        elif row.kind == REDUCE:
            written += read
        elif row.kind == POST_SEND:
            sent.append(read.copy())
        elif row.kind == POST_RECEIVE:
            landing[row.request] = written
        elif row.kind == WAIT and row.request in landing:
            landing.pop(row.request)[:] = sent.pop(0)
    return buffers[OUTPUT]


def test_messages_of_several_ranges_are_put_together_before_and_taken_apart_after():
    program = Program([Exchange(0, View(INPUT, TWO), 0, View(OUTPUT, SWAPPED))], 3)
    table = table_of(program)
    assert [row.kind for row in rows(table)] == [COPY, COPY, EXCHANGE, COPY, COPY]
    assert table.scratch == 3 + 5 + 5 and rows(table)[2].buffer == rows(table)[2].into == SCRATCH
    assert run_alone(table, np.arange(8.0)).tolist() == [6, 7, 0, 0, 0, 0, 1, 5]


def test_posted_messages_of_several_ranges_are_taken_apart_when_they_were_waited_for():
    one, other = (range(2, 4),), (range(0, 1), range(6, 7))
    operations = [
        PostReceive(0, View(OUTPUT, SWAPPED), 0),
        PostReceive(0, View(OUTPUT, one), 1),
        PostSend(0, View(INPUT, TWO), 2),
        PostSend(0, View(INPUT, other), 3),
        *(Wait(request) for request in range(4)),
    ]
    table = table_of(Program(operations, 0, 4))
    kinds = [POST_RECEIVE] * 2 + [COPY, COPY, POST_SEND] + [COPY, COPY, POST_SEND] + [WAIT, COPY, COPY] + [WAIT] * 3
    assert [row.kind for row in rows(table)] == kinds
    assert table.requests == 4 and table.scratch == 5 + 5 + 2
    assert run_alone(table, np.arange(8.0)).tolist() == [6, 7, 0, 6, 0, 0, 1, 5]


def test_a_slot_of_scratch_is_as_long_as_its_longest_message():
    short, long = (range(0, 1), range(2, 3)), TWO
    exchange = [Exchange(0, View(INPUT, ranges), 0, View(OUTPUT, (range(0, 5),))) for ranges in (short, long, short)]
    assert table_of(Program(exchange, 0)).scratch == 5


def test_a_program_of_plain_messages_keeps_its_rows_and_its_scratch():
    steps = list(builtin()["ring"].steps(1, 4, Topology.one_node(4), 10, 10))
    program = exchanges(steps, 10)
    table = table_of(program)
    kind_of = {Exchange: EXCHANGE, Copy: COPY, Reduce: REDUCE}
    assert [row.kind for row in rows(table)] == [kind_of[type(operation)] for operation in program.operations]
    assert table.scratch == program.scratch and table.rows.dtype == np.int64
    assert {(row.dest, row.source) for row in rows(table) if row.kind == EXCHANGE} == {(2, 0)}


def test_who_watches_is_told_the_partners_of_exchanges_and_of_what_is_waited_for():
    view = View(INPUT, (range(3),))
    operations = [Exchange(4, view, None, None), PostSend(2, view, 0), PostReceive(1, view, 1), Wait(1, 3), Wait(0, 2)]
    table = table_of(Program(operations, 0, 2))
    expected = [Partners(4, NOBODY), None, None, Partners(NOBODY, 1, 3), Partners(2, NOBODY, 2)]
    assert partners(table.rows) == expected
    with_nobody = table.with_nobody(-7)
    assert with_nobody[0, Row._fields.index("source")] == -7 and table.rows[0, Row._fields.index("source")] == NOBODY


def test_native_is_one_row_and_an_average_is_divided_at_its_end():
    table = with_division(table_of_native(7), 7)
    assert [(row.kind, row.into_length) for row in rows(table)] == [(ALL_REDUCE, 7), (DIVIDE, 7)]
    assert table_of(Program([], 0)).rows.shape == (0, len(Row._fields))
