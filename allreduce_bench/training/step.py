"""A training step on ranks: its buckets and time line; tensor parallelism as in Megatron-LM.

Shoeybi et al., "Megatron-LM: training multi-billion parameter language models using model parallelism",
arXiv:1909.08053, 2019, section 3: ranks of a group divide the matrices of each layer, and add activations. Each layer
has two blocks, attention and a feed-forward network. A block divides its first matrix by columns and its last one by
rows, so that the ranks add its output in the forward pass, and the gradient of its input in the backward pass: four
all-reduces of batch x sequence x hidden elements a layer, for which the computation stops. The all-reduces of the
embedding and of the loss are not counted.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from math import ceil
from typing import Annotated, NamedTuple

from ..runs.dtypes import DTYPES
from ..runs.typed_json import NotNegative, Positive
from .buckets import BY_DEFAULT, MIB, REBUILT, Bucket, Caps, Fusion, ddp_buckets, fused_buckets, fused_transfers
from .cost import FASTEST, Choice, CostError, Costs, any_lower_bound, choose, doubts_of
from .tensors import DEFAULT_DTYPE, Model, ModelError
from .time_line import (
    BACKWARD,
    BACKWARD_SHARE,
    FLOPS,
    FORWARD,
    Phase,
    TimeLine,
    Transfer,
    in_order,
    phases_of,
    ready_shares,
    ready_times,
)


class TensorParallel(NamedTuple):
    """The all-reduces of activations within a group of ranks."""

    groups: str  # as `runs.groups` writes them
    ranks: int  # of a group
    parts: str  # what an all-reduce carries, in words: `8 x 1024 x 768 elements`
    elements: int  # of an all-reduce
    forward: tuple[float, ...]  # the shares of a forward pass after which they come, ascending
    backward: tuple[float, ...]
    first: tuple[int, ...]  # the first matrix of each block, whose gradient comes before the block's all-reduce

    def stops_before(self, gradient: int) -> int:
        """Return how often a backward pass has stopped until this gradient is ready; gradients come backwards."""
        return len(self.first) - bisect_right(self.first, gradient)

    @property
    def calls(self) -> int:
        """Number of all-reduces of a forward and a backward pass."""
        return len(self.forward) + len(self.backward)

    def nbytes(self, dtype: str = DEFAULT_DTYPE) -> int:
        """Return the bytes of an all-reduce of activations of this type."""
        return self.elements * DTYPES[dtype]

    def shares(self, kind: str) -> tuple[float, ...]:
        """Return the shares of a phase."""
        return {FORWARD: self.forward, BACKWARD: self.backward}[kind]


class Divided(NamedTuple):
    """The part of a model on a rank of a group, and the group's all-reduces."""

    model: Model
    tensor: TensorParallel


def divide(model: Model, groups: str, ranks: int, batch: int, proxy: str, scale: float = 1.0) -> Divided:
    """Divide `model` among groups of `ranks`, `batch` samples each; `proxy` as for the gradients. Raises ModelError.

    `scale` multiplies the elements of the part and of the activations.
    """
    if model.transformer is None:
        raise ModelError("training.groups_no_transformer_layers", model=model.title)
    part, blocks = model.divided(ranks).scaled(scale), model.transformer
    shares = ready_shares(part, proxy)
    elements = ceil(batch * blocks.tokens * blocks.hidden * scale)
    forward = tuple(1 - shares[index + 1] for index in blocks.last)  # what follows is what the backward pass has done
    backward = tuple(shares[index] for index in reversed(blocks.first))
    words = f"{batch} x {blocks.tokens} x {blocks.hidden} elements"
    return Divided(part, TensorParallel(groups, ranks, words, elements, forward, backward, blocks.first))


class Stalled(NamedTuple):
    """A step whose computation stops for all-reduces, and when its gradients are ready, seconds."""

    phases: tuple[Phase, ...]
    transfers: tuple[Transfer, ...]
    ready_s: tuple[float, ...]


