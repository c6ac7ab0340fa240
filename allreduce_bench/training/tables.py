"""Training steps in words: as modelled, and as measured beside their model."""

from ..evaluation.grade import GOOD
from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from ..units import counted, format_size, format_time, in_ranks
from .buckets import MIB, TORCH, Bucket
from .measured import Measured
from .measuring.request import SLEEP, SPIN
from .result import Result
from .step import Outcome, Setup, Variant, buckets_of

# Numbers and tables
ABSENT = "-"  # instead of a number
WHOLE_TABLE = "--format json"  # option that shows all of a table
HEADS = ("all-reduces", "exposed")

# Lower bounds of times
OR_MORE = " ^"  # behind a time
OR_MORE_NOTE = (
    "^ or more (bound): of some all-reduces no time is known but one that they cannot go below, such as the bound of "
    "all algorithms"
)

WORK = {SPIN: "spinning", SLEEP: "sleeping, which takes no core"}  # how a measured step computed


def bucket_text(setup: Setup, screen: Screen = UNBOUNDED) -> str:
    """Return the buckets of a step, one a row."""
    buckets = buckets_of(setup)
    rows = [["bucket", "MiB", "tensors", "dtype", "first gradient", "last gradient"]]
    rows += [_bucket_row(setup, number, bucket) for number, bucket in enumerate(buckets)]
    head = [model_sentence(setup), f"{packing_sentence(setup)}:"]
    return "\n".join([*wrapped(head, screen), *fitted(columns_of(rows, left={3, 4, 5}), screen, WHOLE_TABLE)])


def _bucket_row(setup: Setup, number: int, bucket: Bucket) -> list[str]:
    first, last = (setup.model.gradients[bucket.gradients[place]].name for place in (0, -1))
    return [str(number), f"{bucket.size_bytes / MIB:.2f}", str(len(bucket.gradients)), bucket.dtype, first, last]


def model_sentence(setup: Setup) -> str:
    """Return `ResNet-50: 25,557,032 parameters in 161 tensors, 97.49 MiB of float32 gradients`."""
    model = setup.model
    dtypes = " and ".join(model.dtypes(setup.dtype))
    parameters = f"{model.parameters:,} parameters in {len(model.gradients)} tensors"
    return f"{model.label}: {parameters}, {format_size(model.size_bytes(setup.dtype))} of {dtypes} gradients"


def packing_sentence(setup: Setup) -> str:
    """Say whose buckets these are, and how many."""
    buckets = counted(len(buckets_of(setup)), "bucket")
    first, cap = map(format_size, setup.packing)
    now = len(setup.model.dtypes(setup.dtype))  # one for each type
    return f"PyTorch DDP (torch {TORCH}), caps {first} and {cap}, {buckets} from the second step on; {now} in the first"


def result_text(result: Result, screen: Screen = UNBOUNDED) -> str:
    """Return the whole answer: its subject first, the main sentence last."""
    setup = result.setup
    head = [f"{result.title}, modelled: nothing was measured here"]
    head += [model_sentence(setup), packing_sentence(setup), _compute_sentence(setup)]
    head.append(f"all-reduces: {result.source}")
    if result.grade:
        head.append(f"grade of the fitted times: {result.grade}; placement of their vectors: {result.placement}")
    columns = columns_of(_step_rows(result), left={1}, left_out=(4,))
    tables = [[*fitted(columns, screen, WHOLE_TABLE)]]
    if result.variants:
        tables.append([*wrapped([_variant_title(result)], screen), *_variant_lines(result.variants, screen)])
    bounded = [one.is_lower_bound for one in result.outcomes] + [one.is_lower_bound for one in result.variants]
    if any(bounded):
        tables.append(wrapped([OR_MORE_NOTE], screen))
    tables += [wrapped(doubts, screen)] if (doubts := doubt_sentences(result)) else []
    tables.append(wrapped([answer(result, outcome) for outcome in result.outcomes[-1:]], screen))
    return "\n".join(["\n".join(wrapped(head, screen)), *("\n" + "\n".join(table) for table in tables)])


def _compute_sentence(setup: Setup) -> str:
    ready = {"flops": "floating-point operations", "bytes": "bytes"}[setup.proxy_used]
    return (
        f"computation: {format_time(setup.compute_s)}, {setup.backward_share:.0%} of it backward; gradients "
        f"become ready by {ready}; all-reduces overlapped with the backward pass"
    )


def _step_rows(result: Result) -> list[list[str]]:
    rows = [["ranks", "algorithm", "step", "compute", *HEADS, "overlap", "efficiency"]]
    for outcome in result.outcomes:
        line = outcome.time_line
        shown = (line.step_s, line.compute_s, line.communication_s, line.exposed_s)
        times = [format_time(time_s) for time_s in shown]
        times[0] += OR_MORE if outcome.is_lower_bound else ""
        rows.append(
            [str(outcome.ranks), _names(outcome), *times, _share_text(line.overlap_share), f"{outcome.efficiency:.1%}"]
        )
    return rows


def _names(outcome: Outcome) -> str:
    """Return the algorithm of most buckets, and how many others there are."""
    algorithms = outcome.algorithms
    return algorithms[0] + (f" +{len(algorithms) - 1}" if len(algorithms) > 1 else "") if algorithms else ABSENT


