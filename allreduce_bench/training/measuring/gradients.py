"""The all-reduces of a training step, one at a time as on one stream: after the computation, beside it, between it; and
their vectors.
"""

import queue
import threading
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter, sleep
from typing import NamedTuple, Protocol

import numpy as np
from mpi4py import MPI

from ...algorithms import builtin_of
from ...executing import EXECUTORS, NATIVES, Prepared, Unsupported, division, native_datatype
from ...executing.memory import PAGES, filled
from ...runs.cell import COMPILED
from ...schedule.algorithm import Topology
from ...schedule.cut import cut_schedules
from .request import AVERAGE, BETWEEN, BLOCKING, IALLREDUCE, NATIVE, THREAD, Request, fuse, result_of_ranks


class Span(NamedTuple):
    """An all-reduce, by perf_counter; it carries so many vectors, up to the one numbered `last`."""

    start: float
    end: float
    last: int
    vectors: int = 1


class Cycles(NamedTuple):
    """Horovod's cycles of a step, and their time beside the all-reduces."""

    number: int
    agreement_s: float  # to agree on the ready gradients
    binding_s: float  # of all-reduces of new lengths


class Bound(NamedTuple):
    """The all-reduce of a bucket; `begin` posts it by MPI_Iallreduce (None: it cannot be posted), `finish` follows."""

    call: Prepared
    begin: Callable[[], MPI.Request] | None
    finish: Sequence[Callable[[], object]] = ()


