"""The all-reduces of a training step, one at a time as on one stream: after the computation, beside it, between it; and
their vectors.
"""

import queue
import threading
from collections.abc import Sequence
from functools import partial
from time import perf_counter
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ...algorithms import builtin_of
from ...executing import EXECUTORS, NATIVES, Prepared, Unsupported, native_datatype
from ...executing.memory import PAGES, filled
from ...executing.sendrecv import division
from ...runs.competitor import Competitor
from ...schedule import Step
from ...schedule.algorithm import Topology
from ...schedule.cut import cut_schedules
from .request import BETWEEN, BLOCKING, IALLREDUCE, THREAD, Request, result_of_ranks

SEGMENT, WINDOW = 16384, 2  # elements of a segment, where messages are cut; segments posted ahead


class Span(NamedTuple):
    """The all-reduce of a bucket, by perf_counter."""

    start: float
    end: float
    bucket: int


class Bucket:
    """A vector of `count` elements, to which rank r contributes r + 1, and its all-reduce."""

    def __init__(self, request: Request, count: int, comm: MPI.Comm):
        """Bind the all-reduce. Raises Unsupported, AlgorithmError."""
        self.recvbuf = filled(PAGES.recvbuf, count, request.dtype, 0)
        self.expected = result_of_ranks(request.op, comm.size)
        sendbuf = filled(PAGES.sendbuf, count, request.dtype, comm.rank + 1)
        self.call = bind(request, sendbuf, self.recvbuf, comm)
        if request.overlap == IALLREDUCE:
            datatype = native_datatype(request.dtype)
            send, recv = ([MPI.buffer(array), count, datatype] for array in (sendbuf, self.recvbuf))
            self.begin = partial(comm.Iallreduce, send, recv, MPI.SUM)
            self.finish = division(self.recvbuf, comm, request.op)

    @property
    def is_wrong(self) -> bool:
        """Whether the result is wrong."""
        return bool(np.any(self.recvbuf != self.expected))


def make_buckets(request: Request, comm: MPI.Comm) -> list[Bucket]:
    """Return the bucket of each all-reduce of a step; recorded calls of one length share one.

    Raises Unsupported, AlgorithmError.
    """
    if request.overlap != BETWEEN:
        return [Bucket(request, count, comm) for count in request.counts]
    shared = {count: Bucket(request, count, comm) for count in dict.fromkeys(request.counts)}
    return [shared[count] for count in request.counts]


class Stream:
    """All-reduces that run one by one, each when it is posted; `spans` has each of them, in order of execution."""

    def __init__(self, buckets: Sequence[Bucket]):
        self.buckets = buckets
        self.spans: list[Span] = []

    def run(self, number: int) -> None:
        """Run one all-reduce in this thread."""
        begun = perf_counter()
        self.buckets[number].call.run()
        self.spans.append(Span(begun, perf_counter(), number))

    def post(self, number: int) -> None:
        """Note that the gradients of a bucket are ready: here the computation stops for them."""
        self.run(number)

    def poke(self) -> None:
        """Make progress from within the computation."""

    def wait(self) -> None:
        """Return when all posted all-reduces have ended."""


class BlockingStream(Stream):
    """All-reduces after the computation."""

    def __init__(self, buckets: Sequence[Bucket]):
        super().__init__(buckets)
        self.posted: list[int] = []

    def post(self, number: int) -> None:
        """Keep it for later."""
        self.posted.append(number)

    def wait(self) -> None:
        """Run all of them."""
        for number in self.posted:
            self.run(number)


class ThreadStream(Stream):
    """All-reduces in a separate thread."""

    def __init__(self, buckets: Sequence[Bucket]):
        super().__init__(buckets)
        self.posted: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        while (number := self.posted.get()) is not None:
            self.run(number)

    def post(self, number: int) -> None:
        """Queue it."""
        self.posted.put(number)

    def wait(self) -> None:
        """End the thread when it has run all of them."""
        self.posted.put(None)
        self.thread.join()


class IallreduceStream(BlockingStream):
    """All-reduces posted by MPI_Iallreduce, one at a time; only MPI_Test and the library make progress."""

    def __init__(self, buckets: Sequence[Bucket]):
        super().__init__(buckets)
        self.active: MPI.Request | None = None
        self.begun = 0.0

    def post(self, number: int) -> None:
        """Post it, or keep it until the previous one has ended."""
        super().post(number)
        self.poke()

    def poke(self) -> None:
        """Test the active one; when it has ended, post the next."""
        if self.active is not None and self.active.Test():
            number, self.active = self.posted.pop(0), None
            for call in self.buckets[number].finish:
                call()
            self.spans.append(Span(self.begun, perf_counter(), number))
        if self.active is None and self.posted:
            self.begun = perf_counter()
            self.active = self.buckets[self.posted[0]].begin()

    def wait(self) -> None:
        """Wait for them one by one."""
        while self.posted:
            self.poke()


STREAMS: dict[str, type[Stream]] = {
    BLOCKING: BlockingStream,
    THREAD: ThreadStream,
    IALLREDUCE: IallreduceStream,
    BETWEEN: Stream,
}


def bind(request: Request, sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm) -> Prepared:
    """Bind an all-reduce to its vectors, by `request`: the library's own, or the steps of an algorithm.

    Local: no rank waits for another one. Executors that cut steps and post ahead do so if the cut steps are proved.
    Raises Unsupported, AlgorithmError.
    """
    one = Competitor(request.competitor)
    if one.is_native:
        return NATIVES[one](sendbuf, recvbuf, comm, request.op)
    algorithm, topology, window = builtin_of(one.algorithm), Topology.one_node(comm.size), list[int]()
    schedules: Sequence[list[Step]] = algorithm.schedules(comm.size, topology, sendbuf.size, SEGMENT)
    if one.is_pipelined:
        window = [WINDOW]
        if not algorithm.segmented:
            schedules, why_uncut, _ = cut_schedules(schedules, sendbuf.size, SEGMENT)
            window = [1] if why_uncut else window  # whole messages ahead would take as many vectors of scratch
    return EXECUTORS[one.way](schedules[comm.rank], sendbuf, recvbuf, comm, request.op, *window)


def make_ready(request: Request, comm: MPI.Comm) -> None:
    """Compile before timing. Raises Unsupported."""
    if Competitor(request.competitor).is_compiled:
        from ...measuring.schedules import compile_in_turns  # late: few ranks compile

        if reason := compile_in_turns(comm, Topology.one_node(comm.size), request.dtype):
            raise Unsupported(reason)
