"""The result of `workload`: a value, JSON of `--format json` with its JSON Schema, and a trace of its time lines."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple

from ..models.model import LEVELS
from ..runs.dtypes import DTYPES
from ..runs.json_schema.build import (
    Format,
    Schema,
    fields,
    fields_of,
    flag,
    items,
    number,
    of_type,
    or_null,
    text,
    whole,
)
from ..runs.typed_json import Natural, Positive
from ..units import format_size
from .buckets import Bucket
from .measured import ALONE_SOURCE, Measured
from .step import Outcome, Setup, Variant, buckets_of
from .tensors import Model
from .time_line import TimeLine, Transfer

# Optimizers
SGD, MOMENTUM, ADAM = "sgd", "momentum", "adam"
STATES = {SGD: 0, MOMENTUM: 1, ADAM: 2}  # float32 numbers that an optimizer keeps for each parameter
WIDE_NBYTES = 4  # of a float32

# JSON
SCHEMA = "urn:allreduce-bench:workload:3"
MODELLED, MEASURED = "modelled", "measured"

# Trace: threads; Perfetto takes one with the number of its process as the main one
COMPUTATION_THREAD, COMMUNICATION_THREAD = 1001, 1002
US = 1e6  # in a second

Event = dict[str, Any]


class Result(NamedTuple):
    """A step on several numbers of ranks; `setup` None: the recorded calls of a program."""

    title: str
    source: str  # source of the times of all-reduces, in words
    network: str  # the same as a phrase: `10 Gbit/s`
    outcomes: tuple[Outcome, ...]
    setup: Setup | None = None
    variants: tuple[Variant, ...] = ()  # on the largest number of ranks
    batch: int = 1  # samples of a rank and pass
    optimizer: str = "adam"
    has_views: bool = False  # gradients are views of buckets
    grade: str | None = None  # of the times that models were fitted to; None: no models of measured times
    placement: str | None = None  # of the vectors of these times


class Memory(NamedTuple):
    """Bytes of a rank: data-parallel training holds all of it on each."""

    parameters_nbytes: Annotated[Natural, "unit: bytes"]
    gradients_nbytes: Annotated[Natural, "unit: bytes"]
    optimizer_nbytes: Annotated[Natural, "state of the optimizer, and float32 copies of 16-bit parameters; unit: bytes"]
    buckets_nbytes: Annotated[Natural, "DDP's copies of gradients, none where they are views of buckets; unit: bytes"]

    @property
    def total_nbytes(self) -> int:
        """All of it, without activations, which are not known here."""
        return sum(self)


def memory_of(model: Model, dtype: str, optimizer: str, has_views: bool = False) -> Memory:
    """Return the memory of a rank; 16-bit parameters have a float32 copy with the optimizer (Rajbhandari et al., SC
    2020).

    `has_views`: DistributedDataParallel(gradient_as_bucket_view=True).
    """
    gradients = model.nbytes(dtype)
    state = STATES[optimizer] * model.parameters + narrow_elements(model, dtype)
    return Memory(gradients, gradients, WIDE_NBYTES * state, 0 if has_views else gradients)


def narrow_elements(model: Model, dtype: str) -> int:
    """Return the number of parameters with a float32 copy."""
    return sum(gradient.elements for gradient in model.gradients if DTYPES[gradient.dtype or dtype] < WIDE_NBYTES)


class BatchRule(NamedTuple):
    """The batch of all ranks, and the factor on the learning rate of one rank's batch by the linear rule.

    When the batch is multiplied by k, so is the learning rate, after a warm-up (Goyal et al., arXiv:1706.02677, 2017).
    """

    effective_batch: Annotated[Positive, "samples of all ranks in a step"]
    learning_rate_factor: Annotated[
        Positive, "by what the linear rule multiplies the learning rate of one rank's batch"
    ]


def batch_rule(batch: int, ranks: int, accumulate: int = 1) -> BatchRule:
    """Return the rule for `batch` samples on each of `ranks` in each of `accumulate` passes of a step."""
    return BatchRule(batch * ranks * accumulate, ranks * accumulate)


def document(result: Result) -> dict[str, Any]:
    """Return the values of a result: see `json_schema`."""
    setup = result.setup
    own: dict[str, Any] = {"model": None, "packing": None, "buckets": [], "memory": None}
    if setup:
        held = memory_of(setup.model, setup.dtype, result.optimizer, result.has_views)
        own = {"model": model_facts(setup), "packing": packing_facts(setup), "memory": held._asdict()}
        own["buckets"] = [bucket_facts(setup, bucket) for bucket in buckets_of(setup)]
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
    """Return the model of what was measured; `setup` None: recorded calls."""
    return Result(title, ALONE_SOURCE, "", (modelled,), setup)


def replay_document(modelled: Result, measured: Measured, how: tuple[str, str]) -> dict[str, Any]:
    """Return the values of a measured step beside its model; `how` is the kind of computation, and of overlap."""
    own = ("step_s", "compute_alone_s", "compute_beside_s", "communication_alone_s", "exposed_s", "overlap_share")
    facts: dict[str, Any] = {name: getattr(measured, name) for name in (*own, "slowdown", "steps", "ranks")}
    facts |= {"algorithm": measured.algorithm, "alone_s": list(measured.alone_s)}
    facts |= {"alone_nbytes": list(measured.alone_nbytes)}
    facts |= {"work": how[0], "overlap": how[1], "line_overlap_share": measured.time_line.overlap_share}
    return {**document(modelled), "kind": MEASURED, "measured": facts}


def model_facts(setup: Setup) -> dict[str, Any]:
    """Return the model of a step."""
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
    """Return how gradients are packed, and when they are ready."""
    facts = {"stage": setup.stage, "overlapped": setup.overlapped, "accumulate": setup.accumulate}
    facts |= {"ready_by": setup.proxy_used, "backward_share": setup.backward_share}
    first, cap = setup.packing.limits
    version = ".".join(map(str, setup.packing.torch))
    return {**facts, "torch": version, "first_cap_nbytes": first, "cap_nbytes": cap}


def bucket_facts(setup: Setup, bucket: Bucket) -> dict[str, Any]:
    """Return a bucket with the names of its first and last gradient."""
    names = [setup.model.gradients[index].name for index in (bucket.gradients[0], bucket.gradients[-1])]
    numbers = {"nbytes": bucket.nbytes, "dtype": bucket.dtype, "tensors": len(bucket.gradients)}
    return {**numbers, "first": names[0], "last": names[1]}


def step_facts(result: Result, outcome: Outcome) -> dict[str, Any]:
    """Return the times of a step on so many ranks."""
    line = outcome.time_line
    facts: dict[str, Any] = {"ranks": outcome.ranks, "algorithms": list(outcome.algorithms)}
    for name in ("step_s", "compute_s", "communication_s", "exposed_s", "overlapped_s", "overlap_share"):
        facts[name] = getattr(line, name)
    facts |= {"efficiency": outcome.efficiency, "doubts": list(outcome.doubts)}
    facts["is_lower_bound"] = outcome.is_lower_bound
    if setup := result.setup:
        facts |= batch_rule(result.batch, outcome.ranks, setup.accumulate)._asdict()
    return {**facts, "transfers": _transfers(line.transfers)}


def _transfers(transfers: Iterable[Transfer]) -> list[dict[str, Any]]:
    names = ("nbytes", "algorithm", "ready_s", "start_s", "end_s")
    return [{name: getattr(one, name) for name in names} for one in transfers]


def trace(lines: Mapping[str, TimeLine], about: Mapping[str, str]) -> dict[str, Any]:
    """Return a trace of time lines, by their names, that Perfetto and chrome://tracing open.

    Trace Event Format (Google, "Trace Event Format", 2016), JSON object form: complete events (`X`) with a time stamp
    and a duration in microseconds, metadata events (`M`) that name processes and threads. A process for each time line,
    in it a thread for the computation, and one for the all-reduces. `about` says where the time lines are from.
    """
    events = [event for pid, (name, line) in enumerate(lines.items(), 1) for event in events_of(line, pid, name)]
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": dict(about)}


def events_of(line: TimeLine, pid: int, name: str) -> Iterable[Event]:
    """Yield the events of one time line."""
    yield _metadata("process_name", pid, 0, name)
    for tid, thread in ((COMPUTATION_THREAD, "computation"), (COMMUNICATION_THREAD, "all-reduces")):
        yield _metadata("thread_name", pid, tid, thread)
    for phase in line.phases:
        yield _complete(phase.kind, "compute", pid, COMPUTATION_THREAD, (phase.start_s, phase.end_s), {})
    for index, transfer in enumerate(line.transfers):
        yield _all_reduce(transfer, f"{'call' if line.blocks else 'bucket'} {index}", pid, COMMUNICATION_THREAD)


def _all_reduce(transfer: Transfer, what: str, pid: int, tid: int) -> Event:
    details = {
        "nbytes": transfer.nbytes,
        "tensors": transfer.tensors,
        "ready_us": transfer.ready_s * US,
        "algorithm": transfer.algorithm,
    }
    words = f"{what}: {format_size(transfer.nbytes)}"
    return _complete(words, "all-reduce", pid, tid, (transfer.start_s, transfer.end_s), details)


def _metadata(kind: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "ts": 0, "args": {"name": name}}


def _complete(name: str, category: str, pid: int, tid: int, span_s: tuple[float, float], details: Mapping) -> Event:
    start, end = (round(time_s * US) for time_s in span_s)  # whole: Perfetto drops events that overlap by a rounding
    times = {"ts": start, "dur": end - start}
    return {"ph": "X", "name": name, "cat": category, "pid": pid, "tid": tid, **times, "args": dict(details)}


# The JSON Schema of the output of `workload --format json`


NBYTES = whole("unit: bytes")


def seconds(meaning: str) -> Schema:
    """Return the schema of a time."""
    return number(f"{meaning}; unit: s", 0)


MODEL = fields(
    {
        "name": text("name of the model, or of the file of its shapes"),
        "parameters": whole("elements of all gradients"),
        "tensors": whole("gradients", 1),
        "dtype": text("type of an element, where the file says no other"),
        "nbytes": whole("length of all gradients; unit: bytes"),
        "scale": number("by what the elements of each tensor are multiplied; 1: the model as it is", 0),
    },
    meaning="the model; null: recorded calls",
)
PACKING = fields(
    {
        "stage": text("buckets of the first step, or those of all others", "first", "rebuilt"),
        "overlapped": flag("false: all-reduces begin behind the backward pass"),
        "accumulate": whole("forward and backward passes of a step; only the last one has all-reduces", 1),
        "ready_by": text("proxy of the time at which a gradient is ready", "flops", "bytes"),
        "backward_share": number("share of the backward pass in the computation", 0),
        "torch": text("version whose rules hold"),
        "first_cap_nbytes": whole("cap of the first bucket; unit: bytes"),
        "cap_nbytes": whole("cap of a bucket; unit: bytes"),
    },
    meaning="how gradients are packed; null: recorded calls",
)
BUCKET = fields(
    {
        "nbytes": NBYTES,
        "dtype": text("type of its elements"),
        "tensors": whole("gradients in it", 1),
        "first": text("name of its first gradient"),
        "last": text("name of its last gradient"),
    }
)
TRANSFER = fields(fields_of(Transfer, without=["tensors"]), meaning="times from the beginning of the step")
STEP = fields(
    {
        "ranks": whole("number of ranks", 1),
        "algorithms": items(text(), "algorithms of its all-reduces, the most frequent first"),
        "step_s": seconds("the whole step"),
        "compute_s": seconds("computation"),
        "communication_s": seconds("sum of the all-reduces"),
        "exposed_s": seconds("what the step takes longer than its computation"),
        "overlapped_s": seconds("computation and communication at the same time"),
        "overlap_share": or_null(number("of the communication; null: there is none", 0)),
        "efficiency": number("weak scaling: the step without communication over this step", 0),
        "doubts": items(text(), "why times of its all-reduces are speculative; empty: none is"),
        "is_lower_bound": flag("true: an all-reduce is only known to take its time or more, and so is the step"),
        "transfers": items(TRANSFER, "the all-reduces in order"),
    },
    fields_of(BatchRule),
)
MEMORY = fields(fields_of(Memory), meaning="what a rank holds beside activations; null: recorded calls")
REPLAY = fields(
    {
        "ranks": whole("number of ranks", 2),
        "algorithm": text("of all buckets, with its executor"),
        "work": text("what computes", "spin", "matmul", "sleep"),
        "overlap": text(
            "where all-reduces run; between: of recorded calls, while the computation stops",
            *("blocking", "thread", "iallreduce", "between"),
        ),
        "steps": whole("measured steps; times are medians over them", 1),
        "step_s": seconds("the whole step"),
        "compute_alone_s": seconds("computation without all-reduces"),
        "compute_beside_s": seconds("computation of the steps with all-reduces"),
        "communication_alone_s": seconds("sum of the all-reduces without computation"),
        "alone_s": items(number("unit: s", 0), "each of them"),
        "exposed_s": number("step_s - compute_alone_s; unit: s"),
        "overlap_share": or_null(number("(computation + communication - step) / the shorter of the two", 0)),
        "line_overlap_share": or_null(number("of the communication, in the time line of the median step", 0)),
        "slowdown": or_null(number("compute_beside_s / compute_alone_s - 1")),
    },
    {"alone_nbytes": items(NBYTES, "lengths of alone_s")},
    meaning="with --measure: the measured step; `steps` has its model",
)


def workload_schema() -> Schema:
    """Return the schema of the document."""
    return fields(
        {
            "schema": text("name and version of this schema", SCHEMA),
            "kind": text("where the times are from", MODELLED, MEASURED),
            "title": text("what the step is of"),
            "source": text("what the times of all-reduces are from, in words"),
            "grade": or_null(text("the worst grade of the times that models were fitted to; null: none were", *LEVELS)),
            "placement": or_null(text("where vectors lay when these times were measured; null: as of grade")),
            "model": or_null(MODEL),
            "packing": or_null(PACKING),
            "buckets": items(BUCKET, "what is sent together"),
            "memory": or_null(MEMORY),
            "steps": items(STEP, "one for each number of ranks"),
            "variants": items(of_type(Variant), "the same step with other algorithms and caps"),
        },
        {"measured": REPLAY},
    )


SCHEMAS = (Format(SCHEMA, "what workload --format json prints: buckets, steps, memory", workload_schema()),)