class Stream:
    """All-reduces that run one by one; `spans` has each of them, in order of execution."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.cycles: Cycles | None = None

    def post(self, number: int) -> None:
        """Note that the gradients of a bucket are ready."""
        raise NotImplementedError

    def poke(self) -> None:
        """Make progress from within the computation."""

    def wait(self) -> None:
        """Return when all posted all-reduces have ended."""


class BoundStream(Stream):
    """A stream of bound buckets."""

    def __init__(self, bound: Sequence[Bound]):
        super().__init__()
        self.bound = bound

    def run(self, number: int) -> None:
        """Run one all-reduce in this thread."""
        begun = perf_counter()
        self.bound[number].call.run()
        self.spans.append(Span(begun, perf_counter(), number))


class BetweenStream(BoundStream):
    """All-reduces that interrupt the computation."""

    def post(self, number: int) -> None:
        """Run it."""
        self.run(number)


class BlockingStream(BoundStream):
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


class ThreadStream(BoundStream):
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


class IallreduceStream(BoundStream):
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


# The vectors of the all-reduces of a training step on a rank, and Horovod's cycles


# Horovod
MOST_KEPT = 8  # limit on bound all-reduces, in elements, relative to all gradients
PATTERN = 5  # period of the element values of a gradient, which detects misplaced elements


def bind(request: Request, sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm, op: str) -> Prepared:
    """Bind an all-reduce to its vectors, by `request`: the library's own, or the steps of an algorithm.

    Local: no rank waits for another one. Executors that cut steps and post ahead do so if the cut steps are proved.
    Raises Unsupported, AlgorithmError.
    """
    if request.algorithm == NATIVE:
        return NATIVES[request.executor](sendbuf, recvbuf, comm, op)
    algorithm, topology = builtin_of(request.algorithm), Topology.one_node(comm.size)
    if not request.executor.endswith("pipelined") or algorithm.segmented:
        steps = algorithm.schedule(comm.rank, comm.size, topology, sendbuf.size, request.segment)
        window = [request.window] if request.executor.endswith("pipelined") else []
        return EXECUTORS[request.executor](steps, sendbuf, recvbuf, comm, op, *window)
    whole = algorithm.schedules(comm.size, topology, sendbuf.size, request.segment)
    schedules, why_uncut, _ = cut_schedules(whole, sendbuf.size, request.segment)
    window = [1 if why_uncut else request.window]  # whole messages posted ahead would take as many vectors of scratch
    return EXECUTORS[request.executor](schedules[comm.rank], sendbuf, recvbuf, comm, op, *window)


def make_ready(request: Request, comm: MPI.Comm) -> None:
    """Compile before timing. Raises Unsupported."""
    if request.executor in COMPILED:
        from ...measuring.schedules import compile_in_turns  # late: few ranks compile

        if reason := compile_in_turns(comm, Topology.one_node(comm.size), request.dtype):
            raise Unsupported("as_said", words=reason)


class Bucket:
    """A vector of `count` elements, to which rank r contributes r + 1, and its all-reduce."""

    def __init__(self, request: Request, count: int, comm: MPI.Comm, op: str):
        """Bind the all-reduce. Raises Unsupported, AlgorithmError."""
        self.recvbuf, self.expected = filled(PAGES.recvbuf, count, request.dtype, 0), result_of_ranks(op, comm.size)
        sendbuf = filled(PAGES.sendbuf, count, request.dtype, comm.rank + 1)
        self.bound = Bound(bind(request, sendbuf, self.recvbuf, comm, op), None)
        if request.algorithm == NATIVE:
            datatype = native_datatype(request.dtype)
            send, recv = ([MPI.buffer(array), count, datatype] for array in (sendbuf, self.recvbuf))
            begin, finish = partial(comm.Iallreduce, send, recv, MPI.SUM), division(self.recvbuf, comm, op)
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
        self.buckets = {key: Bucket(request, n, comm, request.op) for key, n in dict(zip(keys, request.counts)).items()}
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


class Averaged(Protocol):
    """Gradients in order of readiness."""

    @property
    def sizes(self) -> Sequence[tuple[int, int, str]]:
        """Return (index, bytes, type) of each."""

    def bound(self, members: Sequence[int]) -> Callable[[], object]:
        """Return the all-reduce of these gradients."""


class CycleStream(Stream):
    """Horovod's background thread: once a cycle it averages the gradients that are ready on all ranks.

    As in `RunLoopOnce` of Horovod's operations.cc a cycle begins a cycle time after the former one did, or when its
    all-reduces have ended. With all responses cached Horovod's ranks agree by one all-reduce of a bit for each tensor,
    in every cycle (`CoordinateCacheAndState` in controller.cc). Here gradients become ready in the same order on all
    ranks, so that the minimum of their numbers suffices; the ranks agree on it by `agreement`.
    """

    def __init__(self, gradients: Averaged, agreement: MPI.Comm, cycle_s: float, buffer_nbytes: int):
        super().__init__()
        self.gradients, self.agreement = gradients, agreement
        self.cycle_s, self.buffer_nbytes = cycle_s, buffer_nbytes
        self.ready = np.zeros(1, np.int64)  # gradients of this rank; only the computing thread writes it
        self.everywhere = np.zeros(1, np.int64)
        self.number, self.agreement_s, self.binding_s = 0, 0.0, 0.0
        self.failure: Exception | None = None
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def post(self, number: int) -> None:
        """Hand a gradient over."""
        self.ready[0] = number + 1

    def wait(self) -> None:
        """Return when all gradients are averaged. Raises the exception of the thread."""
        self.thread.join()
        self.cycles = Cycles(self.number, self.agreement_s, self.binding_s)
        if self.failure:
            raise self.failure

    def _serve(self) -> None:
        try:
            self._cycle_until_all_are_averaged()
        except Exception as error:  # wait() raises it
            self.failure = error

    def _cycle_until_all_are_averaged(self) -> None:
        sizes, taken = self.gradients.sizes, 0
        while True:
            begun = perf_counter()
            everywhere = self._agreed()
            for members in fuse(sizes[taken:everywhere], self.buffer_nbytes):
                self._average(members)
            taken = everywhere
            if taken == len(sizes):
                return
            sleep(max(0.0, begun + self.cycle_s - perf_counter()))

    def _agreed(self) -> int:
        """Return how many gradients are ready on all ranks."""
        begun, mine = perf_counter(), self.ready.copy()
        self.agreement.Allreduce([mine, MPI.INT64_T], [self.everywhere, MPI.INT64_T], MPI.MIN)
        self.number += 1
        self.agreement_s += perf_counter() - begun
        return int(self.everywhere[0])

    def _average(self, members: tuple[int, ...]) -> None:
        begun = perf_counter()
        average = self.gradients.bound(members)
        start = perf_counter()
        average()
        self.spans.append(Span(start, perf_counter(), members[-1], len(members)))
        self.binding_s += start - begun


class Gradients:
    """The gradients of a step with Horovod: each a separate tensor, averaged together in a fusion buffer.

    As in Horovod's mpi_operations.cc gradients are copied into the buffer, all-reduced and copied back, all of which
    counts as the all-reduce; here a single gradient is copied, too. How many are fused depends on timing. So
    all-reduces are bound at the first use of their length, and cached. Rank r contributes r + 1, to which the place of
    an element adds 0 to PATTERN - 1.
    """

    def __init__(self, request: Request, comm: MPI.Comm):
        """Allocate the tensors and bind a ladder of lengths. Raises Unsupported, AlgorithmError."""
        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            raise Unsupported("training.horovod_background_thread_needs")
        self.request, self.comm = request, comm
        self.gradients = [np.zeros(count, request.dtype) for count in request.counts]
        rungs, itemsize = request.alone or request.counts, self.gradients[0].itemsize
        self.sizes = [(i, count * itemsize, request.dtype) for i, count in enumerate(request.counts)]
        fitting = min(sum(request.counts), request.buffer_nbytes // itemsize)
        longest = max(*request.counts, *rungs, fitting)
        self.sent = filled(PAGES.sendbuf, longest, request.dtype, 0)
        self.received = filled(PAGES.recvbuf, longest, request.dtype, 0)
        self.pattern = (np.arange(max(request.counts) + PATTERN) % PATTERN).astype(request.dtype)
        self.kept: dict[int, Prepared] = {}  # by elements, last used last
        self.ladder = [self._bind(count) for count in rungs]
        self.alone = [partial(self.average, self._first(n), call) for n, call in zip(rungs, self.ladder)]
        self.agreement = comm.Dup()

    def prepare(self) -> None:
        """Fill the gradients of this rank, as a backward pass does."""
        for index, gradient in enumerate(self.gradients):
            np.add(self._pattern_of(index), self._of_type(self.comm.rank + 1), out=gradient)

    def stream(self) -> CycleStream:
        """Return the stream that a step hands its gradients to."""
        return CycleStream(self, self.agreement, self.request.cycle_s, self.request.buffer_nbytes)

    @property
    def wrong(self) -> int:
        """Return the number of gradients of the last step that are no averages."""
        mean = self._of_type(result_of_ranks(AVERAGE, self.comm.size))
        return sum(bool(np.any(one != self._pattern_of(i) + mean)) for i, one in enumerate(self.gradients))

    def bound(self, members: Sequence[int]) -> partial:
        """Return the all-reduce of these gradients. Raises Unsupported, AlgorithmError."""
        count = sum(self.gradients[index].size for index in members)
        call = self.kept.pop(count, None)
        if call is None:
            call = self._bind(count)
            while self.kept and sum(self.kept) + count > MOST_KEPT * sum(self.request.counts):
                self.kept.pop(next(iter(self.kept))).close()
        self.kept[count] = call
        return partial(self.average, [self.gradients[index] for index in members], call)

    def average(self, vectors: Sequence[np.ndarray], call: Prepared) -> None:
        """Copy vectors into the buffer, all-reduce their total length, copy them back."""
        count = sum(vector.size for vector in vectors)
        np.concatenate(vectors, out=self.sent[:count])
        call.run()
        start = 0
        for vector in vectors:
            np.copyto(vector, self.received[start : start + vector.size])
            start += vector.size

    def close(self) -> None:
        """Free what MPI holds."""
        for call in [*self.ladder, *self.kept.values()]:
            call.close()
        self.agreement.Free()

    def _bind(self, count: int) -> Prepared:
        return bind(self.request, self.sent[:count], self.received[:count], self.comm, AVERAGE)

    def _first(self, count: int) -> list[np.ndarray]:
        """Return the first gradients that have `count` elements together, the last one of them cut."""
        vectors: list[np.ndarray] = []
        for gradient in self.gradients:
            if count > 0:
                vectors.append(gradient[:count])
            count -= gradient.size
        return vectors

    def _pattern_of(self, index: int) -> np.ndarray:
        start = index % PATTERN
        return self.pattern[start : start + self.gradients[index].size]

    def _of_type(self, value: float) -> np.ndarray:
        return np.asarray(value, self.request.dtype)
