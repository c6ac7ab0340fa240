"""The all-reduces of a training step, one at a time as on one stream: after the computation, beside it, between it; and
their vectors.
"""

import queue
import threading
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ...algorithms import builtin_of
from ...executing import EXECUTORS, NATIVES, Prepared, Unsupported, native_datatype
from ...executing.memory import PAGES, filled
from ...executing.sendrecv import division
from ...runs.competitor import COMPILED
from ...schedule.algorithm import Topology
from ...schedule.cut import cut_schedules
from .request import BETWEEN, BLOCKING, IALLREDUCE, NATIVE, THREAD, Request, result_of_ranks

SEGMENT, WINDOW = 16384, 2  # elements of a segment, where messages are cut; segments posted ahead


class Span(NamedTuple):
    """The all-reduce of a bucket, by perf_counter."""

    start: float
    end: float
    bucket: int


class Bound(NamedTuple):
    """The all-reduce of a bucket; `begin` posts it by MPI_Iallreduce (None: it cannot be posted), `finish` follows."""

    call: Prepared
    begin: Callable[[], MPI.Request] | None
    finish: Sequence[Callable[[], object]] = ()


class Stream:
    """All-reduces of bound buckets that run one by one; `spans` has each of them, in order of execution."""

    def __init__(self, bound: Sequence[Bound]):
        self.bound = bound
        self.spans: list[Span] = []

    def run(self, number: int) -> None:
        """Run one all-reduce in this thread."""
        begun = perf_counter()
        self.bound[number].call.run()
        self.spans.append(Span(begun, perf_counter(), number))

    def post(self, number: int) -> None:
        """Note that the gradients of a bucket are ready."""
        raise NotImplementedError

    def poke(self) -> None:
        """Make progress from within the computation."""

    def wait(self) -> None:
        """Return when all posted all-reduces have ended."""


class BetweenStream(Stream):
    """All-reduces that interrupt the computation."""

    def post(self, number: int) -> None:
        """Run it."""
        self.run(number)


class BlockingStream(Stream):
    """All-reduces after the computation."""

    def __init__(self, bound: Sequence[Bound]):
        super().__init__(bound)
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

    def __init__(self, bound: Sequence[Bound]):
        super().__init__(bound)
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


class IallreduceStream(Stream):
    """All-reduces posted by MPI_Iallreduce, one at a time; only MPI_Test and the library make progress."""

    def __init__(self, bound: Sequence[Bound]):
        super().__init__(bound)
        self.posted: list[int] = []
        self.active: MPI.Request | None = None
        self.begun = 0.0

    def post(self, number: int) -> None:
        """Post it, or keep it until the previous one has ended."""
        self.posted.append(number)
        self.poke()

    def poke(self) -> None:
        """Test the active one; when it has ended, post the next."""
        if self.active is not None and self.active.Test():
            self._end()
        if self.active is None and self.posted:
            self.begun = perf_counter()
            begin = self.bound[self.posted[0]].begin
            assert begin is not None
            self.active = begin()

    def _end(self) -> None:
        number = self.posted.pop(0)
        for call in self.bound[number].finish:
            call()
        self.spans.append(Span(self.begun, perf_counter(), number))
        self.active = None

    def wait(self) -> None:
        """Wait for them one by one."""
        while self.posted:
            self.poke()


STREAMS: dict[str, Callable[[Sequence[Bound]], Stream]] = {
    BLOCKING: BlockingStream,
    THREAD: ThreadStream,
    IALLREDUCE: IallreduceStream,
    BETWEEN: BetweenStream,
}


# The vectors of the all-reduces of a training step on a rank


