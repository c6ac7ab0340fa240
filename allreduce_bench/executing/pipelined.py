"""The executor `pipelined`: messages that are posted ahead, each a persistent request that is started in every call.

A persistent request is bound to its buffer once, and MPI_Start takes no argument: from Python that is cheaper than
MPI_Isend and MPI_Irecv, which make a request each time.
"""

from collections.abc import Callable, Sequence

import numpy as np
from mpi4py import MPI

from ..schedule import Step
from ..watching.whereabouts import Partners, stepping
from . import TAG, Binding, Prepared, division
from .memory import PAGES, Allocate, page_of
from .pipeline import pipelined_program
from .program import Operation, PostReceive, PostSend, Wait

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
    """Run this rank's `steps`, cut already, with up to `window` messages of each direction posted ahead.

    The rest is as of `sendrecv`. Raises Unsupported.
    """
    program = pipelined_program(steps, sendbuf.size, window, page_of(sendbuf.dtype))
    binding = _PipelinedBinding(program, sendbuf, recvbuf, comm, op, scratch)
    calls = [*binding.calls(), *division(recvbuf, comm, op)]
    return Prepared(_in_turn(calls, binding.partners), binding.close, footprint=lambda: binding.footprint)


def _in_turn(calls: Sequence[Call], partners: Sequence[Partners | None]) -> Callable[[], None]:
    """`partners`: those of each call; of calls after them there are none."""
    frozen = tuple(calls)

    @stepping("frozen", "call", "waited_for")
    def run(waited_for: Sequence[Partners | None] = tuple(partners)) -> None:  # whoever watches reads it
        for call in frozen:
            call()

    return run


class _PipelinedBinding(Binding):
    """Also posts messages and waits for them; `partners` are those of each of the calls, once they are made."""

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
