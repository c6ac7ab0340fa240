"""The all-reduces of a training step, one at a time as on one stream, in a thread beside the computation; and their
vectors.
"""

import queue
import threading
from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ...algorithms import builtin_of
from ...executing import EXECUTORS, NATIVES, Prepared, Unsupported
from ...executing.memory import PAGES, filled
from ...runs.competitor import Competitor
from ...schedule import Step
from ...schedule.algorithm import Topology
from ...schedule.cut import cut_schedules
from .request import Request

SEGMENT, WINDOW = 16384, 2  # elements of a segment, where messages are cut; segments posted ahead
AVERAGE = "avg"


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
        self.expected = (comm.size + 1) / 2
        sendbuf = filled(PAGES.sendbuf, count, request.dtype, comm.rank + 1)
        self.call = bind(request, sendbuf, self.recvbuf, comm)

    @property
    def is_wrong(self) -> bool:
        """Whether the result is wrong."""
        return bool(np.any(self.recvbuf != self.expected))


class Stream:
    """A thread that runs all-reduces one by one; `spans` has each of them, in order of execution."""

    def __init__(self, buckets: Sequence[Bucket]):
        """Start the thread."""
        self.buckets = buckets
        self.spans: list[Span] = []
        self._posted: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run_all, daemon=True)
        self._thread.start()

    def _run_all(self) -> None:
        while (number := self._posted.get()) is not None:
            begun = perf_counter()
            self.buckets[number].call.run()
            self.spans.append(Span(begun, perf_counter(), number))

    def post(self, number: int) -> None:
        """Queue the all-reduce of a bucket whose gradients are ready."""
        self._posted.put(number)

    def wait(self) -> None:
        """Return when all posted all-reduces have ended, and the thread with them."""
        self._posted.put(None)
        self._thread.join()


def bind(request: Request, sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm) -> Prepared:
    """Bind an all-reduce to its vectors, by `request`: the library's own, or the steps of an algorithm.

    Local: no rank waits for another one. Executors that cut steps and post ahead do so if the cut steps are proved.
    Raises Unsupported, AlgorithmError.
    """
    one = Competitor(request.competitor)
    if one.is_native:
        return NATIVES[one](sendbuf, recvbuf, comm, AVERAGE)
    algorithm, topology, window = builtin_of(one.algorithm), Topology.one_node(comm.size), list[int]()
    schedules: Sequence[list[Step]] = algorithm.schedules(comm.size, topology, sendbuf.size, SEGMENT)
    if one.is_pipelined:
        window = [WINDOW]
        if not algorithm.segmented:
            schedules, why_uncut, _ = cut_schedules(schedules, sendbuf.size, SEGMENT)
            window = [1] if why_uncut else window  # whole messages ahead would take as many vectors of scratch
    return EXECUTORS[one.way](schedules[comm.rank], sendbuf, recvbuf, comm, AVERAGE, *window)


def make_ready(request: Request, comm: MPI.Comm) -> None:
    """Compile before timing. Raises Unsupported."""
    if Competitor(request.competitor).is_compiled:
        from ...measuring.schedules import compile_in_turns  # late: few ranks compile

        if reason := compile_in_turns(comm, Topology.one_node(comm.size), request.dtype):
            raise Unsupported(reason)
