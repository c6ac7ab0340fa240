"""The all-reduces of a training step, one at a time as on one stream: behind the computation, beside it, between it."""

import queue
import threading
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple

from mpi4py import MPI

from ...executing import Prepared
from .request import BETWEEN, BLOCKING, IALLREDUCE, THREAD


class Span(NamedTuple):
    """An all-reduce, as perf_counter reads it; it carries what was handed over up to `last`, so many vectors."""

    start: float
    end: float
    last: int
    vectors: int = 1


class Cycles(NamedTuple):
    """What Horovod's cycles of a step were, and the time that they took beside the all-reduces."""

    number: int
    agreement_s: float  # to find out what is ready everywhere
    binding_s: float  # of all-reduces of lengths that are new


class Bound(NamedTuple):
    """The all-reduce of a bucket; `begin` posts it by MPI_Iallreduce (None: it cannot be posted), `finish` follows."""

    call: Prepared
    begin: Callable[[], MPI.Request] | None
    finish: Sequence[Callable[[], object]] = ()


class Stream:
    """All-reduces that run one by one; `spans` has each of them, in the order in which they ran."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.cycles: Cycles | None = None

    def post(self, number: int) -> None:
        """The gradients of a bucket are ready."""
        raise NotImplementedError

    def poke(self) -> None:
        """Make progress from within the computation."""

    def wait(self) -> None:
        """Return when all posted all-reduces have ended."""


class BoundStream(Stream):
    """A stream of buckets, each of which is bound."""

    def __init__(self, bound: Sequence[Bound]):
        super().__init__()
        self.bound = bound

    def run(self, number: int) -> None:
        """Do one all-reduce here and now."""
        begun = perf_counter()
        self.bound[number].call.run()
        self.spans.append(Span(begun, perf_counter(), number))


class BetweenStream(BoundStream):
    """All-reduces at once, while the computation stops."""

    def post(self, number: int) -> None:
        """Do it."""
        self.run(number)


class BlockingStream(BoundStream):
    """All-reduces behind the computation."""

    def __init__(self, bound: Sequence[Bound]):
        super().__init__(bound)
        self.posted: list[int] = []

    def post(self, number: int) -> None:
        """Keep it for later."""
        self.posted.append(number)

    def wait(self) -> None:
        """Do all of them."""
        for number in self.posted:
            self.run(number)


class ThreadStream(BoundStream):
    """All-reduces in a thread of their own."""

    def __init__(self, bound: Sequence[Bound]):
        super().__init__(bound)
        self.posted: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        while (number := self.posted.get()) is not None:
            self.run(number)

    def post(self, number: int) -> None:
        """Hand it over."""
        self.posted.put(number)

    def wait(self) -> None:
        """End the thread when it has done all of them."""
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
        """Post it, or keep it until the one before has ended."""
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
        """Wait for one after the other."""
        while self.posted:
            self.poke()


STREAMS: dict[str, Callable[[Sequence[Bound]], Stream]] = {
    BLOCKING: BlockingStream,
    THREAD: ThreadStream,
    IALLREDUCE: IallreduceStream,
    BETWEEN: BetweenStream,
}
