"""Packing of gradients into all-reduces: buckets of PyTorch's DistributedDataParallel, or fusion by Horovod.

DDP (Li et al., VLDB 13(12), 2020): the rules are those of `compute_bucket_assignment_by_size` and
`Reducer::rebuild_buckets` in torch's reducer.cpp, and of `_ddp_init_helper` in torch/nn/parallel/distributed.py. A
bucket is closed as soon as its bytes reach the cap, so that it may be longer. The buckets of the first step come from
the order of registration; after it they are rebuilt, once, in the order in which gradients became ready.

Horovod (Sergeev and Del Balso, arXiv:1802.05799, 2018): the rules are those of the background loop in its
operations.cc. Each cycle takes the gradients that are ready on all ranks, and fuses them by the rule that measured
ranks share (`measuring.request.fuse`).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .measuring.request import fuse
from .tensors import DEFAULT_DTYPE, Model

# DDP: caps, stages, and versions of PyTorch whose rules differ
MIB = 1 << 20
FIRST_CAP_NBYTES, CAP_NBYTES = 1 * MIB, 25 * MIB
FIRST, REBUILT = "first", "rebuilt"
ONE_BUCKET_SINCE, OWN_FIRST_CAP_SINCE = (1, 12), (2, 4)  # pull requests 72843 (2022) and 121640 (2024) of pytorch
NEWEST = (2, 13)  # the version whose source was read last

# Horovod's defaults
FUSION_NBYTES, CYCLE_S = 128 * MIB, 1e-3  # since 0.22; before: 64 MiB, 5 ms


class Bucket(NamedTuple):
    """The gradients of one all-reduce, by their index in the model, of one type."""

    gradients: tuple[int, ...]
    nbytes: int
    dtype: str = DEFAULT_DTYPE


class Caps(NamedTuple):
    """The caps of buckets, bytes, and the version of the rules; None: the version's default."""

    cap_nbytes: int | None = None
    first_nbytes: int | None = None
    torch: tuple[int, int] = NEWEST
    finds_unused: bool = False  # DistributedDataParallel(find_unused_parameters=True)

    @property
    def limits(self) -> tuple[int, int]:
        """Caps of the first bucket and of the others."""
        cap = self.cap_nbytes or CAP_NBYTES
        follows = self.cap_nbytes is not None and self.torch >= OWN_FIRST_CAP_SINCE
        return self.first_nbytes or (cap if follows else FIRST_CAP_NBYTES), cap


def assign_by_size(
    sizes: Sequence[tuple[int, str]], limits: Sequence[int], indices: Sequence[int] | None = None
) -> list[tuple[int, ...]]:
    """Return the indices of tensors, given as (bytes, type), in buckets of one type each.

    A type's first bucket is closed at the first limit, its second at the second, all further ones at the last. Without
    `indices` the buckets are sorted by their least index; with them, which replace the places in `sizes`, they stay in
    the order in which they were closed. If buckets of several types stay open, torch has them in the order of a hash
    table; here in that of their first tensors.
    """
    open_buckets: dict[str, list[int]] = {}
    lengths: dict[str, int] = {}
    closed: list[tuple[int, ...]] = []
    number_of: dict[str, int] = {}  # closed buckets by type
    for place, (nbytes, dtype) in enumerate(sizes):
        open_buckets.setdefault(dtype, []).append(place if indices is None else indices[place])
        lengths[dtype] = lengths.get(dtype, 0) + nbytes
        number = number_of.get(dtype, 0)
        if lengths[dtype] >= limits[min(number, len(limits) - 1)]:
            closed.append(tuple(open_buckets.pop(dtype)))
            lengths[dtype], number_of[dtype] = 0, number + 1
    closed += map(tuple, open_buckets.values())
    return closed if indices is not None else sorted(closed, key=min)


BY_DEFAULT = Caps()


def ddp_buckets(
    model: Model, caps: Caps = BY_DEFAULT, stage: str = REBUILT, dtype: str = DEFAULT_DTYPE
) -> list[Bucket]:
    """Return the buckets of a stage, FIRST or REBUILT, in the order in which they are reduced.

    From torch 1.12 on the first step has one bucket for each type; with `finds_unused` it has the capped ones of the
    order of registration, and nothing is rebuilt.
    """
    sizes = [(gradient.nbytes(dtype), gradient.dtype or dtype) for gradient in model.gradients]
    if stage == REBUILT and not caps.finds_unused:
        order = model.ready_order
        return [_bucket(members, sizes) for members in assign_by_size([sizes[i] for i in order], caps.limits, order)]
    whole = not caps.finds_unused and caps.torch >= ONE_BUCKET_SINCE
    limits = [sum(nbytes for nbytes, _ in sizes) + 1] if whole else caps.limits
    return [_bucket(members, sizes) for members in reversed(assign_by_size(sizes, limits))]


def _bucket(members: tuple[int, ...], sizes: Sequence[tuple[int, str]]) -> Bucket:
    return Bucket(members, sum(sizes[index][0] for index in members), sizes[members[0]][1])


class Fusion(NamedTuple):
    """HOROVOD_FUSION_THRESHOLD, bytes, and HOROVOD_CYCLE_TIME, seconds."""

    buffer_nbytes: int = FUSION_NBYTES
    cycle_s: float = CYCLE_S


class Fused(NamedTuple):
    """A fused all-reduce and its times, seconds from the beginning of the step."""

    bucket: Bucket
    ready_s: float
    start_s: float
    end_s: float


def fused_buckets(tensors: Sequence[tuple[int, int, str]], buffer_nbytes: int) -> list[Bucket]:
    """Return the buckets of tensors, given as (index, bytes, type), that one cycle has found ready."""
    known = {index: (nbytes, dtype) for index, nbytes, dtype in tensors}
    return [
        Bucket(members, sum(known[index][0] for index in members), known[members[0]][1])
        for members in fuse(tensors, buffer_nbytes)
    ]


def fused_transfers(
    tensors: Sequence[tuple[int, int, str]], ready_s: Sequence[float], fusion: Fusion, cost: Callable[[int], float]
) -> list[Fused]:
    """Return the all-reduces of a step whose tensor i, given as (index, bytes, type), is ready at `ready_s[i]`,
    ascending.

    A cycle begins `cycle_s` after the former one did, or when its all-reduces have ended; they run one by one.
    `cost(bytes)` is the time of one, seconds.
    """
    fused: list[Fused] = []
    taken, cycle, now = 0, 0.0, 0.0
    while taken < len(tensors):
        if ready_s[taken] > cycle:  # skip cycles without a tensor
            cycle += -(-(ready_s[taken] - cycle) // fusion.cycle_s) * fusion.cycle_s
        now, first = cycle, taken
        while taken < len(tensors) and ready_s[taken] <= cycle:
            taken += 1
        place = {index: number for number, (index, _, _) in enumerate(tensors[first:taken], first)}
        for bucket in fused_buckets(tensors[first:taken], fusion.buffer_nbytes):
            ready = max(ready_s[place[index]] for index in bucket.gradients)
            fused.append(Fused(bucket, ready, now, now + cost(bucket.nbytes)))
            now = fused[-1].end_s
        cycle = max(cycle + fusion.cycle_s, now)
    return fused
