"""Measured steps as values: the request to ranks, their results, and the model from its parts."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from statistics import median
from typing import Any, NamedTuple

from ..runs.dtypes import DTYPES
from .buckets import Bucket
from .cost import LoggedCosts, Timed
from .input_files import Call, CallError, Recording
from .measuring.request import BUCKET
from .result import Result
from .step import Setup, buckets_of, outcome, outcome_of_calls
from .time_line import COMPUTE, Phase, TimeLine, Transfer, phases_of, ready_shares

ALONE_SOURCE = "the all-reduces alone"  # the source of the model's times, in words


def step_request(setup: Setup) -> dict[str, Any]:
    """Ask for the computation of a step, and for the buckets that it hands over.

    Raises ValueError for gradients of several types or of integers.
    """
    buckets = buckets_of(setup)
    dtype = _one_type((bucket.dtype for bucket in buckets), "gradients")
    if dtype.startswith("int"):
        raise ValueError(f"gradients of {dtype} have no average; measure --dtype float32")
    counts = [sum(setup.model.gradients[index].elements for index in bucket.gradients) for bucket in buckets]
    return {"counts": counts, "actions": _actions(setup, buckets), "dtype": dtype}


def calls_request(calls: Sequence[Call], dtype: str) -> dict[str, Any]:
    """Ask for recorded calls: each gap is computed, then the call blocks. Calls that name no type have `dtype`.

    Raises ValueError for calls of several types, CallError for one that is no whole number of elements.
    """
    dtype = _one_type((call.dtype or dtype for call in calls), "calls")
    itemsize = DTYPES[dtype]
    for number, call in enumerate(calls, 1):
        if call.size_bytes % itemsize or not call.size_bytes:
            raise CallError(
                f"call {number}: expected a positive whole number of {dtype} elements of {itemsize} bytes, found "
                f"{call.size_bytes} bytes; name another --dtype, or leave the call out"
            )
    actions = [action for call in calls for action in ((COMPUTE, call.gap_s), (BUCKET, 0.0)) if action != (COMPUTE, 0)]
    return {"counts": [call.size_bytes // itemsize for call in calls], "actions": actions, "dtype": dtype, "op": "sum"}


def _one_type(dtypes: Iterable[str], what: str) -> str:
    """Return the one type that all have. Raises ValueError where there are several."""
    found = sorted({*dtypes})
    if len(found) > 1:
        raise ValueError(f"{what} of several types ({', '.join(found)}) are modelled only; leave out --measure")
    return found[0]


def _actions(setup: Setup, buckets: Sequence[Bucket]) -> list[tuple[str, float]]:
    """List the actions of a rank in order: compute for so many seconds, hand a bucket over."""
    forward, backward = phases_of(setup.compute_s, setup.backward_share)
    actions = [(forward.kind, forward.end_s)]
    shares = ready_shares(setup.model, setup.proxy_used, setup.dtype)
    ready = accumulate((max(shares[index] for index in bucket.gradients) for bucket in buckets), max)
    done = 0.0
    for share, what in (*((share, BUCKET) for share in ready), (1.0, "")):
        if share > done:
            actions.append((backward.kind, (share - done) * (backward.end_s - backward.start_s)))
        actions += [(what, 0.0)] if what else []
        done = share
    return actions


class Measured(NamedTuple):
    """Measured steps: medians over them, of the maximum over all ranks."""

    ranks: int
    algorithm: str
    step_s: float
    compute_alone_s: float
    compute_beside_s: float  # the computation of the steps with all-reduces
    communication_alone_s: float
    alone_nbytes: tuple[int, ...]  # of what was all-reduced by itself
    alone_s: tuple[float, ...]
    steps: int
    time_line: TimeLine  # of the step whose time is the median, of the rank that took longest
    work: str  # how it computed: SPIN or SLEEP
    overlap: str  # where all-reduces ran: BLOCKING, THREAD, IALLREDUCE or BETWEEN

    @property
    def exposed_s(self) -> float:
        """Time of the step beyond the computation alone; may be negative by noise."""
        return self.step_s - self.compute_alone_s

    @property
    def overlap_share(self) -> float | None:
        """Overlap: (computation + communication - both) / the shorter one, from 0 to 1, as Intel MPI Benchmarks define
        it; None: one of them took no time.
        """
        return overlap_share(self.compute_alone_s, self.communication_alone_s, self.step_s)

    @property
    def slowdown(self) -> float | None:
        """Relative slowdown of the computation by communication beside it; None without computation."""
        return self.compute_beside_s / self.compute_alone_s - 1 if self.compute_alone_s else None


def overlap_share(compute_s: float, communication_s: float, step_s: float) -> float | None:
    """Return (compute_s + communication_s - step_s) over the shorter of the two, from 0 to 1; None: one of them is
    0.
    """
    shorter = min(compute_s, communication_s)
    return min(1.0, max(0.0, (compute_s + communication_s - step_s) / shorter)) if shorter else None


def measured_of(
    found: Mapping[str, Any], parts: Sequence[tuple[int, int]], asked: Mapping[str, Any], ranks: int
) -> Measured:
    """Return the output of rank 0 about what it was asked for; `parts`: bytes and gradients of each all-reduce.

    Recorded calls without gaps have no computation.
    """
    steps = sorted(found["steps"], key=lambda step: step["step_s"])
    middle = steps[(len(steps) - 1) // 2]
    phases = tuple(Phase(kind, start, end) for kind, start, end in middle["phases"])
    transfers = tuple(
        Transfer(size_bytes, ready, start, end, tensors, asked["competitor"])
        for (ready, start, end), (size_bytes, tensors) in zip(middle["transfers"], parts)
    )
    return Measured(
        ranks,
        asked["competitor"],
        step_s=median(step["step_s"] for step in steps),
        compute_alone_s=median(found["compute_alone_s"]) if phases else 0.0,
        compute_beside_s=median(step["compute_s"] for step in steps),
        communication_alone_s=median(sum(times) for times in found["alone_s"]),
        alone_nbytes=tuple(size_bytes for size_bytes, _ in parts),
        alone_s=tuple(median(times) for times in zip(*found["alone_s"])),
        steps=len(steps),
        time_line=TimeLine(phases, transfers),
        work=asked["work"],
        overlap=asked["overlap"],
    )


def modelled_of(measured: Measured, setup: Setup) -> Result:
    """Return the model of a measured step, from its computation alone and its all-reduces alone."""
    as_computed = setup._replace(compute_s=measured.compute_alone_s)
    modelled = outcome(as_computed, _costs(measured), measured.ranks)
    return Result(setup.model.label, ALONE_SOURCE, "", (modelled,), setup)


def modelled_calls(measured: Measured, recording: Recording) -> Result:
    """Return the model of recorded calls: each gap has its share of the computation alone."""
    gaps_s = sum(call.gap_s for call in recording.calls)
    factor = measured.compute_alone_s / gaps_s if gaps_s else 0.0
    computed = [call._replace(gap_s=call.gap_s * factor) for call in recording.calls]
    modelled = outcome_of_calls(computed, _costs(measured), measured.ranks)
    return Result(recording.title, ALONE_SOURCE, "", (modelled,))


def _costs(measured: Measured) -> LoggedCosts:
    """Return the costs of all-reduces alone."""
    timed = zip(measured.alone_nbytes, measured.alone_s)
    points = [Timed(measured.algorithm, measured.ranks, size_bytes, time_s) for size_bytes, time_s in timed]
    return LoggedCosts(points, ALONE_SOURCE)