def doubt_sentences(result: Result) -> list[str]:
    """Say which times are far beyond what was measured, and on which numbers of ranks."""
    told = dict.fromkeys(doubt for outcome in result.outcomes for doubt in outcome.doubts)
    where = {doubt: in_ranks([one.ranks for one in result.outcomes if doubt in one.doubts]) for doubt in told}
    return [
        f"warning, {ranks}: {doubt}; their times, and so the time of the step, are speculative"
        for doubt, ranks in where.items()
    ]


def _variant_title(result: Result) -> str:
    return f"Time of a step on {in_ranks([result.outcomes[-1].ranks])} by algorithm and cap:"


def _variant_lines(variants: tuple[Variant, ...], screen: Screen) -> list[str]:
    caps = list(dict.fromkeys(variant.cap_nbytes for variant in variants))
    numbers = {variant.cap_nbytes: variant.buckets for variant in variants}
    times = {(variant.algorithm, variant.cap_nbytes): variant for variant in variants}
    timed = [variant for variant in variants if variant.step_s is not None]
    known = [variant for variant in timed if not variant.is_lower_bound]
    least_s = min(variant.step_s or 0.0 for variant in known or timed)
    rows = [["algorithm", *map(format_size, caps)], ["", *(f"{numbers[cap]} sent" for cap in caps)]]
    styles: dict[str, str] = {}
    for name in dict.fromkeys(variant.algorithm for variant in variants):
        row = [times[name, cap] for cap in caps]
        rows.append([name, *map(_variant_text, row)])
        styles |= {_variant_text(variant): "best" for variant in row if variant.step_s == least_s}
    return fitted(columns_of(rows, left={0}, heads=2, styles=styles), screen, WHOLE_TABLE)


def _variant_text(variant: Variant) -> str:
    if variant.step_s is None:
        return ABSENT
    return format_time(variant.step_s) + (OR_MORE if variant.is_lower_bound else "")


def answer(result: Result, outcome: Outcome) -> str:
    """Return `ResNet-50 on 4 ranks: a step takes 123 ms, 23.4 ms of it wait for all-reduces; …`."""
    line = outcome.time_line
    title = f"{result.title} on {in_ranks([outcome.ranks])} with {result.network}"
    doubted = f"; grade of the fitted times: {result.grade}" if result.grade not in (None, GOOD) else ""
    kind = f"(modelled{', speculative' if outcome.doubts else ''}{doubted})"
    if not line.communication_s:
        return f"{title}: a step takes {format_time(line.step_s)}; one rank sends nothing."
    step = format_time(line.step_s) + (" or more (bound)" if outcome.is_lower_bound else "")
    waits = f"{format_time(line.exposed_s)} of it ({line.exposed_s / line.step_s:.0%}) are exposed communication"
    told = (
        f"{title}: a step takes {step}, {waits}; {line.overlap_share:.0%} of the communication runs beside computation"
    )
    most = " or less" if outcome.is_lower_bound else ""
    return f"{told}; the efficiency of weak scaling is {outcome.efficiency:.1%}{most} {kind}."


def measured_text(modelled: Result, measured: Measured, screen: Screen = UNBOUNDED) -> str:
    """Return the whole answer about a measured step."""
    (outcome,), setup = modelled.outcomes, modelled.setup
    head = [
        f"{modelled.title} on {in_ranks([measured.ranks])}, measured: medians of {measured.steps} steps",
        model_sentence(setup),
        packing_sentence(setup),
        f"computation by {WORK[measured.work]}; all-reduces by {measured.algorithm}, in a thread beside it",
    ]
    table = fitted(columns_of(_measured_rows(measured, outcome), left={0}), screen, WHOLE_TABLE)
    told = [slowdown_sentence(measured), difference_sentence(measured, outcome)]
    parts = [wrapped(head, screen), table, wrapped(told, screen)]
    return "\n\n".join("\n".join(part) for part in parts)


def _measured_rows(measured: Measured, modelled: Outcome) -> list[list[str]]:
    """Return what was measured above its model."""
    line = modelled.time_line
    own = [measured.step_s, measured.compute_alone_s, measured.communication_alone_s, measured.exposed_s]
    predicted = [line.step_s, line.compute_s, line.communication_s, line.exposed_s]
    return [
        ["", "step", "compute", *HEADS, "overlap"],
        ["measured", *map(signed_time, own), _share_text(measured.overlap_share)],
        ["modelled", *map(signed_time, predicted), _share_text(line.overlap_share)],
    ]


def signed_time(time_s: float) -> str:
    """Return `-1.20 ms`: a difference of two times, which may be below 0 by noise."""
    return format_time(time_s) if time_s >= 0 else f"-{format_time(-time_s)}"


def _share_text(share: float | None) -> str:
    return ABSENT if share is None else f"{share:.0%}"


def signed_share(share: float) -> str:
    """Return `+14%`."""
    return f"{round(share, 2) + 0:+.0%}"  # no -0%


def slowdown_sentence(measured: Measured) -> str:
    """Say how much the computation is slowed by the communication beside it."""
    alone, beside = format_time(measured.compute_alone_s), format_time(measured.compute_beside_s)
    return (
        f"The computation takes {alone} alone and {beside} beside the all-reduces: {signed_share(measured.slowdown)}."
    )


def difference_sentence(measured: Measured, modelled: Outcome) -> str:
    """Describe the error of the model."""
    off = modelled.time_line.step_s / measured.step_s - 1
    return f"The model of this step, from computation and all-reduces alone, is {signed_share(off)} off."
