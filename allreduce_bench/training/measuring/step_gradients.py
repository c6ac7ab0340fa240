"""The gradients of a step with Horovod: each a tensor of its own, averaged together in a fusion buffer.

As in Horovod's mpi_operations.cc gradients are copied into the buffer, all-reduced and copied back, all of which counts
as the all-reduce; here a gradient that goes alone is copied, too. How many go together depends on the time. So
all-reduces are bound at the first use of their length, and kept.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
from mpi4py import MPI

from ...executing import Prepared, Unsupported
from ...executing.memory import PAGES, filled
from .step_binding import bind
from .step_cycles import CycleStream
from .step_request import AVERAGE, Request, result_of_ranks

KEPT = 8  # times the elements of all gradients, in all-reduces that are kept
PATTERN = 5  # elements of a gradient differ in turn, so that one at a wrong place is seen


class Gradients:
    """Rank r contributes r + 1, to which the place of an element adds 0 to PATTERN - 1."""

    def __init__(self, request: Request, comm: MPI.Comm):
        """Raises Unsupported, AlgorithmError."""
        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            raise Unsupported("Horovod's background thread needs MPI_THREAD_MULTIPLE, which this MPI does not provide")
        self.request, self.comm = request, comm
        self.gradients = [np.zeros(count, request.dtype) for count in request.counts]
        rungs, itemsize = request.alone or request.counts, self.gradients[0].itemsize
        self.sizes = [(i, count * itemsize, request.dtype) for i, count in enumerate(request.counts)]
        fitting = min(sum(request.counts), request.buffer_nbytes // itemsize)
        longest = max(*request.counts, *rungs, fitting)
        self.sent = filled(PAGES.sendbuf, longest, request.dtype, 0)
        self.received = filled(PAGES.recvbuf, longest, request.dtype, 0)
        self.pattern = (np.arange(max(request.counts) + PATTERN) % PATTERN).astype(request.dtype)
        self.kept: dict[int, Prepared] = {}  # by elements, the one used last at the end
        self.ladder = [self._bind(count) for count in rungs]
        self.alone = [partial(self.average, self._first(n), call) for n, call in zip(rungs, self.ladder)]
        self.agreement = comm.Dup()

    def prepare(self) -> None:
        """The gradients of this rank, as a backward pass leaves them."""
        for index, gradient in enumerate(self.gradients):
            np.add(self._pattern_of(index), self._of_type(self.comm.rank + 1), out=gradient)

    def stream(self) -> CycleStream:
        """What a step hands its gradients over to."""
        return CycleStream(self, self.agreement, self.request.cycle_s, self.request.buffer_nbytes)

    @property
    def wrong(self) -> int:
        """How many gradients of the last step are no averages."""
        mean = self._of_type(result_of_ranks(AVERAGE, self.comm.size))
        return sum(bool(np.any(one != self._pattern_of(i) + mean)) for i, one in enumerate(self.gradients))

    def bound(self, members: Sequence[int]) -> partial:
        """The all-reduce of these gradients. Raises Unsupported, AlgorithmError."""
        count = sum(self.gradients[index].size for index in members)
        call = self.kept.pop(count, None)
        if call is None:
            call = self._bind(count)
            while self.kept and sum(self.kept) + count > KEPT * sum(self.request.counts):
                self.kept.pop(next(iter(self.kept))).close()
        self.kept[count] = call
        return partial(self.average, [self.gradients[index] for index in members], call)

    def average(self, vectors: Sequence[np.ndarray], call: Prepared) -> None:
        """Copy vectors into the buffer, all-reduce as many elements as they have together, copy them back."""
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
        """The first gradients that have `count` elements together, the last one of them cut."""
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
