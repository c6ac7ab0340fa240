"""The traces that torch.profiler writes, one file a rank: when the host entered each collective call.

What `export_chrome_trace` writes by Kineto: `traceEvents` with `ts` and `dur` in microseconds, `ts` since
`baseTimeNanoseconds` of the wall clock; `distributedInfo` with `rank` and `world_size`; `host_name`. The fields of
`record_param_comms`, which calls of NCCL have, are those of pytorch, torch/csrc/profiler/util.h; such a trace has not
been seen here. A kernel of a GPU waits in its stream and is no entry of the host; when it begins says how far its host
runs ahead.
"""

import re
from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from ..importers.documents import NAME_LETTERS, document_of, text_of, whole_of
from ..importers.row import LogError
from ..importers.values import LARGEST, printable, shown
from ..units import MAX_RANKS
from .collectives import meeting_of

COMMS, OP, GLOO, NCCL = "record_param_comms", "c10d::", "gloo:", "nccl:"
KINDS = (COMMS, OP, GLOO, NCCL)  # of events that are an entry of the host, the one that says most first
OF_HOSTS = ("cpu_op", "user_annotation")  # categories; gpu_user_annotation is of a GPU
KERNEL = "kernel"  # a category, and the kind of its calls
NCCL_KERNEL = re.compile(r"nccl(?:Dev)?Kernel_(\w+)")
ONLY_KERNELS = (
    "only kernels of collective calls; a kernel waits in its stream and is no entry of the host, so nobody can be said"
    " to be late; record ProfilerActivity.CPU too"
)
NO_CALL = "no collective call that all ranks meet in; record steps with their all-reduces"


class TracedCall(NamedTuple):
    """One collective call, as one rank recorded it."""

    collective: str  # of `collectives`
    size: str  # what was said of its vector; empty: nothing
    group: str  # name of its process group; empty: not said
    number: int | None  # that counts the calls of the group; None: not said
    entry_us: float  # since the base of its file
    end_us: float  # of the event; only of GLOO also that of the call


class TracedRank(NamedTuple):
    """What the file of one rank says."""

    file: str
    rank: int
    ranks: int
    host: str  # empty: not said
    base_ns: int  # since 1970, what the times of its events are relative to
    calls: dict[str, list[TracedCall]]  # of each of KINDS and of KERNEL, in their order
    syncs_us: dict[str, float]  # when it recorded each clock_sync event, by sync_id


def recognises(head: str) -> bool:
    """Whether a file begins as a trace of Kineto, or as another trace of Chrome."""
    begin = head.lstrip("\ufeff \t\r\n")
    if begin.startswith("["):
        return '"ph"' in begin
    return begin.startswith("{") and ('"traceEvents"' in begin or '"deviceProperties"' in begin)


def traced(path: Path) -> TracedRank:
    """What a file says. Raises LogError: it is no such trace, does not say its rank, or holds no collective call."""
    document = document_of(path)
    events = document.get("traceEvents") if isinstance(document, dict) else None
    if not isinstance(events, list):
        raise LogError(
            f"{path}, line 1: no object with traceEvents; expected what export_chrome_trace of PyTorch wrote"
        )
    info = document.get("distributedInfo")
    if not isinstance(info, dict) or "rank" not in info:
        raise LogError(
            f"{path}, line 1: no distributedInfo with a rank, so nobody knows of whom it is; record one file a rank"
            " with torch.profiler, after init_process_group"
        )
    ranks = whole_of(info, "world_size", f"{path}, distributedInfo", 1, MAX_RANKS)
    calls = _calls(path, events)
    if not any(calls[kind] for kind in KINDS):
        raise LogError(f"{path}, line 1: {ONLY_KERNELS if calls[KERNEL] else NO_CALL}")
    return TracedRank(
        file=str(path),
        rank=whole_of(info, "rank", f"{path}, distributedInfo", 0, ranks - 1),
        ranks=ranks,
        host=text_of(document, "host_name"),
        base_ns=whole_of(document, "baseTimeNanoseconds", f"{path}, line 1", most=2**63, default=0),
        calls=calls,
        syncs_us=_syncs(events),
    )


def _syncs(events: Iterable[Any]) -> dict[str, float]:
    """The clock_sync events of the Chrome trace format: one moment that several files record."""
    found = {}
    for event in events:
        if isinstance(event, dict) and event.get("ph") == "c" and isinstance(event.get("args"), dict):
            name, time_us = text_of(event["args"], "sync_id"), event.get("ts")
            if name and _is_time(time_us):
                found[name] = float(time_us)  # type: ignore[arg-type]
    return found


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and isfinite(value) and abs(value) < LARGEST


def _calls(path: Path, events: Iterable[Any]) -> dict[str, list[TracedCall]]:
    found: dict[str, list[TracedCall]] = {kind: [] for kind in (*KINDS, KERNEL)}
    for place, event in enumerate(events):
        name = event.get("name") if isinstance(event, dict) else None
        if not isinstance(name, str) or event.get("ph") != "X":
            continue
        category = event.get("cat")
        kind = next((kind for kind in KINDS if name.startswith(kind)), "") if category in OF_HOSTS else category
        if kind not in found:
            continue
        arguments = event.get("args")
        call = _call(f"{path}, event {place}", kind, event, arguments if isinstance(arguments, dict) else {})
        if call is not None:
            found[kind].append(call)
    for calls in found.values():
        calls.sort(key=lambda call: call.entry_us)
    return found


def _call(place: str, kind: str, event: Mapping[str, Any], arguments: Mapping[str, Any]) -> TracedCall | None:
    """The call of an event; None: of a collective that ranks do not all meet in."""
    is_comms, name = kind == COMMS, event["name"]
    if kind == KERNEL:
        name = (NCCL_KERNEL.match(name) or [""] * 2)[1]
    collective = meeting_of(text_of(arguments, "Collective name") if is_comms else name)
    if not collective:
        return None
    times_us = [event.get(name) for name in ("ts", "dur")]
    if not all(map(_is_time, times_us)) or times_us[1] < 0:  # type: ignore[operator]
        raise LogError(f"{place}: ts and dur are {shown(repr(times_us)[:60])}, expected microseconds, dur 0 or more")
    entry_us, lasts_us = map(float, times_us)  # type: ignore[arg-type]
    dims = arguments.get("Input Dims")
    size = " ".join(text_of(arguments, name) for name in ("In msg nelems", "dtype")) if is_comms else ""
    return TracedCall(
        collective=collective,
        size=size.strip() or (printable(str(dims[0]))[:NAME_LETTERS] if isinstance(dims, list) and dims else ""),
        group=text_of(arguments, "Process Group Name"),
        number=whole_of(arguments, "Seq", place) if "Seq" in arguments else None,
        entry_us=entry_us,
        end_us=entry_us + lasts_us,
    )
