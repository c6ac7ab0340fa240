"""Horovod's background thread: once a cycle it finds out which gradients are ready on all ranks, and averages those.

As in `RunLoopOnce` of Horovod's operations.cc a cycle begins a cycle time after the former one did, or when its
all-reduces have ended. With all responses cached Horovod's ranks agree by one all-reduce of a bit for each tensor, in
every cycle (`CoordinateCacheAndState` in controller.cc). Here gradients become ready in the same order on all ranks, so
that the least number of them says as much.
"""

import threading
from collections.abc import Callable, Sequence
from time import perf_counter, sleep
from typing import Protocol

import numpy as np
from mpi4py import MPI

from .step_fusion import fuse
from .step_streams import Cycles, Span, Stream


class Averaged(Protocol):
    """Gradients in the order in which they become ready."""

    @property
    def sizes(self) -> Sequence[tuple[int, int, str]]:
        """(index, bytes, type) of each."""

    def bound(self, members: Sequence[int]) -> Callable[[], object]:
        """The all-reduce of these gradients."""


class CycleStream(Stream):
    """All-reduces of whatever is ready everywhere when a cycle begins; the ranks agree by `agreement`."""

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
        """Return when all gradients are averaged. Raises what the thread has raised."""
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
        """How many gradients are ready on all ranks."""
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