def bind(request: Request, sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm) -> Prepared:
    """Bind an all-reduce to its vectors, by `request`: the library's own, or the steps of an algorithm.

    Local: no rank waits for another one. Executors that cut steps and post ahead do so if the cut steps are proved.
    Raises Unsupported, AlgorithmError.
    """
    if request.algorithm == NATIVE:
        way = NATIVE if request.executor == NATIVE else f"{NATIVE}@{request.executor}"
        return NATIVES[way](sendbuf, recvbuf, comm, request.op)
    algorithm, topology = builtin_of(request.algorithm), Topology.one_node(comm.size)
    if not request.executor.endswith("pipelined") or algorithm.segmented:
        steps = algorithm.schedule(comm.rank, comm.size, topology, sendbuf.size, SEGMENT)
        window = [WINDOW] if request.executor.endswith("pipelined") else []
        return EXECUTORS[request.executor](steps, sendbuf, recvbuf, comm, request.op, *window)
    whole = algorithm.schedules(comm.size, topology, sendbuf.size, SEGMENT)
    schedules, why_uncut, _ = cut_schedules(whole, sendbuf.size, SEGMENT)
    window = [1 if why_uncut else WINDOW]  # whole messages posted ahead would take as many vectors of scratch
    return EXECUTORS[request.executor](schedules[comm.rank], sendbuf, recvbuf, comm, request.op, *window)


def make_ready(request: Request, comm: MPI.Comm) -> None:
    """Compile before timing. Raises Unsupported."""
    if request.executor in COMPILED:
        from ...measuring.schedules import compile_in_turns  # late: few ranks compile

        if reason := compile_in_turns(comm, Topology.one_node(comm.size), request.dtype):
            raise Unsupported(reason)


class Bucket:
    """A vector of `count` elements, to which rank r contributes r + 1, and its all-reduce."""

    def __init__(self, request: Request, count: int, comm: MPI.Comm):
        """Bind the all-reduce. Raises Unsupported, AlgorithmError."""
        self.recvbuf = filled(PAGES.recvbuf, count, request.dtype, 0)
        self.expected = result_of_ranks(request.op, comm.size)
        sendbuf = filled(PAGES.sendbuf, count, request.dtype, comm.rank + 1)
        self.bound = Bound(bind(request, sendbuf, self.recvbuf, comm), None)
        if request.algorithm == NATIVE:
            datatype = native_datatype(request.dtype)
            send, recv = ([MPI.buffer(array), count, datatype] for array in (sendbuf, self.recvbuf))
            begin, finish = partial(comm.Iallreduce, send, recv, MPI.SUM), division(self.recvbuf, comm, request.op)
            self.bound = self.bound._replace(begin=begin, finish=finish)

    @property
    def call(self) -> Prepared:
        """Blocking all-reduce."""
        return self.bound.call

    @property
    def is_wrong(self) -> bool:
        """Whether the result is wrong."""
        return bool(np.any(self.recvbuf != self.expected))


class Buckets:
    """The buckets of a step. Each has vectors of its own; recorded calls of one length share them."""

    def __init__(self, request: Request, comm: MPI.Comm):
        """Bind the buckets. Raises Unsupported, AlgorithmError."""
        shared = request.overlap == BETWEEN
        keys = request.counts if shared else [*range(len(request.counts))]
        self.stream_type = STREAMS[request.overlap]
        self.buckets = {key: Bucket(request, n, comm) for key, n in dict(zip(keys, request.counts)).items()}
        self.bound = [self.buckets[key].bound for key in keys]
        self.alone = [one.call.run for one in self.bound]

    def prepare(self) -> None:
        """Clear the results of the former step."""
        for bucket in self.buckets.values():
            bucket.recvbuf.fill(0)

    def stream(self) -> Stream:
        """Return the stream that a step hands its buckets to."""
        return self.stream_type(self.bound)

    @property
    def wrong(self) -> int:
        """Return the number of wrong results of the last step."""
        return sum(bucket.is_wrong for bucket in self.buckets.values())

    def close(self) -> None:
        """Free what MPI holds."""
        for bucket in self.buckets.values():
            bucket.call.close()
