"""Measured steps as values: the request to ranks, their results, and the model from its parts."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, islice
from math import inf
from statistics import median
from typing import Annotated, Any, NamedTuple

from ..message import BadValue
from ..runs.dtypes import DTYPES
from ..runs.typed_json import NotNegative
from .buckets import Bucket, Fusion
from .cost import LoggedCosts, Timed, choose, interpolated
from .input_files import Call, CallError, replayed
from .measuring.request import BUCKET, TENSOR
from .step import Outcome, Setup, buckets_of, outcome
from .time_line import COMPUTE, Phase, TimeLine, Transfer, phases_of, ready_shares

ALONE_SOURCE = "the all-reduces alone"  # the source of the model's times, in words


def handed_over(setup: Setup) -> list[Bucket]:
    """List what a step hands over in turn: DDP's buckets; each gradient by itself with Horovod, which fuses later."""
    if not isinstance(setup.packing, Fusion):
        return buckets_of(setup)
    gradients = setup.model.gradients
    return [
        Bucket((index,), gradients[index].nbytes(setup.dtype), gradients[index].dtype or setup.dtype)
        for index in setup.model.ready_order
    ]


def step_request(setup: Setup) -> dict[str, Any]:
    """Ask for the computation of a step, and for what it hands over.

    Raises ValueError for gradients of several types or of integers.
    """
    buckets = handed_over(setup)
    dtype = _one_type((bucket.dtype for bucket in buckets), "gradients")
    if dtype.startswith("int"):
        raise BadValue("training.gradients_no_average_measure", dtype=dtype)
    counts = [sum(setup.model.gradients[index].elements for index in bucket.gradients) for bucket in buckets]
    asked = {"counts": counts, "actions": _actions(setup, buckets), "dtype": dtype}
    if isinstance(setup.packing, Fusion):
        asked |= {**setup.packing._asdict(), "alone": [nbytes // DTYPES[dtype] for nbytes in alone_nbytes(setup)]}
    tensor = setup.tensor
    return {**asked, "groups": tensor.groups, "tensor_count": tensor.elements} if tensor else asked


def alone_nbytes(setup: Setup) -> list[int]:
    """Return the lengths all-reduced alone: each bucket; with Horovod lengths for interpolation.

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
    """Ask for recorded calls: each gap is computed, then the call blocks. `dtype` is that of calls that name none.

    Raises ValueError for calls of several types, CallError for one that is no whole number of elements.
    """
    dtype = _one_type((call.dtype or dtype for call in calls), "calls")
    itemsize = DTYPES[dtype]
    for number, call in enumerate(calls, 1):
        if call.nbytes % itemsize or not call.nbytes:
            raise CallError(
                "training.call_expected_positive_whole",
                number=number,
                dtype=dtype,
                itemsize=itemsize,
                nbytes=call.nbytes,
            )
    actions = [action for call in calls for action in ((COMPUTE, call.gap_s), (BUCKET, 0.0)) if action != (COMPUTE, 0)]
    return {"counts": [call.nbytes // itemsize for call in calls], "actions": actions, "dtype": dtype, "op": "sum"}


def _one_type(dtypes: Iterable[str], what: str) -> str:
    """Return the one type that all have. Raises ValueError where there are several."""
    found = sorted({*dtypes})
    if len(found) > 1:
        raise BadValue("training.several_types_modelled_leave", what=what, found=", ".join(found))
    return found[0]


def _actions(setup: Setup, buckets: Sequence[Bucket]) -> list[tuple[str, float]]:
    """List the actions of a rank in order: compute for so many seconds, hand a bucket over, add activations."""
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
    """Return when each bucket is handed over: the share of the backward pass, and the place within it.

    Horovod's cycles run all the time: if all-reduces shall begin after the backward pass, all gradients are handed over
    there.
    """
    if isinstance(setup.packing, Fusion) and not setup.overlapped:
        return [(1.0, inf)] * len(buckets)
    shares, tensor = ready_shares(setup.model, setup.proxy_used, setup.dtype), setup.tensor
    ready = [(share, 2.0 * tensor.stops_before(index) if tensor else 0.0) for index, share in enumerate(shares)]
    return [*accumulate((max(ready[index] for index in bucket.gradients) for bucket in buckets), max)]


class Cycles(NamedTuple):
    """Horovod's cycles of a step, medians over steps."""

    all_reduces: Annotated[NotNegative, "Horovod: all-reduces of a step"]
    cycles: Annotated[NotNegative, "Horovod: cycles of a step"]
    agreement_s: Annotated[
        NotNegative,
        "Horovod: what a step takes to find out which gradients are ready on all ranks, and waits for them; unit: s",
    ]
    # Horovod itself binds nothing
    binding_s: Annotated[NotNegative, "Horovod: what a step takes to bind all-reduces of lengths that are new; unit: s"]


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
    tensor_alone_s: float = 0.0  # all all-reduces of a tensor-parallel group by themselves
    tensor_beside_s: float = 0.0  # in the steps: beside those of gradients, and waiting for the ranks of the group
    cycles: Cycles | None = None

    @property
    def data_exposed_s(self) -> float:
        """Wait of the step for gradients; may be negative by noise."""
        return self.exposed_s - self.tensor_beside_s

    @property
    def exposed_s(self) -> float:
        """Time of the step beyond the computation alone; may be negative by noise."""
        return self.step_s - self.compute_alone_s

    @property
    def overlap_share(self) -> float | None:
        """Overlap: (computation + communication - both) / the shorter one, from 0 to 1, as Intel MPI Benchmarks define
        it.

        The all-reduces of tensor parallelism count as computation, which they stop, with their time in the step, as in
        `data_exposed_s`. None: one of them took no time.
        """
        return overlap_share(self.compute_alone_s + self.tensor_beside_s, self.communication_alone_s, self.step_s)

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


class Part(NamedTuple):
    """A unit of handover: its length, and its number of gradients."""

    nbytes: int
    tensors: int = 1


def measured_of(found: Mapping[str, Any], setup: Setup, ranks: int, algorithm: str) -> Measured:
    """Parse the output of rank 0 about a training step."""
    parts = [Part(bucket.nbytes, len(bucket.gradients)) for bucket in handed_over(setup)]
    nbytes = setup.tensor.nbytes(setup.dtype) if setup.tensor else 0
    one = _measured(found, parts, alone_nbytes(setup), (ranks, algorithm), nbytes)
    one = one._replace(
        tensor_alone_s=_tensor_alone_s(found["tensor_alone_s"], setup),
        tensor_beside_s=median(sum(end - start for start, end in step["stalls"]) for step in found["steps"]),
    )
    return _in_cycles(one, found["steps"], parts) if isinstance(setup.packing, Fusion) else one


def measured_calls(found: Mapping[str, Any], calls: Sequence[Call], ranks: int, algorithm: str) -> Measured:
    """Parse the output of rank 0 about recorded calls. Without gaps there is no computation."""
    lengths = [call.nbytes for call in calls]
    one = _measured(found, [*map(Part, lengths)], lengths, (ranks, algorithm))
    return one if any(call.gap_s for call in calls) else one._replace(compute_alone_s=0.0)


def _measured(
    found: Mapping[str, Any], parts: Sequence[Part], alone: Sequence[int], whose: tuple[int, str], nbytes: int = 0
) -> Measured:
    """Return the measured steps; `alone`: bytes of those timed alone, `nbytes` of an all-reduce of activations."""
    steps = sorted(found["steps"], key=lambda step: step["step_s"])
    return Measured(
        *whose,
        step_s=median(step["step_s"] for step in steps),
        compute_alone_s=median(found["compute_alone_s"]),
        compute_beside_s=median(step["compute_s"] for step in steps),
        communication_alone_s=median(sum(times) for times in found["alone_s"]),
        alone_nbytes=tuple(alone),
        alone_s=tuple(median(times) for times in zip(*found["alone_s"])),
        steps=len(steps),
        time_line=_time_line(steps[(len(steps) - 1) // 2], parts, whose[1], nbytes),
    )


def _time_line(step: Mapping[str, Any], parts: Sequence[Part], algorithm: str, nbytes: int) -> TimeLine:
    """Return the events of a step; an all-reduce takes the next of `parts`, as many as were fused."""
    phases = tuple(Phase(kind, start, end) for kind, start, end in step["phases"])
    transfers = []
    for (ready, start, end, _), own in zip(step["transfers"], _bytes_sent(step, parts)):
        transfers.append(Transfer(own.nbytes, ready, start, end, own.tensors, algorithm))
    within = tuple(Transfer(nbytes, start, start, end, 1, algorithm) for start, end in step["stalls"])
    return TimeLine(phases, tuple(transfers), within)


def _bytes_sent(step: Mapping[str, Any], parts: Sequence[Part]) -> list[Part]:
    """Return the content of each all-reduce of a step."""
    waiting = iter(parts)
    taken = [[*islice(waiting, number)] for *_, number in step["transfers"]]
    return [Part(sum(one.nbytes for one in own), sum(one.tensors for one in own)) for own in taken]


def _tensor_alone_s(times_s: Sequence[Sequence[float]], setup: Setup) -> float:
    """Extrapolate from the times of some of them to all of a step."""
    calls = setup.tensor.calls * setup.accumulate if setup.tensor else 0
    return calls * median(time_s for times in times_s for time_s in times) if calls else 0.0


def _in_cycles(one: Measured, steps: Sequence[Mapping[str, Any]], parts: Sequence[Part]) -> Measured:
    """Estimate the time alone of Horovod's own all-reduces, whose lengths differ by step."""
    timed = [*zip(one.alone_nbytes, one.alone_s)]
    alone_s = [sum(interpolated(timed, sent.nbytes) for sent in _bytes_sent(step, parts)) for step in steps]
    numbers = zip(*(step["cycles"] for step in steps))
    cycles = Cycles(median(len(step["transfers"]) for step in steps), *map(median, numbers))
    return one._replace(communication_alone_s=median(alone_s), cycles=cycles)


def modelled_of(measured: Measured, setup: Setup) -> Outcome:
    """Return the model of a measured step, from its computation alone and its all-reduces alone."""
    ranks = setup.data_ranks(measured.ranks)
    within = None
    if tensor := setup.tensor:
        time_s = measured.tensor_alone_s / (tensor.calls * setup.accumulate)
        within = LoggedCosts(
            [Timed(measured.algorithm, tensor.ranks, tensor.nbytes(setup.dtype), time_s)], ALONE_SOURCE
        )
    as_computed = setup._replace(compute_s=measured.compute_alone_s / setup.accumulate)
    return outcome(as_computed, _costs(measured, ranks), measured.ranks, within=within)


def modelled_calls(measured: Measured, calls: Sequence[Call]) -> Outcome:
    """Model recorded calls: each gap has its share of the computation alone."""
    gaps_s, costs = sum(call.gap_s for call in calls), _costs(measured, measured.ranks)
    factor = measured.compute_alone_s / gaps_s if gaps_s else 0.0
    computed = [call._replace(gap_s=call.gap_s * factor) for call in calls]
    known = {nbytes: choose(costs, measured.ranks, nbytes).time_s for nbytes in {call.nbytes for call in calls}}
    line = replayed(computed, known.__getitem__)
    named = line._replace(transfers=tuple(one._replace(algorithm=measured.algorithm) for one in line.transfers))
    return Outcome(measured.ranks, named, (measured.algorithm,), measured.compute_alone_s)


def _costs(measured: Measured, ranks: int) -> LoggedCosts:
    """Return the costs of all-reduces alone among so many ranks."""
    timed = zip(measured.alone_nbytes, measured.alone_s)
    return LoggedCosts([Timed(measured.algorithm, ranks, nbytes, time_s) for nbytes, time_s in timed], ALONE_SOURCE)
