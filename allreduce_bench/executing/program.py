"""The operations of a rank that follow from its steps: messages, copies and reductions, in order, without MPI.

Out of place like MPI_Allreduce: the input stays untouched. A range of the output that is not written yet is sent
straight from the input, and what arrives to be reduced into it is received there and reduced with the input in place,
so that no copy of the whole vector is needed. In place the input lies in the output: what arrives to be reduced is
received in scratch, and a schedule that sends original elements first copies the input there.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..schedule import Parts, Ranges, Step, elements

INPUT, OUTPUT, SCRATCH = range(3)  # the buffers of a rank


class View(NamedTuple):
    """Ranges of elements of a buffer."""

    buffer: int
    ranges: Ranges


class Exchange(NamedTuple):
    """One MPI_Sendrecv; a partner of None is MPI_PROC_NULL, and has no view."""

    dest: int | None
    send: View | None
    source: int | None
    recv: View | None


class Copy(NamedTuple):
    """A copy of one range onto another of equal length."""

    view: View
    into: View


class Reduce(NamedTuple):
    """A reduction of one range into another of equal length."""

    view: View
    into: View


class PostReceive(NamedTuple):
    """One MPI_Irecv; `request` is a number below `Program.requests`."""

    source: int
    recv: View
    request: int


class PostSend(NamedTuple):
    """One MPI_Isend."""

    dest: int
    send: View
    request: int


class Wait(NamedTuple):
    """One MPI_Wait; `step`, from 1, is that of the message."""

    request: int
    step: int = 0


Operation = Exchange | Copy | Reduce | PostReceive | PostSend | Wait


class Program(NamedTuple):
    """The operations of a rank, and the scratch and requests they need."""

    operations: list[Operation]
    scratch: int  # elements
    requests: int = 0


def floor(name: str, count: int) -> Program:
    """Return the program of a floor of an all-reduce on `count` elements; `name` is one of `schema.FLOORS`.

    null: nothing at all; copy: a local copy of the vector; reduce: its reduction into the output, as in a step.
    """
    views = View(INPUT, (range(count),)), View(OUTPUT, (range(count),))
    operations: dict[str, list[Operation]] = {"null": [], "copy": [Copy(*views)], "reduce": [Reduce(*views)]}
    return Program(operations[name], 0)


def exchanges(steps: Sequence[Step], count: int, page: int = 1, in_place: bool = False) -> Program:
    """Return the program of `steps` on `count` elements, one blocking exchange each; `page` as for `landing`."""
    scratch = max((landing(step.recv, page) + elements(step.recv) for step in steps if step.reduce), default=0)
    output = Output(steps, count, page, in_place)
    operations = output.kept_input()
    for step in steps:
        local = local_part(step, output, output.kept + landing(step.recv, page))
        exchange = Exchange(step.dest, local.send, step.source, local.recv)
        operations += [*local.before_send, *local.before_reduce, exchange, *local.after]
    return Program(operations + output.copies(output.everything), output.kept + scratch)


def landing(ranges: Ranges, page: int) -> int:
    """Return the first element of the scratch at which these ranges land: their offset in a page of `page` elements.

    So the two places of a message differ, modulo a page, as the two buffers do, wherever in the vector it is: see
    `memory`.
    """
    return ranges[0].start % page if ranges else 0


class LocalPart(NamedTuple):
    """The local operations of a rank for one step, and the views of its messages."""

    before_send: list[Operation]
    send: View | None
    before_reduce: list[Operation]
    recv: View | None  # in the scratch only if `after` reduces it into the output
    after: list[Operation]  # once the message has arrived


def local_part(step: Step, output: "Output", scratch_from: int = 0) -> LocalPart:
    """Return the local part of `step`, given the `output` of earlier steps; scratch is used from `scratch_from` on."""
    before_send: list[Operation] = []
    before_reduce: list[Operation] = []
    after: list[Operation] = []
    send = recv = None
    if step.send:
        is_input = step.original or output.is_unwritten(step.send)
        if not is_input:
            before_send = output.copies(step.send)
        send = View(output.input if is_input else OUTPUT, step.send)
    if step.recv and step.reduce and not output.is_unwritten(step.recv):
        before_reduce = output.copies(step.recv)
        recv = View(SCRATCH, (range(scratch_from, scratch_from + elements(step.recv)),))
        after = reductions_of_scratch(step.recv, scratch_from)
    elif step.recv:
        recv = View(OUTPUT, step.recv)
        if step.reduce:
            after = [Reduce(View(INPUT, (span,)), View(OUTPUT, (span,))) for span in step.recv]
    output.write(step.recv)
    return LocalPart(before_send, send, before_reduce, recv, after)


def reductions_of_scratch(ranges: Ranges, start: int) -> list[Operation]:
    """Reduce the elements of the scratch from `start` on into `ranges` of the output, in their order."""
    operations: list[Operation] = []
    for span in ranges:
        arrived = View(SCRATCH, (range(start, start + len(span)),))
        operations.append(Reduce(arrived, View(OUTPUT, (span,))))
        start += len(span)
    return operations


class Output:
    """The parts of the output that are written so far, while operations are made in order.

    `in_place`: they hold the input, a copy of which is kept at the beginning of the scratch if a step sends original
    elements: `kept` elements, whole pages. `input` is the buffer from which these are sent.
    """

    def __init__(self, steps: Sequence[Step], count: int, page: int = 1, in_place: bool = False):
        self._parts = Parts([steps], count)
        self._written = [in_place] * len(self._parts)
        self.everything: Ranges = (range(count),) if count else ()
        self.input = SCRATCH if in_place else INPUT
        self.kept = -(-count // page) * page if in_place and any(step.original for step in steps) else 0

    def kept_input(self) -> list[Operation]:
        """Return the copy of the input that is kept, before anything overwrites it; none: nothing is kept."""
        return [Copy(View(OUTPUT, self.everything), View(SCRATCH, self.everything))] if self.kept else []

    def is_unwritten(self, ranges: Ranges) -> bool:
        """Return whether no element of `ranges` is written."""
        return not any(self._written[part] for part in self.parts_of(ranges))

    def write(self, ranges: Ranges) -> None:
        """Mark `ranges` as written."""
        for part in self.parts_of(ranges):
            self._written[part] = True

    def copies(self, ranges: Ranges) -> list[Operation]:
        """Copy the unwritten part of `ranges` from the input, and mark them as written."""
        unwritten = [part for part in self.parts_of(ranges) if not self._written[part]]
        self.write(ranges)
        spans = [(self._parts.span(part),) for part in unwritten]
        return [Copy(View(INPUT, span), View(OUTPUT, span)) for span in spans]

    def __len__(self) -> int:
        """Return the number of parts: elements that every message treats alike are one part."""
        return len(self._parts)

    def parts_of(self, ranges: Ranges) -> list[int]:
        """Return the numbers of the parts of `ranges`."""
        return [part for span in ranges for part in range(*self._parts.of.get(span, (0, len(self._parts))))]
