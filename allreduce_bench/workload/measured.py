"""Measured steps: what ranks are asked to do, and what they found, as values."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from .buckets import Bucket, Caps
from .cost import LoggedCosts, Timed
from .step import Setup, buckets_of
from .time_line import Phase, TimeLine, Transfer, phases_of, ready_shares, ready_times


class Measured(NamedTuple):
    """Steps that were measured, medians over them; each the most over all ranks."""

    ranks: int
    algorithm: str
    step_s: float
    compute_alone_s: float
    compute_beside_s: float  # the computation of the steps with all-reduces
    communication_alone_s: float
    alone_s: tuple[float, ...]  # each bucket's all-reduce by itself
    steps: int
    time_line: TimeLine  # of the step whose time is the median, of the rank that took longest

    @property
    def exposed_s(self) -> float:
        """What the step takes longer than the computation alone; may be below 0 by noise."""
        return self.step_s - self.compute_alone_s

    @property
    def overlap_share(self) -> float | None:
        """(computation + communication - both) / the shorter one, from 0 to 1, as Intel MPI Benchmarks define it.

        None: one of them took no time.
        """
        shorter = min(self.compute_alone_s, self.communication_alone_s)
        hidden = self.compute_alone_s + self.communication_alone_s - self.step_s
        return min(1.0, max(0.0, hidden / shorter)) if shorter else None

    @property
    def slowdown(self) -> float | None:
        """By what share communication beside it slows the computation; None: there is none."""
        return self.compute_beside_s / self.compute_alone_s - 1 if self.compute_alone_s else None


def rank_request(setup: Setup) -> dict[str, Any]:
    """The computation and the buckets of a step of DDP, as ranks are asked for them: see `measuring.training_step`.

    Raises ValueError for buckets of several types, and for Horovod, whose cycles are only modelled.
    """
    if not isinstance(setup.packing, Caps):
        raise ValueError("Horovod's cycles are modelled only; measure --framework ddp")
    buckets = buckets_of(setup)
    if len(dtypes := {bucket.dtype for bucket in buckets}) > 1:
        raise ValueError(f"buckets of several types ({', '.join(sorted(dtypes))}) are modelled only")
    *before, backward = phases_of(setup.compute_s, setup.backward_share, setup.accumulate)
    ready = ready_times(ready_shares(setup.model, setup.proxy_used, setup.dtype), backward)
    times = [backward.start_s, *(max(ready[index] for index in bucket.gradients) for bucket in buckets)]
    gaps = [max(0.0, later - max(times[:number])) for number, later in enumerate(times) if number]
    counts = [sum(setup.model.gradients[index].elements for index in bucket.gradients) for bucket in buckets]
    return {"counts": counts, "gaps_s": gaps, "before_s": before[-1].end_s, "dtype": buckets[0].dtype}


def measured_of(found: Mapping[str, Any], setup: Setup, ranks: int, algorithm: str) -> Measured:
    """The value of what rank 0 printed."""
    steps = sorted(found["steps"], key=lambda step: step["step_s"])
    alone = tuple(median(times) for times in zip(*found["alone_s"]))
    return Measured(
        ranks=ranks,
        algorithm=algorithm,
        step_s=median(step["step_s"] for step in steps),
        compute_alone_s=median(found["compute_alone_s"]),
        compute_beside_s=median(step["compute_s"] for step in steps),
        communication_alone_s=median(sum(times) for times in found["alone_s"]),
        alone_s=alone,
        steps=len(steps),
        time_line=_line(steps[(len(steps) - 1) // 2], buckets_of(setup), algorithm),
    )


def _line(step: Mapping[str, Any], buckets: Sequence[Bucket], algorithm: str) -> TimeLine:
    phases = tuple(Phase(kind, start, end) for kind, start, end in step["phases"])
    transfers = tuple(
        Transfer(bucket.nbytes, ready, start, end, len(bucket.gradients), algorithm)
        for bucket, (ready, start, end) in zip(buckets, step["transfers"])
    )
    return TimeLine(phases, transfers)


def costs_alone(measured: Measured) -> LoggedCosts:
    """The all-reduces as they were timed alone: what a model of the measured step is made of."""
    sizes = [transfer.nbytes for transfer in measured.time_line.transfers]
    points = [Timed(measured.algorithm, measured.ranks, nbytes, t) for nbytes, t in zip(sizes, measured.alone_s)]
    return LoggedCosts(points, "the all-reduces alone")
