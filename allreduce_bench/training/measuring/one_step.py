"""One step of a rank: what it computes, what it hands over, what it waits for, and when."""

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import NamedTuple

from ...executing import Prepared
from .step_request import BUCKET, TENSOR
from .step_streams import Cycles, Stream
from .step_work import Work


class Step(NamedTuple):
    """What one rank saw of a step, seconds from its beginning."""

    step_s: float
    phases: list[tuple[str, float, float]]
    transfers: list[tuple[float, float, float, int]]  # ready, beginning, end, of how many vectors
    stalls: list[tuple[float, float]]  # the all-reduces of activations
    cycles: Cycles | None = None

    @property
    def compute_s(self) -> float:
        """How long its computation took."""
        return sum(end - start for _, start, end in self.phases)


def one_step(
    actions: Sequence[tuple[str, float]], work: Work, stream: Stream | None = None, tensor: Prepared | None = None
) -> Step:
    """One step of this rank; without a stream and `tensor` its computation alone."""
    begun = perf_counter()
    phases: list[tuple[str, float, float]] = []
    stalls: list[tuple[float, float]] = []
    ready: list[float] = []
    for kind, time_s in actions:
        start = perf_counter() - begun
        if kind == BUCKET:
            ready.append(start)
            if stream:
                stream.post(len(ready) - 1)
        elif kind == TENSOR:
            if tensor:
                tensor.run()
                stalls.append((start, perf_counter() - begun))
        else:
            work.do(time_s, stream.poke if stream else None)
            phases.append((kind, start, perf_counter() - begun))
    if not stream:
        return Step(perf_counter() - begun, phases, [], stalls)
    stream.wait()
    step_s = perf_counter() - begun
    sent = [(ready[one.last], one.start - begun, one.end - begun, one.vectors) for one in stream.spans]
    return Step(step_s, phases, sent, stalls, stream.cycles)


def alone(calls: Iterable[Callable[[], object]]) -> list[float]:
    """The times of the all-reduces without any computation, one by one."""
    times_s = []
    for call in calls:
        begun = perf_counter()
        call()
        times_s.append(perf_counter() - begun)
    return times_s
