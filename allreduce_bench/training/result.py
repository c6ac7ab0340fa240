"""What `workload` found, as one value, and as the JSON of `--format json`."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from .buckets import Bucket, Caps
from .measured import ALONE, Measured
from .memory import batch_rule, memory_of
from .step import Outcome, Setup, Variant, buckets_of
from .time_line import Transfer

SCHEMA = "urn:allreduce-bench:workload:2"
MODELLED, MEASURED = "modelled", "measured"


class Result(NamedTuple):
    """A step on several numbers of ranks; `setup` None: the recorded calls of a program."""

    title: str
    source: str  # what the times of all-reduces are from, in words
    network: str  # the same for the middle of a sentence: `10 Gbit/s`
    outcomes: tuple[Outcome, ...]
    setup: Setup | None = None
    variants: tuple[Variant, ...] = ()  # on the largest number of ranks
    batch: int = 1  # samples of a rank and pass
    optimizer: str = "adam"
    has_views: bool = False  # gradients are views of buckets
    grade: str | None = None  # of the times that models were fitted to; None: no models of measured times
    placement: str | None = None  # of the vectors of these times


def document(result: Result) -> dict[str, Any]:
    """The values of a result: see `json_schema`."""
    setup = result.setup
    own: dict[str, Any] = {"model": None, "packing": None, "buckets": [], "memory": None}
    if setup:
        held = memory_of(setup.model, setup.dtype, result.optimizer, result.has_views, setup.buffer_nbytes)
        own = {"model": model_facts(setup), "packing": packing_facts(setup), "memory": held._asdict()}
        own["buckets"] = [bucket_facts(setup, bucket) for bucket in buckets_of(setup)]
        own |= tensor_facts(setup)
    return {
        "schema": SCHEMA,
        "kind": MODELLED,
        "title": result.title,
        "source": result.source,
        "grade": result.grade,
        "placement": result.placement,
        **own,
        "steps": [step_facts(result, outcome) for outcome in result.outcomes],
        "variants": [variant._asdict() for variant in result.variants],
    }


def measured_result(title: str, modelled: Outcome, setup: Setup | None = None) -> Result:
    """The model of what was measured; `setup` None: recorded calls."""
    return Result(title, ALONE, "", (modelled,), setup)


def replay_document(modelled: Result, measured: Measured, how: tuple[str, str]) -> dict[str, Any]:
    """The values of a measured step beside its model; `how` is the kind of computation, and of overlap."""
    own = ("step_s", "compute_alone_s", "compute_beside_s", "communication_alone_s", "exposed_s", "overlap_share")
    facts: dict[str, Any] = {name: getattr(measured, name) for name in (*own, "slowdown", "steps", "ranks")}
    facts |= {"algorithm": measured.algorithm, "alone_s": list(measured.alone_s)}
    facts |= {"alone_nbytes": list(measured.alone_nbytes)}
    facts |= {"work": how[0], "overlap": how[1], "line_overlap_share": measured.time_line.overlap_share}
    if modelled.setup and modelled.setup.tensor:
        facts |= {"tensor_parallel_alone_s": measured.tensor_alone_s, "tensor_parallel_s": measured.tensor_beside_s}
        facts["data_parallel_exposed_s"] = measured.data_exposed_s
    if measured.cycles:
        facts |= measured.cycles._asdict()
    return {**document(modelled), "kind": MEASURED, "measured": facts}


def model_facts(setup: Setup) -> dict[str, Any]:
    """The model of a step."""
    model = setup.model
    return {
        "name": model.name,
        "parameters": model.parameters,
        "tensors": len(model.gradients),
        "dtype": setup.dtype,
        "nbytes": model.nbytes(setup.dtype),
        "scale": model.scale,
    }


def packing_facts(setup: Setup) -> dict[str, Any]:
    """How gradients are packed, and when they are ready."""
    facts = {"stage": setup.stage, "overlapped": setup.overlapped, "accumulate": setup.accumulate}
    facts |= {"ready_by": setup.proxy_used, "backward_share": setup.backward_share}
    if isinstance(setup.packing, Caps):
        first, cap = setup.packing.limits
        version = ".".join(map(str, setup.packing.torch))
        return {**facts, "framework": "ddp", "torch": version, "first_cap_nbytes": first, "cap_nbytes": cap}
    return {**facts, "framework": "horovod", **setup.packing._asdict()}


def bucket_facts(setup: Setup, bucket: Bucket) -> dict[str, Any]:
    """A bucket with the names of its first and last gradient."""
    names = [setup.model.gradients[index].name for index in (bucket.gradients[0], bucket.gradients[-1])]
    numbers = {"nbytes": bucket.nbytes, "dtype": bucket.dtype, "tensors": len(bucket.gradients)}
    return {**numbers, "first": names[0], "last": names[1]}


def step_facts(result: Result, outcome: Outcome) -> dict[str, Any]:
    """The times of a step on so many ranks."""
    line = outcome.time_line
    facts: dict[str, Any] = {"ranks": outcome.ranks, "algorithms": list(outcome.algorithms)}
    for name in ("step_s", "compute_s", "communication_s", "exposed_s", "overlapped_s", "overlap_share"):
        facts[name] = getattr(line, name)
    facts |= {"efficiency": outcome.efficiency, "doubts": list(outcome.doubts)}
    facts["is_lower_bound"] = outcome.is_lower_bound
    setup = result.setup
    if setup:
        facts |= batch_rule(result.batch, setup.data_ranks(outcome.ranks), setup.accumulate)._asdict()
    if setup and setup.tensor:
        facts |= {"tensor_parallel_s": line.tensor_s, "data_parallel_exposed_s": line.data_exposed_s}
        facts |= {"data_parallel_ranks": setup.data_ranks(outcome.ranks)}
        facts["tensor_parallel_transfers"] = _transfers(line.tensor_transfers)
    return {**facts, "transfers": _transfers(line.transfers)}


def _transfers(transfers: Iterable[Transfer]) -> list[dict[str, Any]]:
    names = ("nbytes", "algorithm", "ready_s", "start_s", "end_s")
    return [{name: getattr(one, name) for name in names} for one in transfers]


def tensor_facts(setup: Setup) -> dict[str, Any]:
    """The all-reduces of tensor parallelism; empty without groups."""
    if not (tensor := setup.tensor):
        return {}
    numbers = {"ranks": tensor.ranks, "nbytes": tensor.nbytes(setup.dtype), "calls": tensor.calls}
    return {"tensor_parallel": {"groups": tensor.groups, "parts": tensor.parts, **numbers}}
