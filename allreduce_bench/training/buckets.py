"""Packing of gradients into all-reduces: buckets of PyTorch's DistributedDataParallel.

DDP (Li et al., VLDB 13(12), 2020): the rules are those of `compute_bucket_assignment_by_size` and
`Reducer::rebuild_buckets` in torch's reducer.cpp, and of `_ddp_init_helper` in torch/nn/parallel/distributed.py. A
bucket is closed as soon as its bytes reach the cap, so that it may be longer. The buckets of the first step come from
the order of registration; after it they are rebuilt, once, in the order in which gradients became ready.
"""

from collections.abc import Sequence
from typing import NamedTuple

from .tensors import DEFAULT_DTYPE, Model

# Caps, stages, and versions of PyTorch whose rules differ
MIB = 1 << 20
FIRST_CAP_NBYTES, CAP_NBYTES = 1 * MIB, 25 * MIB
FIRST, REBUILT = "first", "rebuilt"
ONE_BUCKET_SINCE, OWN_FIRST_CAP_SINCE = (1, 12), (2, 4)  # pull requests 72843 (2022) and 121640 (2024) of pytorch
NEWEST = (2, 13)  # the version whose source was read last


class Bucket(NamedTuple):
    """The gradients of one all-reduce, by their index in the model, of one type."""

    gradients: tuple[int, ...]
    size_bytes: int
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
    for place, (size_bytes, dtype) in enumerate(sizes):
        open_buckets.setdefault(dtype, []).append(place if indices is None else indices[place])
        lengths[dtype] = lengths.get(dtype, 0) + size_bytes
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
    sizes = [(gradient.size_bytes(dtype), gradient.dtype or dtype) for gradient in model.gradients]
    if stage == REBUILT and not caps.finds_unused:
        order = model.ready_order
        return [_bucket(members, sizes) for members in assign_by_size([sizes[i] for i in order], caps.limits, order)]
    whole = not caps.finds_unused and caps.torch >= ONE_BUCKET_SINCE
    limits = [sum(size_bytes for size_bytes, _ in sizes) + 1] if whole else caps.limits
    return [_bucket(members, sizes) for members in reversed(assign_by_size(sizes, limits))]


def _bucket(members: tuple[int, ...], sizes: Sequence[tuple[int, str]]) -> Bucket:
    return Bucket(members, sum(sizes[index][0] for index in members), sizes[members[0]][1])
