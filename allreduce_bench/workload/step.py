"""A training step as a whole: its buckets, its time line on each number of ranks, and what a change would bring."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .buckets import BY_DEFAULT, MIB, REBUILT, Bucket, Caps, ddp_buckets
from .cost import FASTEST, Costs, choose
from .fusion import Fusion, fuse, fused_transfers
from .tensors import DEFAULT_DTYPE, Model
from .time_line import BACKWARD_SHARE, FLOPS, TimeLine, Transfer, in_order, phases_of, ready_shares, ready_times

TRIED_CAPS = (1 * MIB, 5 * MIB, 25 * MIB, 100 * MIB)


class Setup(NamedTuple):
    """A step of one rank: `accumulate` forward and backward passes, and all-reduces beside or behind the last one."""

    model: Model
    compute_s: float  # of one forward and backward pass
    packing: Caps | Fusion = BY_DEFAULT
    dtype: str = DEFAULT_DTYPE
    stage: str = REBUILT
    backward_share: float = BACKWARD_SHARE
    proxy: str = FLOPS
    overlapped: bool = True
    accumulate: int = 1

    @property
    def proxy_used(self) -> str:
        """The proxy of ready times: bytes where the operations of the model are unknown."""
        return self.proxy if self.model.flops else "bytes"


class Outcome(NamedTuple):
    """The step on so many ranks."""

    ranks: int
    time_line: TimeLine
    algorithms: tuple[str, ...]  # that its buckets use, the most frequent first
    compute_alone_s: float

    @property
    def efficiency(self) -> float:
        """Weak scaling: the step of one rank, which sends nothing, over this one."""
        return self.compute_alone_s / self.time_line.step_s


class Variant(NamedTuple):
    """The step with one algorithm for all buckets and another cap; None: the algorithm cannot run."""

    algorithm: str
    cap_nbytes: int
    buckets: int
    step_s: float | None


def buckets_of(setup: Setup) -> list[Bucket]:
    """What is sent in one all-reduce each; of Horovod where all gradients are ready at once."""
    if isinstance(setup.packing, Caps):
        return ddp_buckets(setup.model, setup.packing, setup.stage, setup.dtype)
    return fuse(_tensors(setup), setup.packing.buffer_nbytes)


def _tensors(setup: Setup) -> list[tuple[int, int, str]]:
    """(index, bytes, type) of the gradients in the order in which they become ready."""
    gradients = setup.model.gradients
    return [
        (index, gradients[index].nbytes(setup.dtype), gradients[index].dtype or setup.dtype)
        for index in setup.model.ready_order
    ]


def time_line(setup: Setup, cost: Callable[[int], float]) -> TimeLine:
    """The events of the step where an all-reduce of n bytes takes `cost(n)` seconds."""
    phases = phases_of(setup.compute_s, setup.backward_share, setup.accumulate)
    backward = phases[-1]
    shares = ready_shares(setup.model, setup.proxy_used, setup.dtype)
    ready = ready_times(shares, backward)
    if isinstance(setup.packing, Caps):
        earliest = 0.0 if setup.overlapped else backward.end_s
        return TimeLine(phases, in_order(buckets_of(setup), ready, cost, earliest))
    tensors = _tensors(setup)
    if not setup.overlapped:
        ready = [backward.end_s] * len(ready)
    fused = fused_transfers(tensors, [ready[index] for index, _, _ in tensors], setup.packing, cost)
    return TimeLine(
        phases, tuple(Transfer(one.bucket.nbytes, *one[1:], tensors=len(one.bucket.gradients)) for one in fused)
    )


def outcome(setup: Setup, costs: Costs, ranks: int, algorithm: str = FASTEST) -> Outcome:
    """The step on `ranks`. Raises CostError, MachineError where an all-reduce has no time."""
    known: dict[int, tuple[str, float]] = {}

    def cost(nbytes: int) -> float:
        if nbytes not in known:
            known[nbytes] = choose(costs, ranks, nbytes, algorithm)
        return known[nbytes][1]

    line = time_line(setup, cost)
    named = [transfer._replace(algorithm=known[transfer.nbytes][0] if ranks > 1 else "") for transfer in line.transfers]
    frequent = sorted({one.algorithm for one in named}, key=[one.algorithm for one in named].count, reverse=True)
    compute_alone_s = setup.compute_s * setup.accumulate
    return Outcome(ranks, line._replace(transfers=tuple(named)), tuple(filter(None, frequent)), compute_alone_s)


def variants(setup: Setup, costs: Costs, ranks: int, caps_nbytes: Sequence[int]) -> Iterable[Variant]:
    """The step with each algorithm and each cap (of the fusion buffer with Horovod), the fastest choice first."""
    for algorithm in (FASTEST, *costs.algorithms) if len(costs.algorithms) > 1 else costs.algorithms:
        for cap in caps_nbytes:
            changed = setup._replace(packing=_with_cap(setup, cap))
            line = _line_of(changed, costs, ranks, algorithm)
            buckets = len(line.transfers) if line else len(buckets_of(changed))
            yield Variant(algorithm, cap, buckets, line.step_s if line else None)


def _line_of(setup: Setup, costs: Costs, ranks: int, algorithm: str) -> TimeLine | None:
    """None: the algorithm cannot run."""
    if algorithm != FASTEST and costs.time_s(algorithm, ranks, setup.model.nbytes(setup.dtype)) is None:
        return None
    return outcome(setup, costs, ranks, algorithm).time_line


def _with_cap(setup: Setup, cap_nbytes: int) -> Caps | Fusion:
    """The cap of all buckets but the first, which keeps its own unless one bucket holds all gradients."""
    if isinstance(setup.packing, Fusion):
        return setup.packing._replace(buffer_nbytes=cap_nbytes)
    whole = cap_nbytes >= setup.model.nbytes(setup.dtype)
    first = cap_nbytes if whole else min(setup.packing.limits[0], cap_nbytes)
    return setup.packing._replace(cap_nbytes=cap_nbytes, first_nbytes=first)


def tried_caps(setup: Setup) -> list[int]:
    """The caps that `variants` is asked about: TRIED_CAPS below the length of all gradients, the step's own, all."""
    whole = setup.model.nbytes(setup.dtype)
    own = setup.packing.limits[1] if isinstance(setup.packing, Caps) else setup.packing.buffer_nbytes
    tried = {max(1, int(cap * setup.model.scale)) for cap in TRIED_CAPS}
    return sorted({cap for cap in (*tried, own) if cap < whole} | {whole})