def stalled(phases: Sequence[Phase], tensor: TensorParallel, one: Transfer, shares: Sequence[float]) -> Stalled:
    """Return the phases cut where the ranks of a group add activations, which takes as long as `one`.

    `shares` are those of the last backward pass after which the gradients are ready, by their index.
    """
    pieces: list[Phase] = []
    transfers: list[Transfer] = []
    now = begin = 0.0
    for phase in phases:
        length, done, begin = phase.end_s - phase.start_s, 0.0, now
        for share in tensor.shares(phase.kind):
            pieces.append(Phase(phase.kind, now, now + (share - done) * length))
            start, done = pieces[-1].end_s, share
            now = start + one.end_s - one.start_s
            transfers.append(one._replace(ready_s=start, start_s=start, end_s=now))
        pieces.append(Phase(phase.kind, now, now + (1 - done) * length))
        now = pieces[-1].end_s
    last, time_s = phases[-1], one.end_s - one.start_s
    length = last.end_s - last.start_s
    stops = map(tensor.stops_before, range(len(shares)))
    ready = [begin + share * length + number * time_s for share, number in zip(shares, stops)]
    return Stalled(tuple(pieces), tuple(transfers), tuple(ready))


# A training step as a whole: its buckets, its time line on each number of ranks, and variants


NOTHING = Choice("", 0.0)  # where nothing is sent
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
    tensor: TensorParallel | None = None  # the ranks of a group divide the model; `model` is the part of a rank

    def data_ranks(self, ranks: int) -> int:
        """Return how many of `ranks` average one gradient: one of each tensor-parallel group."""
        return ranks // self.tensor.ranks if self.tensor else ranks

    @property
    def buffer_nbytes(self) -> int | None:
        """Horovod's fusion buffer; None: DDP has none."""
        return self.packing.buffer_nbytes if isinstance(self.packing, Fusion) else None

    @property
    def proxy_used(self) -> str:
        """The proxy of ready times: bytes where the operations of the model are unknown."""
        return self.proxy if self.model.flops else "bytes"


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

    algorithm: Annotated[str, "of all buckets; fastest: for each bucket the one that is fastest at its size"]
    cap_nbytes: Annotated[Positive, "cap of a bucket, or length of the fusion buffer; unit: bytes"]
    buckets: Annotated[Positive, "all-reduces of a step"]
    step_s: Annotated[
        NotNegative | None,
        "the step on the largest number of ranks; null: the algorithm cannot run, or nothing tells its time; unit: s",
    ]
    is_lower_bound: Annotated[bool, "as in steps"] = False


def buckets_of(setup: Setup) -> list[Bucket]:
    """Return the all-reduces of the step; with Horovod as if all gradients were ready at once."""
    if isinstance(setup.packing, Caps):
        return ddp_buckets(setup.model, setup.packing, setup.stage, setup.dtype)
    return fused_buckets(_tensors(setup), setup.packing.buffer_nbytes)


def _tensors(setup: Setup) -> list[tuple[int, int, str]]:
    """Return (index, bytes, type) of the gradients in order of readiness."""
    gradients = setup.model.gradients
    return [
        (index, gradients[index].nbytes(setup.dtype), gradients[index].dtype or setup.dtype)
        for index in setup.model.ready_order
    ]


def time_line(setup: Setup, cost: Callable[[int], float], activations: Choice = NOTHING) -> TimeLine:
    """Return the events of the step if an all-reduce of n bytes of gradients takes `cost(n)` seconds.

    `activations`: algorithm and time of those of tensor parallelism, if any.
    """
    phases = phases_of(setup.compute_s, setup.backward_share, setup.accumulate)
    shares = ready_shares(setup.model, setup.proxy_used, setup.dtype)
    ready: Sequence[float] = ready_times(shares, phases[-1])
    within: tuple[Transfer, ...] = ()
    if setup.tensor:
        one = Transfer(setup.tensor.nbytes(setup.dtype), 0.0, 0.0, activations.time_s, 1, activations.algorithm)
        phases, within, ready = stalled(phases, setup.tensor, one, shares)
    end = phases[-1].end_s
    if isinstance(setup.packing, Caps):
        return TimeLine(phases, in_order(buckets_of(setup), ready, cost, 0.0 if setup.overlapped else end), within)
    tensors = _tensors(setup)
    if not setup.overlapped:
        ready = [end] * len(ready)
    fused = fused_transfers(tensors, [ready[index] for index, _, _ in tensors], setup.packing, cost)
    sent = tuple(Transfer(one.bucket.nbytes, *one[1:], tensors=len(one.bucket.gradients)) for one in fused)
    return TimeLine(phases, sent, within)


