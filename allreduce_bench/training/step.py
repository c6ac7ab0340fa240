"""A training step on ranks: its buckets, its time line on each number of ranks, and variants."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import NamedTuple

from .buckets import BY_DEFAULT, MIB, Bucket, Caps, ddp_buckets
from .cost import FASTEST, CostError, Costs, any_lower_bound, choose, doubts_of
from .tensors import DEFAULT_DTYPE, Model
from .time_line import BACKWARD_SHARE, BYTES, FLOPS, TimeLine, line_up, phases_of, ready_shares, ready_times

TRIED_CAPS = (1 * MIB, 5 * MIB, 25 * MIB, 100 * MIB)


class Setup(NamedTuple):
    """A step of one rank: a forward and a backward pass, and all-reduces beside it."""

    model: Model
    compute_s: float  # of both passes
    packing: Caps = BY_DEFAULT
    dtype: str = DEFAULT_DTYPE
    backward_share: float = BACKWARD_SHARE

    @property
    def proxy_used(self) -> str:
        """The proxy of ready times: bytes where the operations of the model are unknown."""
        return FLOPS if self.model.flops else BYTES


class Outcome(NamedTuple):
    """The step on a number of ranks."""

    ranks: int
    time_line: TimeLine
    algorithms: tuple[str, ...]  # that its buckets use, the most frequent first
    compute_alone_s: float
    doubts: tuple[str, ...] = ()  # why times of its all-reduces are speculative, beginnings of sentences
    is_lower_bound: bool = False  # the time of an all-reduce, and so of the step, is only a lower bound

    @property
    def efficiency(self) -> float:
        """Weak scaling efficiency: the step of one rank, which sends nothing, over this one."""
        return self.compute_alone_s / self.time_line.step_s


class Variant(NamedTuple):
    """The step with one algorithm for all buckets and another cap; None: the algorithm cannot run.

    `is_lower_bound` as of an Outcome.
    """

    algorithm: str  # of all buckets; fastest: for each bucket the one that is fastest at its size
    cap_nbytes: int
    buckets: int  # all-reduces of a step
    # the step on the largest number of ranks; None: the algorithm cannot run, or nothing tells its time
    step_s: float | None
    is_lower_bound: bool = False


def buckets_of(setup: Setup) -> list[Bucket]:
    """Return the all-reduces of the step."""
    return ddp_buckets(setup.model, setup.packing, setup.dtype)


def time_line(setup: Setup, cost: Callable[[int], float]) -> TimeLine:
    """Return the events of the step if an all-reduce of n bytes takes `cost(n)` seconds."""
    phases = phases_of(setup.compute_s, setup.backward_share)
    ready = ready_times(ready_shares(setup.model, setup.proxy_used, setup.dtype), phases[-1])
    return TimeLine(phases, line_up(buckets_of(setup), ready, cost))


def outcome(setup: Setup, costs: Costs, ranks: int, algorithm: str = FASTEST) -> Outcome:
    """Return the step on `ranks`. Raises CostError, MachineError if an all-reduce has no time."""
    choice_of = cache(partial(choose, costs, ranks, algorithm=algorithm))
    line = time_line(setup, lambda size_bytes: choice_of(size_bytes).time_s)
    names = [choice_of(one.size_bytes).algorithm if ranks > 1 else "" for one in line.transfers]
    named = tuple(one._replace(algorithm=name) for one, name in zip(line.transfers, names))
    frequent = sorted({*names}, key=names.count, reverse=True)
    doubts, is_lower_bound = doubts_of(costs, ranks, named), any_lower_bound(costs, ranks, named)
    line = line._replace(transfers=named)
    return Outcome(ranks, line, tuple(filter(None, frequent)), setup.compute_s, doubts, is_lower_bound)


def variants(setup: Setup, costs: Costs, ranks: int, caps_nbytes: Sequence[int]) -> Iterable[Variant]:
    """Yield the step with each algorithm and each cap, the fastest choice first."""
    for algorithm in (FASTEST, *costs.algorithms) if len(costs.algorithms) > 1 else costs.algorithms:
        for cap in caps_nbytes:
            changed = setup._replace(packing=_cap_packing(setup, cap))
            step_s, is_lower_bound = None, False
            with suppress(CostError):  # it cannot run, or nothing tells its time
                found = outcome(changed, costs, ranks, algorithm)
                step_s, is_lower_bound = found.time_line.step_s, found.is_lower_bound
            yield Variant(algorithm, cap, len(buckets_of(changed)), step_s, is_lower_bound)


def _cap_packing(setup: Setup, cap_nbytes: int) -> Caps:
    """Return the cap of all buckets but the first, which keeps its own unless one bucket holds all gradients."""
    whole = cap_nbytes >= setup.model.size_bytes(setup.dtype)
    return Caps(cap_nbytes if whole else min(setup.packing.first_nbytes, cap_nbytes), cap_nbytes)


def tried_caps(setup: Setup) -> list[int]:
    """Return the caps for `variants`: TRIED_CAPS below the length of all gradients, the step's own, all."""
    whole = setup.model.size_bytes(setup.dtype)
    tried = {max(1, int(cap * setup.model.scale)) for cap in TRIED_CAPS}
    return sorted({cap for cap in (*tried, setup.packing.cap_nbytes) if cap < whole} | {whole})
