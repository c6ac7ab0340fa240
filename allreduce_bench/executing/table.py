"""A program as a table of integers, for a kernel without objects: rows in order, columns of int64.

A row names a buffer and an offset in elements, never an address, so that one table serves any buffers of its shape. A
message is one range: several ranges are packed into scratch of their own before sending, and unpacked after receiving.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..schedule import Ranges, elements
from ..watching.whereabouts import Partners
from .program import (
    INPUT,
    OUTPUT,
    SCRATCH,
    Copy,
    Exchange,
    Operation,
    PostReceive,
    PostSend,
    Program,
    Reduce,
    View,
    landing,
)

EXCHANGE, COPY, REDUCE, POST_RECEIVE, POST_SEND, WAIT, ALL_REDUCE, DIVIDE = range(8)  # kinds of rows
NOBODY = -1  # instead of a partner: MPI_PROC_NULL, whose value is the library's


class Row(NamedTuple):
    """The columns: what is read, `length` elements at `offset`, and what is written; in elements.

    dest, buffer, offset, length: the message sent, or what is copied or reduced. source, into, into_offset,
    into_length: the message received, or where to copy or reduce to. WAIT uses only `request`, DIVIDE only what is
    written; ALL_REDUCE is the library's, of the whole input into the output.
    """

    kind: int
    dest: int = NOBODY
    buffer: int = INPUT
    offset: int = 0
    length: int = 0
    source: int = NOBODY
    into: int = OUTPUT
    into_offset: int = 0
    into_length: int = 0
    request: int = 0
    step: int = 0  # of a WAIT: that of the message


COLUMNS = len(Row._fields)
KIND, DEST, BUFFER, OFFSET, LENGTH, SOURCE, INTO, INTO_OFFSET, INTO_LENGTH, REQUEST, STEP = range(COLUMNS)


class Table(NamedTuple):
    """The rows of a rank, and the scratch and requests they need."""

    rows: np.ndarray  # int64 [row, column of Row]
    scratch: int  # elements
    requests: int

    def with_nobody(self, rank: int) -> np.ndarray:
        """Return the rows, with `rank` in place of NOBODY."""
        rows = self.rows.copy()
        partners = rows[:, [DEST, SOURCE]]
        rows[:, [DEST, SOURCE]] = np.where(partners == NOBODY, rank, partners)
        return rows


def table_of(program: Program, page: int = 1) -> Table:
    """Return `program` as rows in order; a message of several ranges has copies beside it.

    `page` as for `program.landing`: such a message begins in the scratch as its first range does in the vector.
    """
    maker = _Rows(program, page)
    rows = [row for operation in program.operations for row in maker.rows_of(operation)]
    return Table(_array(rows), maker.scratch, program.requests)


def table_of_native(count: int) -> Table:
    """Return the table of the library's own all-reduce of `count` elements."""
    return Table(_array([Row(ALL_REDUCE, length=count, into_length=count)]), 0, 0)


def with_division(table: Table, count: int) -> Table:
    """Append the division of all `count` elements of the output by the number of ranks."""
    return table._replace(rows=np.concatenate([table.rows, _array([Row(DIVIDE, into_length=count)])]))


def partners(rows: np.ndarray) -> list[Partners | None]:
    """Return the partners of each row that is an exchange or a wait; None for other rows."""
    posted: dict[int, tuple[int, int]] = {}
    found: list[Partners | None] = []
    for row in rows.tolist():
        kind, pair, request = row[KIND], (row[DEST], row[SOURCE]), row[REQUEST]
        if kind in (POST_SEND, POST_RECEIVE):
            posted[request] = pair
        if kind == WAIT:
            found.append(Partners(*posted[request], row[STEP] or None))
        else:
            found.append(Partners(*pair) if kind == EXCHANGE else None)
    return found


def _array(rows: list[Row]) -> np.ndarray:
    return np.array(rows, np.int64).reshape(len(rows), COLUMNS)


