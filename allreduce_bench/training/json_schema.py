"""The JSON Schema of the output of `workload --format json`."""

from ..models.model import LEVELS
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
from .measured import Cycles
from .result import MEASURED, MODELLED, SCHEMA, BatchRule, Memory
from .step import Variant
from .time_line import Transfer

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
        "framework": text("whose rules pack gradients", "ddp", "horovod"),
        "stage": text("of DDP: buckets of the first step, or those of all others", "first", "rebuilt"),
        "overlapped": flag("false: all-reduces begin behind the backward pass"),
        "accumulate": whole("forward and backward passes of a step; only the last one has all-reduces", 1),
        "ready_by": text("proxy of the time at which a gradient is ready", "flops", "bytes"),
        "backward_share": number("share of the backward pass in the computation", 0),
    },
    {
        "torch": text("version whose rules hold"),
        "first_cap_nbytes": whole("cap of the first bucket; unit: bytes"),
        "cap_nbytes": whole("cap of a bucket; unit: bytes"),
        "buffer_nbytes": whole("length of Horovod's fusion buffer; unit: bytes"),
        "cycle_s": seconds("Horovod's cycle"),
    },
    "how gradients are packed; null: recorded calls",
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
        "communication_s": seconds("sum of the all-reduces of gradients"),
        "exposed_s": seconds("what the step takes longer than its computation"),
        "overlapped_s": seconds("computation and communication at the same time"),
        "overlap_share": or_null(number("of the communication; null: there is none", 0)),
        "efficiency": number("weak scaling: the step without communication over this step", 0),
        "doubts": items(text(), "why times of its all-reduces are speculative; empty: none is"),
        "is_lower_bound": flag("true: an all-reduce is only known to take its time or more, and so is the step"),
        "transfers": items(TRANSFER, "the all-reduces of gradients in order"),
    },
    {
        **fields_of(BatchRule),
        "data_parallel_ranks": whole("ranks that average one gradient", 2),
        "tensor_parallel_s": seconds("sum of the all-reduces of tensor parallelism, all of them exposed"),
        "data_parallel_exposed_s": seconds("exposed_s without tensor_parallel_s"),
        "tensor_parallel_transfers": items(TRANSFER, "the all-reduces of tensor parallelism in order"),
    },
)
TENSOR = fields(
    {
        "groups": text("which ranks are a group, as --groups has it"),
        "ranks": whole("ranks of a group, which divide the matrices", 2),
        "parts": text("what an all-reduce carries: batch, sequence and hidden elements"),
        "nbytes": whole("length of an all-reduce; unit: bytes"),
        "calls": whole("all-reduces of a forward and a backward pass", 1),
    },
    meaning="with --groups: tensor parallelism; model, buckets and memory are then those of a rank",
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
        "communication_alone_s": seconds(
            "sum of the all-reduces without computation; Horovod: of those of a step, interpolated between alone_nbytes"
        ),
        "alone_s": items(number("unit: s", 0), "each of them; with Horovod each length of alone_nbytes"),
        "exposed_s": number("step_s - compute_alone_s; unit: s"),
        "overlap_share": or_null(number("(computation + communication - step) / the shorter of the two", 0)),
        "line_overlap_share": or_null(number("of the communication, in the time line of the median step", 0)),
        "slowdown": or_null(number("compute_beside_s / compute_alone_s - 1")),
    },
    {
        "tensor_parallel_alone_s": seconds("the all-reduces of tensor parallelism of a step, without all else"),
        "tensor_parallel_s": seconds("the same in the step, all of it exposed"),
        "data_parallel_exposed_s": number("exposed_s - tensor_parallel_s; unit: s"),
        "alone_nbytes": items(NBYTES, "lengths of alone_s"),
        **fields_of(Cycles),
    },
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
        {"measured": REPLAY, "tensor_parallel": TENSOR},
    )


FORMATS = (Format(SCHEMA, "what workload --format json prints: buckets, steps, memory", workload_schema()),)
