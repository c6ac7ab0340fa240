"""What a rank does with its buffers to follow its steps: messages, copies and reductions, in order, without MPI.

Out of place like MPI_Allreduce: the input stays untouched, the output ends right. A range of the output that nothing
was written to yet is sent straight from the input, and what arrives to be reduced into it lands in it and is reduced
with the input there, so that no copy of the whole vector is needed.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..schedule import Parts, Ranges, Step, elements

INPUT, OUTPUT, SCRATCH = range(3)  # the buffers of a rank


class View(NamedTuple):
    """Elements of a buffer."""

    buffer: int
    ranges: Ranges


class Exchange(NamedTuple):
    """One MPI_Sendrecv; a partner of None is MPI_PROC_NULL, and has no view."""

    dest: int | None
    send: View | None
    source: int | None
    recv: View | None


class Copy(NamedTuple):
    """Copy one range onto another one of its length."""

    view: View
    into: View


class Reduce(NamedTuple):
    """Combine one range with another one of its length, and leave the result in that."""

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
    """The operations of a rank, and what they need."""

    operations: list[Operation]
    scratch: int  # elements
    requests: int = 0


def floor(name: str, count: int) -> Program:
    """What is no all-reduce, on a vector of `count` elements; `name` is one of `schema.FLOORS`.

    null: nothing at all; copy: a local copy of the vector; reduce: its reduction into the output, as a step makes it.
    """
    views = View(INPUT, (range(count),)), View(OUTPUT, (range(count),))
    operations: dict[str, list[Operation]] = {"null": [], "copy": [Copy(*views)], "reduce": [Reduce(*views)]}
    return Program(operations[name], 0)


def exchanges(steps: Sequence[Step], count: int, page: int = 1) -> Program:
    """`steps` of a vector of `count` elements as exactly one blocking exchange each; `page` as of `landing`."""
    scratch = max((landing(step.recv, page) + elements(step.recv) for step in steps if step.reduce), default=0)
    output, operations = Output(steps, count), list[Operation]()
    for step in steps:
        local = local_part(step, output, landing(step.recv, page))
        exchange = Exchange(step.dest, local.send, step.source, local.recv)
        operations += [*local.before_send, *local.before_reduce, exchange, *local.after]
    return Program(operations + output.copies(output.everything), scratch)


def landing(ranges: Ranges, page: int) -> int:
    """The first element of the scratch at which these ranges land: as far behind the beginning of a page of `page`
    elements as they lie in the vector.

    So the difference of a message's two places, modulo a page, is that of the two buffers, wherever in the vector it
    is: see `memory`.
    """
    return ranges[0].start % page if ranges else 0


class LocalPart(NamedTuple):
    """What one rank does for one step beside the messages, and the views of these."""

    before_send: list[Operation]
    send: View | None
    before_reduce: list[Operation]
    recv: View | None  # of the scratch only where `after` reduces it into the output
    after: list[Operation]  # when the message has come


def local_part(step: Step, output: "Output", scratch_from: int = 0) -> LocalPart:
    """What `step` does, the steps before it being told to `output`; what lands in the scratch lands `scratch_from`."""
    before_send: list[Operation] = []
    before_reduce: list[Operation] = []
    after: list[Operation] = []
    send = recv = None
    if step.send:
        is_input = step.original or output.is_unwritten(step.send)
        if not is_input:
            before_send = output.copies(step.send)
        send = View(INPUT if is_input else OUTPUT, step.send)
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
    """Which parts of the output something was written to, while operations are made one after the other."""

    def __init__(self, steps: Sequence[Step], count: int):
        self._parts = Parts([steps], count)
        self._written = [False] * len(self._parts)
        self.everything: Ranges = (range(count),) if count else ()

    def is_unwritten(self, ranges: Ranges) -> bool:
        """Whether nothing was written to any element of them."""
        return not any(self._written[part] for part in self.parts_of(ranges))

    def write(self, ranges: Ranges) -> None:
        """From here on they are written."""
        for part in self.parts_of(ranges):
            self._written[part] = True

    def copies(self, ranges: Ranges) -> list[Operation]:
        """Copy what of them is unwritten from the input; from here on they are written."""
        unwritten = [part for part in self.parts_of(ranges) if not self._written[part]]
        self.write(ranges)
        spans = [(self._parts.span(part),) for part in unwritten]
        return [Copy(View(INPUT, span), View(OUTPUT, span)) for span in spans]

    def __len__(self) -> int:
        """The number of parts: elements that every message treats alike are one."""
        return len(self._parts)

    def parts_of(self, ranges: Ranges) -> list[int]:
        """The numbers of their parts."""
        return [part for span in ranges for part in range(*self._parts.of.get(span, (0, len(self._parts))))]
