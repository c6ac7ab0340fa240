"""Gradients in fused all-reduces, as Horovod makes them (Sergeev and Del Balso, arXiv:1802.05799, 2018).

The rules are those of the background loop in Horovod's operations.cc: each cycle takes the gradients that are ready on
all ranks, and fuses them by the rule that measured ranks have, too (`measuring.step_fusion`).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .buckets import MIB, Bucket
from .measuring.step_fusion import fuse

FUSION_NBYTES, CYCLE_S = 128 * MIB, 1e-3  # since 0.22; before: 64 MiB, 5 ms


class Fusion(NamedTuple):
    """HOROVOD_FUSION_THRESHOLD, bytes, and HOROVOD_CYCLE_TIME, seconds."""

    buffer_nbytes: int = FUSION_NBYTES
    cycle_s: float = CYCLE_S


class Fused(NamedTuple):
    """A fused all-reduce and when it runs, seconds from the beginning of the step."""

    bucket: Bucket
    ready_s: float
    start_s: float
    end_s: float


def fused_buckets(tensors: Sequence[tuple[int, int, str]], buffer_nbytes: int) -> list[Bucket]:
    """The buckets of tensors, given as (index, bytes, type), that one cycle has found ready."""
    known = {index: (nbytes, dtype) for index, nbytes, dtype in tensors}
    return [
        Bucket(members, sum(known[index][0] for index in members), known[members[0]][1])
        for members in fuse(tensors, buffer_nbytes)
    ]


def fused_transfers(
    tensors: Sequence[tuple[int, int, str]], ready_s: Sequence[float], fusion: Fusion, cost: Callable[[int], float]
) -> list[Fused]:
    """The all-reduces of a step whose tensor i, given as (index, bytes, type), is ready at `ready_s[i]`, ascending.

    A cycle begins `cycle_s` after the former one did, or when its all-reduces have ended; they run one by one.
    `cost(bytes)` is the time of one, seconds.
    """
    fused: list[Fused] = []
    taken, cycle, now = 0, 0.0, 0.0
    while taken < len(tensors):
        if ready_s[taken] > cycle:  # cycles without a tensor pass
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
