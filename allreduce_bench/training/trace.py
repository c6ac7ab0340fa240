"""Time lines as a trace that Perfetto and chrome://tracing open.

Trace Event Format (Google, "Trace Event Format", 2016), JSON object form: complete events (`X`) with a time stamp and a
duration in microseconds, metadata events (`M`) that name processes and threads. A process for each time line, in it a
thread for the computation, one for the all-reduces of gradients, and one for those of tensor parallelism.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ..units import format_size
from .time_line import TimeLine, Transfer

# threads; Perfetto takes one with the number of its process for the main one
COMPUTATION, COMMUNICATION, TENSOR = 1001, 1002, 1003
US = 1e6
Event = dict[str, Any]


def trace(lines: Mapping[str, TimeLine], about: Mapping[str, str]) -> dict[str, Any]:
    """The document of time lines by their names; `about` says where they are from."""
    events = [event for pid, (name, line) in enumerate(lines.items(), 1) for event in events_of(line, pid, name)]
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": dict(about)}


def events_of(line: TimeLine, pid: int, name: str) -> Iterable[Event]:
    """The events of one time line."""
    yield _metadata("process_name", pid, 0, name)
    threads = {COMPUTATION: "computation", COMMUNICATION: "all-reduces"}
    if line.tensor_transfers:
        threads |= {COMMUNICATION: "data-parallel all-reduces", TENSOR: "tensor-parallel all-reduces"}
    for tid, thread in threads.items():
        yield _metadata("thread_name", pid, tid, thread)
    for phase in line.phases:
        yield _complete(phase.kind, "compute", pid, COMPUTATION, (phase.start_s, phase.end_s), {})
    for number, transfer in enumerate(line.transfers):
        yield _all_reduce(transfer, f"{'call' if line.blocks else 'bucket'} {number}", pid, COMMUNICATION)
    for transfer in line.tensor_transfers:
        yield _all_reduce(transfer, "activations", pid, TENSOR)


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
