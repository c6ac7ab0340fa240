"""Measured steps: what ranks are asked to do, and what they found, as values."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from statistics import median
from typing import Any, NamedTuple

from .buckets import Bucket, Caps
from .cost import LoggedCosts, Timed
from .step import Outcome, Setup, buckets_of, outcome
from .time_line import Phase, TimeLine, Transfer, phases_of, ready_shares

BUCKET, TENSOR = "bucket", "tensor"  # what ranks do beside computing
ALONE = "the all-reduces alone"


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
    tensor_alone_s: float = 0.0  # all all-reduces of a tensor-parallel group by themselves
    tensor_beside_s: float = 0.0  # in the steps: beside those of gradients, and waiting for the ranks of the group

    @property
    def data_exposed_s(self) -> float:
        """What the step waits for gradients; may be below 0 by noise."""
        return self.exposed_s - self.tensor_beside_s

    @property
    def exposed_s(self) -> float:
        """What the step takes longer than the computation alone; may be below 0 by noise."""
        return self.step_s - self.compute_alone_s

    @property
    def overlap_share(self) -> float | None:
        """(computation + communication - both) / the shorter one, from 0 to 1, as Intel MPI Benchmarks define it.

        The all-reduces of tensor parallelism count as computation, which they stop. None: one of them took no time.
        """
        return overlap_share(self.compute_alone_s + self.tensor_alone_s, self.communication_alone_s, self.step_s)

    @property
    def slowdown(self) -> float | None:
        """By what share communication beside it slows the computation; None: there is none."""
        return self.compute_beside_s / self.compute_alone_s - 1 if self.compute_alone_s else None


def overlap_share(compute_s: float, communication_s: float, step_s: float) -> float | None:
    """(compute_s + communication_s - step_s) over the shorter of the two, from 0 to 1; None: one of them is 0."""
    shorter = min(compute_s, communication_s)
    return min(1.0, max(0.0, (compute_s + communication_s - step_s) / shorter)) if shorter else None


def rank_request(setup: Setup) -> dict[str, Any]:
    """The computation and the buckets of a step of DDP, as ranks are asked for them: see `measuring.training_step`.

    Raises ValueError for buckets of several types or of integers, and for Horovod, whose cycles are only modelled.
    """
    if not isinstance(setup.packing, Caps):
        raise ValueError("Horovod's cycles are modelled only; measure --framework ddp")
    buckets = buckets_of(setup)
    if len(dtypes := {bucket.dtype for bucket in buckets}) > 1:
        raise ValueError(f"buckets of several types ({', '.join(sorted(dtypes))}) are modelled only")
    if buckets[0].dtype.startswith("int"):
        raise ValueError(f"gradients of {buckets[0].dtype} have no average; measure --dtype float32")
    counts = [sum(setup.model.gradients[index].elements for index in bucket.gradients) for bucket in buckets]
    asked = {"counts": counts, "actions": _actions(setup, buckets), "dtype": buckets[0].dtype}
    tensor = setup.tensor
    return {**asked, "groups": tensor.groups, "tensor_count": tensor.elements} if tensor else asked


def _actions(setup: Setup, buckets: Sequence[Bucket]) -> list[tuple[str, float]]:
    """What a rank does one after the other: computes for so many seconds, has a bucket ready, adds activations."""
    shares, tensor = ready_shares(setup.model, setup.proxy_used, setup.dtype), setup.tensor
    ready = [(shares[index], 2 * tensor.stops_before(index) if tensor else 0) for index in range(len(shares))]
    whole = accumulate((max(ready[index] for index in bucket.gradients) for bucket in buckets), max)
    phases = phases_of(setup.compute_s, setup.backward_share, setup.accumulate)
    actions: list[tuple[str, float]] = []
    for phase in phases:
        stops = enumerate(tensor.shares(phase.kind) if tensor else ())
        events = [(share, 2 * number + 1, TENSOR) for number, share in stops]  # odd: between buckets of one share
        events += [(*when, BUCKET) for when in whole] if phase is phases[-1] else []
        done = 0.0
        for share, _, what in [*sorted(events), (1.0, 0, "")]:
            if share > done:
                actions.append((phase.kind, (share - done) * (phase.end_s - phase.start_s)))
            actions += [(what, 0.0)] if what else []
            done = share
    return actions


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
        time_line=_line(steps[(len(steps) - 1) // 2], setup, algorithm),
        tensor_alone_s=_tensor_alone_s(found["tensor_alone_s"], setup),
        tensor_beside_s=median(sum(end - start for start, end in step["stalls"]) for step in steps),
    )


def _tensor_alone_s(times_s: Sequence[Sequence[float]], setup: Setup) -> float:
    """From the times of some of them to all of a step."""
    calls = setup.tensor.calls * setup.accumulate if setup.tensor else 0
    return calls * median(time_s for times in times_s for time_s in times) if calls else 0.0


def _line(step: Mapping[str, Any], setup: Setup, algorithm: str) -> TimeLine:
    phases = tuple(Phase(kind, start, end) for kind, start, end in step["phases"])
    transfers = tuple(
        Transfer(bucket.nbytes, ready, start, end, len(bucket.gradients), algorithm)
        for bucket, (ready, start, end) in zip(buckets_of(setup), step["transfers"])
    )
    nbytes = setup.tensor.nbytes(setup.dtype) if setup.tensor else 0
    within = tuple(Transfer(nbytes, start, start, end, 1, algorithm) for start, end in step["stalls"])
    return TimeLine(phases, transfers, within)


def modelled_of(measured: Measured, setup: Setup) -> Outcome:
    """The model of a measured step: made of its computation alone and its all-reduces alone."""
    ranks, line = setup.data_ranks(measured.ranks), measured.time_line
    timed = [Timed(measured.algorithm, ranks, one.nbytes, t) for one, t in zip(line.transfers, measured.alone_s)]
    within = None
    if tensor := setup.tensor:
        time_s = measured.tensor_alone_s / (tensor.calls * setup.accumulate)
        within = LoggedCosts([Timed(measured.algorithm, tensor.ranks, tensor.nbytes(setup.dtype), time_s)], ALONE)
    as_computed = setup._replace(compute_s=measured.compute_alone_s / setup.accumulate)
    return outcome(as_computed, LoggedCosts(timed, ALONE), measured.ranks, within=within)
