"""Packing of gradients into all-reduces: buckets of PyTorch's DistributedDataParallel.

DDP (Li et al., VLDB 13(12), 2020): the rules are those of `compute_bucket_assignment_by_size` and
`Reducer::rebuild_buckets` in torch's reducer.cpp, and of `_ddp_init_helper` in torch/nn/parallel/distributed.py, as of
torch 2.13. A bucket is closed as soon as its bytes reach the cap, so that it may be longer. The first step has one
bucket for each type; after it they are rebuilt, once, in the order in which gradients became ready.
"""

from collections.abc import Sequence
from typing import NamedTuple

from .tensors import DEFAULT_DTYPE, Model

MIB = 1 << 20
TORCH = "2.13"  # the version of the rules


class Bucket(NamedTuple):
    """The gradients of one all-reduce, by their index in the model, of one type."""

    gradients: tuple[int, ...]
    size_bytes: int
    dtype: str = DEFAULT_DTYPE


class Caps(NamedTuple):
    """The caps of the first bucket and of the others, bytes; a cap of one's own is for the first, too."""

    first_nbytes: int = MIB
    cap_nbytes: int = 25 * MIB


BY_DEFAULT = Caps()


def assign_by_size(
    sizes: Sequence[tuple[int, str]], limits: Sequence[int], indices: Sequence[int] | None = None
) -> list[tuple[int, ...]]:
    """Return the indices of tensors, given as (bytes, type), in buckets of one type each.

    A type's first bucket is closed at the first limit, its second at the second, all further ones at the last. Without
    `indices` the buckets are sorted by their least index; with them, which replace the places in `sizes`, they stay in
    the order in which they were closed. If buckets of several types stay open, torch has them in the order of a hash
    table; here in the order of their first tensors.
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


def ddp_buckets(model: Model, caps: Caps = BY_DEFAULT, dtype: str = DEFAULT_DTYPE) -> list[Bucket]:
    """Return the buckets from the second step on, in the order in which they are reduced."""
    sizes = [(gradient.size_bytes(dtype), gradient.dtype or dtype) for gradient in model.gradients]
    order = model.ready_order
    return [_bucket(members, sizes) for members in assign_by_size([sizes[i] for i in order], caps, order)]


def _bucket(members: tuple[int, ...], sizes: Sequence[tuple[int, str]]) -> Bucket:
    return Bucket(members, sum(sizes[index][0] for index in members), sizes[members[0]][1])