class _Rows:
    """Makes rows, and keeps the copies due when an open request is waited for."""

    def __init__(self, program: Program, page: int):
        self.scratch, self._page = program.scratch, page
        self._packed: dict[object, int] = {}  # where the ranges of a message are put together: slot -> its start
        for slot, most in _longest_in_ranges(program, page).items():
            self._packed[slot] = -(-self.scratch // page) * page
            self.scratch = self._packed[slot] + most
        self._after: dict[int, list[Row]] = {}  # request -> copies out of what it received

    def rows_of(self, operation: Operation) -> list[Row]:
        if isinstance(operation, Exchange):
            return self._exchange(operation)
        if isinstance(operation, Copy | Reduce):
            kind = COPY if isinstance(operation, Copy) else REDUCE
            (span,), (into,) = operation.view.ranges, operation.into.ranges
            buffers = {"buffer": operation.view.buffer, "into": operation.into.buffer}
            lengths = {"length": len(span), "into_length": len(into)}
            return [Row(kind, offset=span.start, into_offset=into.start, **buffers, **lengths)]
        if isinstance(operation, PostSend):
            before, sent = self._sent(operation.send, operation.request)
            return [*before, Row(POST_SEND, operation.dest, *sent, request=operation.request)]
        if isinstance(operation, PostReceive):
            received, self._after[operation.request] = self._received(operation.recv, operation.request)
            return [Row(POST_RECEIVE, NOBODY, INPUT, 0, 0, operation.source, *received, request=operation.request)]
        return [Row(WAIT, request=operation.request, step=operation.step), *self._after.pop(operation.request, [])]

    def _exchange(self, exchange: Exchange) -> list[Row]:
        before, sent = self._sent(exchange.send, "send")
        received, after = self._received(exchange.recv, "recv")
        dest, source = (NOBODY if partner is None else partner for partner in (exchange.dest, exchange.source))
        return [*before, Row(EXCHANGE, dest, *sent, source, *received), *after]

    def _sent(self, view: View | None, slot: object) -> tuple[list[Row], tuple[int, int, int]]:
        """Return the copies before a send, and the buffer, offset and length of what is sent."""
        if view is None or len(view.ranges) <= 1:
            return [], _whole(view, INPUT)
        start = self._packed[slot] + landing(view.ranges, self._page)
        copies = [
            Row(COPY, NOBODY, view.buffer, span.start, len(span), NOBODY, SCRATCH, place, len(span))
            for span, place in _side_by_side(view.ranges, start)
        ]
        return copies, (SCRATCH, start, elements(view.ranges))

    def _received(self, view: View | None, slot: object) -> tuple[tuple[int, int, int], list[Row]]:
        """Return the buffer, offset and length of what arrives, and the copies after it."""
        if view is None or len(view.ranges) <= 1:
            return _whole(view, OUTPUT), []
        start = self._packed[slot] + landing(view.ranges, self._page)
        copies = [
            Row(COPY, NOBODY, SCRATCH, place, len(span), NOBODY, view.buffer, span.start, len(span))
            for span, place in _side_by_side(view.ranges, start)
        ]
        return (SCRATCH, start, elements(view.ranges)), copies


def _whole(view: View | None, buffer: int) -> tuple[int, int, int]:
    if view is None or not view.ranges:
        return buffer, 0, 0
    (span,) = view.ranges
    return view.buffer, span.start, len(span)


def _side_by_side(ranges: Ranges, start: int) -> Iterator[tuple[range, int]]:
    for span in ranges:
        yield span, start
        start += len(span)


def _longest_in_ranges(program: Program, page: int) -> dict[object, int]:
    """Return the space for messages of several ranges, in elements, by slot: "send", "recv" or a request's number."""
    most: dict[object, int] = {}
    for operation in program.operations:
        views: list[tuple[object, View | None]] = []
        if isinstance(operation, Exchange):
            views = [("send", operation.send), ("recv", operation.recv)]
        elif isinstance(operation, PostSend):
            views = [(operation.request, operation.send)]
        elif isinstance(operation, PostReceive):
            views = [(operation.request, operation.recv)]
        for slot, view in views:
            if view is not None and len(view.ranges) > 1:
                most[slot] = max(most.get(slot, 0), landing(view.ranges, page) + elements(view.ranges))
    return most
