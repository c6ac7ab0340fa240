"""Measured steps as values: the request to ranks, their results, and the model from its parts."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from statistics import median
from typing import Any, NamedTuple

from .buckets import Bucket
from .cost import LoggedCosts, Timed
from .measuring.request import BUCKET
from .result import Result
from .step import Setup, buckets_of, outcome
from .time_line import Phase, TimeLine, Transfer, phases_of, ready_shares

ALONE_SOURCE = "the all-reduces alone"  # the source of the model's times, in words


def step_request(setup: Setup) -> dict[str, Any]:
    """Ask for the computation of a step, and for the buckets that it hands over.

    Raises ValueError for gradients of several types or of integers.
    """
    buckets = buckets_of(setup)
    dtypes = sorted({bucket.dtype for bucket in buckets})
    if len(dtypes) > 1:
        raise ValueError(f"gradients of several types ({', '.join(dtypes)}) are modelled only; leave out --measure")
    if dtypes[0].startswith("int"):
        raise ValueError(f"gradients of {dtypes[0]} have no average; measure --dtype float32")
    counts = [sum(setup.model.gradients[index].elements for index in bucket.gradients) for bucket in buckets]
    return {"counts": counts, "actions": _actions(setup, buckets), "dtype": dtypes[0]}


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

    @property
    def exposed_s(self) -> float:
        """Time of the step beyond the computation alone; may be negative by noise."""
        return self.step_s - self.compute_alone_s

    @property
    def overlap_share(self) -> float | None:
        """Share of the communication that ran beside computation, in the step of the median."""
        return self.time_line.overlap_share

    @property
    def slowdown(self) -> float:
        """Relative slowdown of the computation by communication beside it."""
        return self.compute_beside_s / self.compute_alone_s - 1


def summarise_steps(
    found: Mapping[str, Any], parts: Sequence[tuple[int, int]], asked: Mapping[str, Any], ranks: int
) -> Measured:
    """Return the output of rank 0 about what it was asked for; `parts`: bytes and gradients of each all-reduce."""
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
        compute_alone_s=median(found["compute_alone_s"]),
        compute_beside_s=median(step["compute_s"] for step in steps),
        communication_alone_s=median(sum(times) for times in found["alone_s"]),
        alone_nbytes=tuple(size_bytes for size_bytes, _ in parts),
        alone_s=tuple(median(times) for times in zip(*found["alone_s"])),
        steps=len(steps),
        time_line=TimeLine(phases, transfers),
        work=asked["work"],
    )


def model_from_parts(measured: Measured, setup: Setup) -> Result:
    """Return the model of a measured step, from its computation alone and its all-reduces alone."""
    as_computed = setup._replace(compute_s=measured.compute_alone_s)
    modelled = outcome(as_computed, _costs(measured), measured.ranks)
    return Result(setup, ALONE_SOURCE, "", (modelled,))


def _costs(measured: Measured) -> LoggedCosts:
    """Return the costs of all-reduces alone."""
    timed = zip(measured.alone_nbytes, measured.alone_s)
    points = [Timed(measured.algorithm, measured.ranks, size_bytes, time_s) for size_bytes, time_s in timed]
    return LoggedCosts(points, ALONE_SOURCE)
