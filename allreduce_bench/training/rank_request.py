"""What ranks are asked to measure, as values: see `measuring.step_request`."""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import inf
from typing import Any

from ..runs.dtypes import DTYPES
from .buckets import Bucket
from .call_file import Call, CallError
from .fusion import Fusion
from .measuring.step_request import BUCKET, TENSOR
from .step import Setup, buckets_of
from .time_line import COMPUTE, phases_of, ready_shares


def handed_over(setup: Setup) -> list[Bucket]:
    """What a step hands over in turn: the buckets of DDP; each gradient by itself with Horovod, which fuses later."""
    if not isinstance(setup.packing, Fusion):
        return buckets_of(setup)
    gradients = setup.model.gradients
    return [
        Bucket((index,), gradients[index].nbytes(setup.dtype), gradients[index].dtype or setup.dtype)
        for index in setup.model.ready_order
    ]


def step_request(setup: Setup) -> dict[str, Any]:
    """The computation of a step, and what it hands over.

    Raises ValueError for gradients of several types or of integers.
    """
    buckets = handed_over(setup)
    dtype = _one_type((bucket.dtype for bucket in buckets), "gradients")
    if dtype.startswith("int"):
        raise ValueError(f"gradients of {dtype} have no average; measure --dtype float32")
    counts = [sum(setup.model.gradients[index].elements for index in bucket.gradients) for bucket in buckets]
    asked = {"counts": counts, "actions": _actions(setup, buckets), "dtype": dtype}
    if isinstance(setup.packing, Fusion):
        asked |= {**setup.packing._asdict(), "alone": [nbytes // DTYPES[dtype] for nbytes in alone_nbytes(setup)]}
    tensor = setup.tensor
    return {**asked, "groups": tensor.groups, "tensor_count": tensor.elements} if tensor else asked


def alone_nbytes(setup: Setup) -> list[int]:
    """The lengths of what is all-reduced alone: each bucket; with Horovod lengths between which times are interpolated.

    These go in steps of 2 from the shortest gradient to the longest all-reduce that fusion can make. Gradients have one
    type.
    """
    lengths = [bucket.nbytes for bucket in handed_over(setup)]
    if not isinstance(setup.packing, Fusion):
        return lengths
    itemsize = DTYPES[setup.model.gradients[0].dtype or setup.dtype]
    fitting = setup.packing.buffer_nbytes // itemsize * itemsize
    least, most = min(lengths), max(max(lengths), min(sum(lengths), fitting))
    return [*(least << rung for rung in range(most.bit_length()) if least << rung < most), most]


def calls_request(calls: Sequence[Call], dtype: str) -> dict[str, Any]:
    """Recorded calls: each gap is computed, then the call blocks. `dtype` is that of calls that name none.

    Raises ValueError for calls of several types, CallError for one that is no whole number of elements.
    """
    dtype = _one_type((call.dtype or dtype for call in calls), "calls")
    itemsize = DTYPES[dtype]
    for number, call in enumerate(calls, 1):
        if call.nbytes % itemsize or not call.nbytes:
            raise CallError(
                f"call {number}: expected a positive whole number of {dtype} elements of {itemsize} bytes, found "
                f"{call.nbytes} bytes; name another --dtype, or leave the call out"
            )
    actions = [action for call in calls for action in ((COMPUTE, call.gap_s), (BUCKET, 0.0)) if action != (COMPUTE, 0)]
    return {"counts": [call.nbytes // itemsize for call in calls], "actions": actions, "dtype": dtype, "op": "sum"}


def _one_type(dtypes: Iterable[str], what: str) -> str:
    """Raises ValueError."""
    found = sorted({*dtypes})
    if len(found) > 1:
        raise ValueError(f"{what} of several types ({', '.join(found)}) are modelled only; leave out --measure")
    return found[0]


def _actions(setup: Setup, buckets: Sequence[Bucket]) -> list[tuple[str, float]]:
    """What a rank does one after the other: computes for so many seconds, hands a bucket over, adds activations."""
    tensor = setup.tensor
    phases = phases_of(setup.compute_s, setup.backward_share, setup.accumulate)
    actions: list[tuple[str, float]] = []
    for phase in phases:
        stops = enumerate(tensor.shares(phase.kind) if tensor else ())
        events = [(share, 2 * number + 1.0, TENSOR) for number, share in stops]  # odd: between buckets of one share
        events += [(*when, BUCKET) for when in _moments(setup, buckets)] if phase is phases[-1] else []
        done = 0.0
        for share, _, what in [*sorted(events), (1.0, 0, "")]:
            if share > done:
                actions.append((phase.kind, (share - done) * (phase.end_s - phase.start_s)))
            actions += [(what, 0.0)] if what else []
            done = share
    return actions


def _moments(setup: Setup, buckets: Sequence[Bucket]) -> list[tuple[float, float]]:
    """When each bucket is handed over: the share of the backward pass, and its place among what has the same share.

    Horovod's cycles run all the time: where all-reduces are to begin behind the backward pass, all gradients are handed
    over there.
    """
    if isinstance(setup.packing, Fusion) and not setup.overlapped:
        return [(1.0, inf)] * len(buckets)
    shares, tensor = ready_shares(setup.model, setup.proxy_used, setup.dtype), setup.tensor
    ready = [(share, 2.0 * tensor.stops_before(index) if tensor else 0.0) for index, share in enumerate(shares)]
    return [*accumulate((max(ready[index] for index in bucket.gradients) for bucket in buckets), max)]