def outcome(setup: Setup, costs: Costs, ranks: int, algorithm: str = FASTEST, within: Costs | None = None) -> Outcome:
    """Return the step on `ranks`. Raises CostError, MachineError if an all-reduce has no time.

    `within`: costs of all-reduces in a tensor-parallel group; None: as all others.
    """
    known: dict[int, Choice] = {}
    number = setup.data_ranks(ranks)

    def cost(nbytes: int) -> float:
        if nbytes not in known:
            known[nbytes] = choose(costs, number, nbytes, algorithm)
        return known[nbytes].time_s

    tensor, activations = setup.tensor, NOTHING
    if tensor:
        activations = choose(within or costs, tensor.ranks, tensor.nbytes(setup.dtype), algorithm)
    line = time_line(setup, cost, activations)
    named = [one._replace(algorithm=known[one.nbytes].algorithm if number > 1 else "") for one in line.transfers]
    frequent = sorted({one.algorithm for one in named}, key=[one.algorithm for one in named].count, reverse=True)
    compute_alone_s = setup.compute_s * setup.accumulate
    doubts = doubts_of(costs, number, tuple(named))
    doubts += doubts_of(within or costs, tensor.ranks, line.tensor_transfers) if tensor else ()
    is_lower_bound = any_lower_bound(costs, number, tuple(named))
    if tensor:
        is_lower_bound |= any_lower_bound(within or costs, tensor.ranks, line.tensor_transfers)
    line = line._replace(transfers=tuple(named))
    return Outcome(ranks, line, tuple(filter(None, frequent)), compute_alone_s, doubts, is_lower_bound)


def variants(
    setup: Setup, costs: Costs, ranks: int, caps_nbytes: Sequence[int], within: Costs | None = None
) -> Iterable[Variant]:
    """Yield the step with each algorithm and each cap (of the fusion buffer with Horovod), the fastest choice first.

    `within` as for `outcome`.
    """
    for algorithm in (FASTEST, *costs.algorithms) if len(costs.algorithms) > 1 else costs.algorithms:
        for cap in caps_nbytes:
            changed = setup._replace(packing=_with_cap(setup, cap))
            found = _outcome_of(changed, costs, ranks, algorithm, within or costs)
            if found is None:
                yield Variant(algorithm, cap, len(buckets_of(changed)), None)
                continue
            line = found.time_line
            yield Variant(algorithm, cap, len(line.transfers), line.step_s, found.is_lower_bound)


def _outcome_of(setup: Setup, costs: Costs, ranks: int, algorithm: str, within: Costs) -> Outcome | None:
    """Return the outcome; None: the algorithm cannot run, or its time is unknown."""
    try:
        return outcome(setup, costs, ranks, algorithm, within)
    except CostError:
        return None


def _with_cap(setup: Setup, cap_nbytes: int) -> Caps | Fusion:
    """Return the cap of all buckets but the first, which keeps its own unless one bucket holds all gradients."""
    if isinstance(setup.packing, Fusion):
        return setup.packing._replace(buffer_nbytes=cap_nbytes)
    whole = cap_nbytes >= setup.model.nbytes(setup.dtype)
    first = cap_nbytes if whole else min(setup.packing.limits[0], cap_nbytes)
    return setup.packing._replace(cap_nbytes=cap_nbytes, first_nbytes=first)


def tried_caps(setup: Setup) -> list[int]:
    """Return the caps for `variants`: TRIED_CAPS below the length of all gradients, the step's own, all."""
    whole = setup.model.nbytes(setup.dtype)
    own = setup.packing.limits[1] if isinstance(setup.packing, Caps) else setup.packing.buffer_nbytes
    tried = {max(1, int(cap * setup.model.scale)) for cap in TRIED_CAPS}
    return sorted({cap for cap in (*tried, own) if cap < whole} | {whole})
