"""The result of `workload`: a value, JSON of `--format json`, and a trace of its time lines."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..units import format_size
from .buckets import TORCH, Bucket
from .step import Outcome, Setup, Variant, buckets_of
from .time_line import TimeLine

# JSON
SCHEMA = "urn:allreduce-bench:workload:4"

# Trace: threads; Perfetto takes one with the number of its process as the main one
COMPUTATION_THREAD, COMMUNICATION_THREAD = 1001, 1002
US = 1e6  # in a second

Event = dict[str, Any]


class Result(NamedTuple):
    """A step on several numbers of ranks."""

    setup: Setup
    source: str  # source of the times of all-reduces, in words
    network: str  # the same as a phrase: `10 Gbit/s`
    outcomes: tuple[Outcome, ...]
    variants: tuple[Variant, ...] = ()  # on the largest number of ranks
    grade: str | None = None  # of the times that models were fitted to; None: no models of measured times
    placement: str | None = None  # of the vectors of these times

    @property
    def title(self) -> str:
        """The model, with its scale."""
        return self.setup.model.label


def document(result: Result) -> dict[str, Any]:
    """Return the values of a result."""
    setup = result.setup
    return {
        "schema": SCHEMA,
        "kind": "modelled",
        "title": result.title,
        "source": result.source,
        "grade": result.grade,
        "placement": result.placement,
        "model": _model_facts(setup),
        "packing": _packing_facts(setup),
        "buckets": [_bucket_facts(setup, bucket) for bucket in buckets_of(setup)],
        "steps": [_step_facts(outcome) for outcome in result.outcomes],
        "variants": [variant._asdict() for variant in result.variants],
    }


def _model_facts(setup: Setup) -> dict[str, Any]:
    """Return the model of a step."""
    model = setup.model
    return {
        "name": model.name,
        "parameters": model.parameters,
        "tensors": len(model.gradients),
        "dtype": setup.dtype,
        "size_bytes": model.size_bytes(setup.dtype),
        "scale": model.scale,
    }


def _packing_facts(setup: Setup) -> dict[str, Any]:
    """Return how gradients are packed, and when they are ready."""
    first, cap = setup.packing
    return {
        "ready_by": setup.proxy_used,
        "backward_share": setup.backward_share,
        "torch": TORCH,
        "first_cap_nbytes": first,
        "cap_nbytes": cap,
    }


def _bucket_facts(setup: Setup, bucket: Bucket) -> dict[str, Any]:
    """Return a bucket with the names of its first and last gradient."""
    first, last = (setup.model.gradients[bucket.gradients[place]].name for place in (0, -1))
    numbers = {"size_bytes": bucket.size_bytes, "dtype": bucket.dtype, "tensors": len(bucket.gradients)}
    return {**numbers, "first": first, "last": last}


def _step_facts(outcome: Outcome) -> dict[str, Any]:
    """Return the times of a step on so many ranks."""
    line = outcome.time_line
    times = ("step_s", "compute_s", "communication_s", "exposed_s", "overlapped_s", "overlap_share")
    events = ("size_bytes", "algorithm", "ready_s", "start_s", "end_s")
    return {
        "ranks": outcome.ranks,
        "algorithms": list(outcome.algorithms),
        **{name: getattr(line, name) for name in times},
        "efficiency": outcome.efficiency,
        "doubts": list(outcome.doubts),
        "is_lower_bound": outcome.is_lower_bound,
        "transfers": [{name: getattr(one, name) for name in events} for one in line.transfers],
    }


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
        words = f"bucket {index}: {format_size(transfer.size_bytes)}"
        details = {
            "size_bytes": transfer.size_bytes,
            "tensors": transfer.tensors,
            "ready_us": transfer.ready_s * US,
            "algorithm": transfer.algorithm,
        }
        span_s = transfer.start_s, transfer.end_s
        yield _complete(words, "all-reduce", pid, COMMUNICATION_THREAD, span_s, details)


def _metadata(kind: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "ts": 0, "args": {"name": name}}


def _complete(name: str, category: str, pid: int, tid: int, span_s: tuple[float, float], details: Mapping) -> Event:
    start, end = (round(time_s * US) for time_s in span_s)  # whole: Perfetto drops events that overlap by a rounding
    times = {"ts": start, "dur": end - start}
    return {"ph": "X", "name": name, "cat": category, "pid": pid, "tid": tid, **times, "args": dict(details)}
