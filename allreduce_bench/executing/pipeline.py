"""Pipelining: the steps of a rank as messages posted ahead, and the executor `pipelined` that runs them.

The order of operations is fixed and found without MPI. Receives are posted up to a window ahead of the current step and
applied in the order of steps: waited for, then reduced or copied. Sends are posted in the order of steps, once the
receives that they depend on are applied, also up to a window ahead. Other orders follow from the ranges: a send follows
the receives that write what it reads; nothing is overwritten before the sends that read it are complete; a receive
directly into the output is posted once the sends and receives before it at its place are complete.

There is no deadlock, even where every send waits for its receive, if the steps run as blocking exchanges have none.
At its turn a step waits only for its own messages and those of earlier steps, and its messages are posted, at its turn
at the latest, after waiting for sends of earlier steps only. Take the steps of all ranks in an order in which the
blocking ones can complete. By induction over this order every step completes here: its partners have completed the
steps before their matching ones, so it is their turn or past it, and the messages of both ends are posted.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..schedule import Step, elements
from ..watching.whereabouts import Partners, stepping
from . import TAG, Prepared
from .memory import PAGES, Allocate, page_of
from .program import (
    OUTPUT,
    SCRATCH,
    LocalPart,
    Operation,
    Output,
    PostReceive,
    PostSend,
    Program,
    Wait,
    landing,
    local_part,
)
from .sendrecv import Binding, division

NONE = -1  # no step


class _Order(NamedTuple):
    """The steps of the same rank that a step has to follow, by number."""

    send_after: int  # the last receive that writes what its send reads
    recv_after: int  # the last receive before it at the place of its own
    readers: list[int]  # the sends, up to its own, that read what its receive overwrites


def pipelined_program(steps: Sequence[Step], count: int, window: int, page: int = 1, in_place: bool = False) -> Program:
    """Return the program of `steps` on `count` elements with up to `window` messages posted ahead in each direction.

    `steps` are already cut. The scratch holds at most `window` messages, each in a slot of whole pages; `page` as for
    `program.landing`.
    """
    longest = max((landing(step.recv, page) + elements(step.recv) for step in steps if step.reduce), default=0)
    slot = -(-longest // page) * page
    output, slots = Output(steps, count, page, in_place), 0
    locals_: list[LocalPart] = []
    for step in steps:
        locals_.append(local_part(step, output, output.kept + slots % window * slot + landing(step.recv, page)))
        slots += _lands_in_scratch(locals_[-1])
    pipeline = _Pipeline(steps, locals_, _orders(steps, locals_, output), window)
    for turn in range(len(steps)):
        pipeline.take_turn(turn)
    operations = [*output.kept_input(), *pipeline.operations, *output.copies(output.everything)]
    operations += pipeline.waits_for_all_sends()
    return Program(operations, output.kept + min(slots, window) * slot, pipeline.requests)


def _lands_in_scratch(local: LocalPart) -> bool:
    return local.recv is not None and local.recv.buffer == SCRATCH


def _orders(steps: Sequence[Step], locals_: Sequence[LocalPart], output: Output) -> list[_Order]:
    """Derive the order of steps from their ranges; a send from the input depends on nothing."""
    written_by = [NONE] * len(output)  # part -> the last receive into it
    read_by: list[list[int]] = [[] for _ in range(len(output))]  # part -> the sends of it since then
    orders = []
    for number, (step, local) in enumerate(zip(steps, locals_)):
        send_after = NONE
        if local.send and local.send.buffer == OUTPUT:
            parts = output.parts_of(step.send)
            send_after = max(written_by[part] for part in parts)
            for part in parts:
                read_by[part].append(number)
        parts = output.parts_of(step.recv)
        recv_after = max((written_by[part] for part in parts), default=NONE)
        readers = sorted({reader for part in parts for reader in read_by[part]})
        for part in parts:
            written_by[part], read_by[part] = number, []
        orders.append(_Order(send_after, recv_after, readers))
    return orders


class _Pipeline:
    """Makes the operations, step by step."""

    def __init__(
        self, steps: Sequence[Step], locals_: Sequence[LocalPart], orders: Sequence[_Order], window: int
    ) -> None:
        self.steps, self.locals, self.orders, self.window = steps, locals_, orders, window
        self.operations: list[Operation] = []
        self._sends = [number for number, step in enumerate(steps) if step.send]  # steps, in their order
        self._recvs = [number for number, step in enumerate(steps) if step.recv]
        self._recv_requests = min(window, len(self._recvs))  # requests of receives come first
        self._send_requests = min(2 * window, len(self._sends))  # a window before the current step, and one ahead
        self.requests = self._recv_requests + self._send_requests
        self._sent = self._posted = self._applied = self._passed = self._over = 0  # counts of _sends and of _recvs
        self._open: dict[int, int] = {}  # step -> the request of its send, posted and not waited for

    def take_turn(self, turn: int) -> None:
        """Post what can be posted, then apply what step number `turn` receives."""
        self._post_receives(turn)
        self._post_sends(turn)
        if self._posted < len(self._recvs) and self._recvs[self._posted] == turn:
            self._wait_for_sends(self.orders[turn].readers)
            self._post_receive()
            self._post_receives(turn)
        self._apply(turn)
        if self.steps[turn].send:
            self._passed += 1
        while self._over < self._passed - self.window:
            self._wait_for_sends([self._sends[self._over]])
            self._over += 1

    def waits_for_all_sends(self) -> list[Operation]:
        """Return the waits for all sends still open, for the end of the program."""
        return [Wait(request, step + 1) for step, request in self._open.items()]

    def _post_receives(self, turn: int) -> None:
        """Post the receives whose place is free, at most a window ahead."""
        while self._posted < min(self._applied + self.window, len(self._recvs)):
            number = self._recvs[self._posted]
            order = self.orders[number]
            if not _lands_in_scratch(self.locals[number]) and (
                order.recv_after >= turn or any(reader >= turn or reader in self._open for reader in order.readers)
            ):
                return
            self._post_receive()

    def _post_receive(self) -> None:
        number = self._recvs[self._posted]
        step, view = self.steps[number], self.locals[number].recv
        assert step.source is not None and view is not None
        self.operations.append(PostReceive(step.source, view, self._posted % self._recv_requests))
        self._posted += 1

    def _post_sends(self, turn: int) -> None:
        """Post the sends whose elements are ready, at most a window ahead."""
        while self._sent < min(self._passed + self.window, len(self._sends)):
            number = self._sends[self._sent]
            if self.orders[number].send_after >= turn:
                return
            step, local = self.steps[number], self.locals[number]
            assert step.dest is not None and local.send is not None
            self._open[number] = self._recv_requests + self._sent % self._send_requests
            self.operations += [*local.before_send, PostSend(step.dest, local.send, self._open[number])]
            self._sent += 1

    def _apply(self, turn: int) -> None:
        local = self.locals[turn]
        if local.recv is None:
            return
        self.operations.append(Wait(self._applied % self._recv_requests, turn + 1))
        self._applied += 1
        if local.after:
            self._wait_for_sends(self.orders[turn].readers)
        self.operations += [*local.before_reduce, *local.after]

    def _wait_for_sends(self, numbers: Sequence[int]) -> None:
        """Wait for those of the sends of steps `numbers` that are still open."""
        self.operations += [Wait(self._open.pop(number), number + 1) for number in numbers if number in self._open]


# The executor `pipelined`: each message a persistent request that every call starts.
#
# Its buffer is bound once, and MPI_Start takes no argument: from Python that is cheaper than MPI_Isend and MPI_Irecv,
# which make a request each time.


Call = Callable[[], object]


def pipelined(
    steps: Sequence[Step],
    sendbuf: np.ndarray,
    recvbuf: np.ndarray,
    comm: MPI.Comm,
    op: str,
    window: int,
    scratch: Allocate = PAGES.scratch,
) -> Prepared:
    """Bind this rank's `steps`, already cut, with up to `window` messages posted ahead in each direction.

    The rest as for `sendrecv`. Raises Unsupported.
    """
    program = pipelined_program(steps, sendbuf.size, window, page_of(sendbuf.dtype), sendbuf is recvbuf)
    binding = _PipelinedBinding(program, sendbuf, recvbuf, comm, op, scratch)
    calls = [*binding.calls(), *division(recvbuf, comm, op)]
    return Prepared(_join_calls(calls, binding.partners), binding.close, buffers=binding.buffers)


def _join_calls(calls: Sequence[Call], partners: Sequence[Partners | None]) -> Callable[[], None]:
    """Return one call that makes all of `calls`; `partners` are those of the first calls, later ones have none."""
    frozen = tuple(calls)

    @stepping("frozen", "call", "waited_for")
    def run(waited_for: Sequence[Partners | None] = tuple(partners)) -> None:  # the monitor reads it
        for call in frozen:
            call()

    return run


class _PipelinedBinding(Binding):
    """A binding that also posts messages and waits for them; `partners` gets one entry per call as calls are made."""

    def __init__(self, *bound) -> None:
        super().__init__(*bound)
        self.partners: list[Partners | None] = []
        self._requests: list[MPI.Prequest] = []  # of all messages
        self._latest: dict[int, tuple[MPI.Prequest, int, int]] = {}  # number -> the request; destination, source

    def close(self) -> None:
        for request in self._requests:
            request.Free()
        self._requests.clear()
        super().close()

    def call_of(self, operation: Operation) -> Call:
        if isinstance(operation, Wait):
            request, dest, source = self._latest[operation.request]
            self.partners.append(Partners(dest, source, operation.step))
            return request.Wait
        self.partners.append(None)
        if isinstance(operation, PostSend):
            request = self.comm.Send_init(self.message(operation.send), operation.dest, TAG)
            return self._post(operation.request, request, operation.dest, MPI.PROC_NULL)
        if isinstance(operation, PostReceive):
            request = self.comm.Recv_init(self.message(operation.recv), operation.source, TAG)
            return self._post(operation.request, request, MPI.PROC_NULL, operation.source)
        return super().call_of(operation)

    def _post(self, number: int, request: MPI.Prequest, dest: int, source: int) -> Call:
        self._requests.append(request)
        self._latest[number] = request, dest, source
        return request.Start
