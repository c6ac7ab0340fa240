"""The events of a step: when the gradients are ready, when their all-reduces run, and the exposed part.

The forward pass, then the backward pass, which makes one gradient after the other; an all-reduce begins when all of its
gradients are ready and the former one has ended, as on one stream. The share of the backward pass after which a
gradient is ready is its share of the floating-point operations until then, or of the bytes: a proxy, which is named.
Overlap is computation beside communication over communication (as HolisticTraceAnalysis defines it).
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from .buckets import Bucket
from .tensors import DEFAULT_DTYPE, Model

FLOPS, BYTES = "flops", "bytes"  # the proxies
FORWARD, BACKWARD = "forward", "backward"  # kinds of phases
BACKWARD_SHARE = 2 / 3  # of the computation: a backward pass has twice the operations of a forward pass


class Phase(NamedTuple):
    """A span of computation, seconds from the beginning of the step."""

    kind: str  # FORWARD or BACKWARD
    start_s: float
    end_s: float


class Transfer(NamedTuple):
    """An all-reduce of the step, seconds from its beginning."""

    size_bytes: int
    ready_s: float  # when all its gradients are there
    start_s: float
    end_s: float
    tensors: int = 1
    algorithm: str = ""  # empty: one rank, which sends nothing


class TimeLine(NamedTuple):
    """A step: its computation and its all-reduces, each in order."""

    phases: tuple[Phase, ...]
    transfers: tuple[Transfer, ...]

    @property
    def step_s(self) -> float:
        """Time from the beginning to the end of the last event."""
        return max(event.end_s for events in self for event in events)

    @property
    def compute_s(self) -> float:
        """Total computation."""
        return sum(phase.end_s - phase.start_s for phase in self.phases)

    @property
    def communication_s(self) -> float:
        """Total time of all-reduces."""
        return sum(transfer.end_s - transfer.start_s for transfer in self.transfers)

    @property
    def exposed_s(self) -> float:
        """Time of the step beyond its computation."""
        return max(0.0, self.step_s - self.compute_s)

    @property
    def overlapped_s(self) -> float:
        """Time in which computation and communication overlap."""
        ends, overlapped_s = [phase.end_s for phase in self.phases], 0.0
        for transfer in self.transfers:
            for number in range(bisect_right(ends, transfer.start_s), len(ends)):
                phase = self.phases[number]
                if phase.start_s >= transfer.end_s:
                    break
                overlapped_s += min(transfer.end_s, phase.end_s) - max(transfer.start_s, phase.start_s)
        return overlapped_s

    @property
    def overlap_share(self) -> float | None:
        """Overlapped share of the communication; None without communication."""
        return self.overlapped_s / self.communication_s if self.communication_s else None


def ready_shares(model: Model, proxy: str, dtype: str = DEFAULT_DTYPE) -> list[float]:
    """Return for each gradient, by its index, the share of the backward pass after which it is ready."""
    in_order = [model.gradients[index] for index in model.ready_order]
    if proxy == FLOPS and model.flops:
        done = [model.flops_without_gradient + part for part in accumulate(gradient.flops for gradient in in_order)]
    else:
        done = [float(part) for part in accumulate(gradient.size_bytes(dtype) for gradient in in_order)]
    shares = [0.0] * len(in_order)
    for index, part in zip(model.ready_order, done):
        shares[index] = min(1.0, part / done[-1]) if done[-1] else 1.0
    return shares


def phases_of(compute_s: float, backward_share: float = BACKWARD_SHARE) -> tuple[Phase, Phase]:
    """Return the forward and the backward pass of `compute_s` seconds together."""
    turn = compute_s - compute_s * backward_share
    return Phase(FORWARD, 0.0, turn), Phase(BACKWARD, turn, compute_s)


def ready_times(shares: Sequence[float], backward: Phase) -> list[float]:
    """Return when each gradient is ready, from its share of the backward pass."""
    return [backward.start_s + share * (backward.end_s - backward.start_s) for share in shares]


def line_up(buckets: Iterable[Bucket], ready_s: Sequence[float], cost: Callable[[int], float]) -> tuple[Transfer, ...]:
    """Return the all-reduces of buckets, one after the other, each when its gradients are ready.

    `ready_s`: of each gradient; `cost(bytes)`: the time of an all-reduce, seconds.
    """
    transfers: list[Transfer] = []
    free_s = 0.0
    for bucket in buckets:
        ready = max(ready_s[index] for index in bucket.gradients)
        start = max(ready, free_s)
        free_s = start + cost(bucket.size_bytes)
        transfers.append(Transfer(bucket.size_bytes, ready, start, free_s, len(bucket.gradients)))
    return tuple(transfers)
