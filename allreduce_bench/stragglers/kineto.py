"""Traces of torch.profiler, one file a rank: when each rank of a job entered each collective call, on a common clock.

`export_chrome_trace` writes them by Kineto: `traceEvents` with `ts` and `dur` in microseconds, `ts` since
`baseTimeNanoseconds` of the wall clock; `distributedInfo` with `rank` and `world_size`; `host_name`. The fields of
`record_param_comms`, which calls of NCCL have, are those of pytorch, torch/csrc/profiler/util.h; such a trace has not
been tested here. A kernel of a GPU waits in its stream and is no entry of the host; its start shows how far its host
runs ahead.

A call of Gloo is an event from its begin to its end, and all ranks end it at about the same time: that is the common
clock (`importers.common_ends`). Without known ends, as of NCCL, whose events end when the host has queued the call,
files of one host share the clock of that host. Other files of several hosts are refused.
"""

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..importers.common_ends import aligned_by_common_end
from ..importers.lines import LARGEST, NAME_LETTERS, US, document_of, listed, shown_value, text_of, whole_of
from ..importers.row import LogError, LogNote, LogWarning
from ..units import MAX_RANKS, format_ranges, format_time, in_ranks, printable, shell_word
from .arrivals import Arrivals

if TYPE_CHECKING:
    import pandas as pd

# Collective calls that no rank can leave before every rank has entered
OUR_NAMES = {  # prefix of PyTorch's name, letters only -> our name
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "barrier": "barrier",
}
SYMMETRIC = ("all_reduce",)  # every rank gives a vector of the same length

# Events
COMMS, OP, GLOO, NCCL = "record_param_comms", "c10d::", "gloo:", "nccl:"
EVENT_KINDS = (COMMS, OP, GLOO, NCCL)  # kinds of events that are an entry of the host, the most informative first
HOST_CATEGORIES = ("cpu_op", "user_annotation")  # categories; gpu_user_annotation is of a GPU
KERNEL = "kernel"  # a category, and the kind of its calls
NCCL_KERNEL = re.compile(r"nccl(?:Dev)?Kernel_(\w+)")

# Of a call; of its process group the name, and the number that counts its calls. What is not said is empty, a number
# None, an end NaN
CALL_FIELDS = ("kind", "collective", "size", "group", "number", "entry_us", "end_us")

# Clocks
HOST_CLOCK_ERROR_S = 20e-6  # Kineto's stamps of 240 calls lay 12 to 30 us before the wall clock of the host
MOST_AHEAD = 0.05  # of a step, by which hosts may run ahead of their GPUs

# Refusals
ONLY_KERNELS = (
    "only kernels of collective calls; a kernel waits in its stream and is no entry of the host, so nobody can be said"
    " to be late; record ProfilerActivity.CPU too"
)
NO_CALL = "no collective call that all ranks meet in; record steps with their all-reduces"


def meeting_of(name: str) -> str:
    """Return `all_reduce` for `c10d::allreduce_` or `ALLREDUCE_coalesced`; empty if it does not synchronise all
    ranks.
    """
    letters = name.rpartition(":")[2].lower().replace("_", "")
    return next((ours for beginning, ours in OUR_NAMES.items() if letters.startswith(beginning)), "")


class TracedRank(NamedTuple):
    """The content of the file of one rank."""

    file: str
    rank: int
    ranks: int
    host: str  # empty: not said
    base_ns: int  # since 1970, what the times of its events are relative to
    calls: "pd.DataFrame"  # a row a call, by its entry, with the columns CALL_FIELDS


def recognises(head: str) -> bool:
    """Return whether a file begins as a trace of Kineto, or as another trace of Chrome."""
    begin = head.lstrip("\ufeff \t\r\n")
    if begin.startswith("["):
        return '"ph"' in begin
    return begin.startswith("{") and ('"traceEvents"' in begin or '"deviceProperties"' in begin)


def read_traced_rank(path: Path) -> TracedRank:
    """Read a file.

    Raises LogError: it is no such trace, does not name its rank, or holds no collective call.
    """
    document = document_of(path)
    events = document.get("traceEvents") if isinstance(document, dict) else None
    if not isinstance(events, list):
        raise LogError(
            f"{path}, line 1: no object with traceEvents; expected what export_chrome_trace of PyTorch wrote"
        )
    info = document.get("distributedInfo")
    if not isinstance(info, dict) or "rank" not in info:
        raise LogError(
            f"{path}, line 1: no distributedInfo with a rank, so nobody knows of whom it is; record one file a rank "
            "with torch.profiler, after init_process_group"
        )
    ranks = whole_of(info, "world_size", f"{path}, distributedInfo", 1, MAX_RANKS)
    calls = _calls_of_events(path, events)
    if not calls["kind"].isin(EVENT_KINDS).any():
        raise LogError(f"{path}, line 1: {NO_CALL if calls.empty else ONLY_KERNELS}")
    return TracedRank(
        file=str(path),
        rank=whole_of(info, "rank", f"{path}, distributedInfo", 0, ranks - 1),
        ranks=ranks,
        host=text_of(document, "host_name"),
        base_ns=whole_of(document, "baseTimeNanoseconds", f"{path}, line 1", most=2**63, default=0),
        calls=calls,
    )


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and isfinite(value) and abs(value) < LARGEST


def _calls_of_events(path: Path, events: Iterable[Any]) -> "pd.DataFrame":
    """Return the calls of all events. Raises LogError.

    The end of an event is that of the call if it is of Gloo, or if Gloo carried out the program's calls one by one.
    """
    import pandas as pd  # late: what is absent or no trace is refused without

    found = []
    for place, event in enumerate(events):
        name = event.get("name") if isinstance(event, dict) else None
        if not isinstance(name, str) or event.get("ph") != "X":
            continue
        kind = KERNEL if event.get("cat") == KERNEL else ""
        if event.get("cat") in HOST_CATEGORIES:
            kind = next((kind for kind in EVENT_KINDS if name.startswith(kind)), "")
        arguments = event.get("args")
        if kind:
            found += _call(f"{path}, event {place}", kind, event, arguments if isinstance(arguments, dict) else {})
    calls = pd.DataFrame(found, columns=[*CALL_FIELDS]).sort_values("entry_us", kind="stable", ignore_index=True)
    of_program, of_gloo = (calls[calls["kind"] == kind] for kind in (OP, GLOO))
    calls["end_us"] = of_gloo["end_us"].reindex(calls.index)
    if [*of_program["collective"]] == [*of_gloo["collective"]]:
        calls.loc[of_program.index, "end_us"] = of_gloo["end_us"].to_numpy()
    return calls


def _call(place: str, kind: str, event: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[tuple]:
    """Return the CALL_FIELDS of an event; nothing for a collective that does not synchronise all ranks."""
    is_comms, name = kind == COMMS, event["name"]
    if kind == KERNEL:
        name = (NCCL_KERNEL.match(name) or [""] * 2)[1]
    collective = meeting_of(text_of(arguments, "Collective name") if is_comms else name)
    if not collective:
        return []
    times_us = [event.get(name) for name in ("ts", "dur")]
    if not all(map(_is_time, times_us)) or times_us[1] < 0:  # type: ignore[operator]
        raise LogError(f"{place}: ts and dur are {shown_value(times_us)}, expected microseconds, dur 0 or more")
    entry_us, lasts_us = map(float, times_us)  # type: ignore[arg-type]
    dims = arguments.get("Input Dims")
    size = " ".join(text_of(arguments, name) for name in ("In msg nelems", "dtype")).strip() if is_comms else ""
    size = size or (printable(str(dims[0]))[:NAME_LETTERS] if isinstance(dims, list) and dims else "")
    number = whole_of(arguments, "Seq", place) if "Seq" in arguments else None
    group = text_of(arguments, "Process Group Name")
    return [(kind, collective, size, group, number, entry_us, entry_us + lasts_us)]


def arrivals_of_traces(paths: Sequence[Path], group: str | None = None) -> tuple[str, Arrivals]:
    """Return the arrivals of the traces of a job, a file a rank, and a description in words.

    `group`: name of a process group, if the traces name several. Raises LogError if the files are not of one job, or
    have no common clock. Warns of ranks without a file and of calls that not every rank recorded.
    """
    import pandas as pd

    parts = _one_job([read_traced_rank(path) for path in paths])
    every = pd.concat([_on_host_clock(part, min(each.base_ns for each in parts)) for part in parts])
    calls = every[every["kind"] == _kind(parts, every)]
    chosen = _chosen_group(parts[0].file, calls, group)
    every, calls = every[every["group"].isin(("", chosen))], calls[calls["group"] == chosen]
    parts = [part for part in parts if part.rank in {*calls["rank"]}]
    collectives, entry_s, end_s = _match_calls(parts, calls)
    if len(entry_s) < 2:
        raise LogError(f"{parts[0].file}: one call; record several steps")
    is_last = _is_last(entry_s, end_s)
    ready_s, leave_s, error_s = _put_on_one_clock(parts, entry_s, end_s, is_last)
    _refuse_hosts_ahead(parts, every[every["kind"] == KERNEL], entry_s)
    stop_s = np.maximum.accumulate(leave_s.max(axis=1))[is_last]
    step_s = np.diff(stop_s)
    used = np.concatenate([[False], step_s > 0])
    if not used.any():
        raise LogError(f"{parts[0].file}: one step; record several steps")
    hosts = {part.rank: part.host or "unknown" for part in parts}
    of_rank = [hosts.get(rank, "unknown") for rank in range(parts[0].ranks)]
    names = list(dict.fromkeys(of_rank))
    of_group = f"process group {chosen}, " if chosen else ""
    kinds = ", ".join(f"{count} {name}" for name, count in Counter(collectives).items())
    in_steps = f" in {is_last.sum()} steps" if not is_last.all() else ""
    begin_s = stop_s[:-1][used[1:]]
    whole = np.full((len(ready_s), parts[0].ranks), np.nan)  # a column for each rank of the job
    whole[:, [part.rank for part in parts]] = ready_s
    return f"{of_group}{in_ranks([parts[0].ranks])}, {kinds}{in_steps}", Arrivals(
        ready_s=whole[is_last][used],
        step_s=step_s[used[1:]],
        clock_error_s=error_s,
        node_of=tuple(map(names.index, of_rank)),
        nodes=tuple(names),
        begin_s=begin_s - begin_s[0],
    )


def _on_host_clock(part: TracedRank, first_ns: int) -> "pd.DataFrame":
    """Return the calls with their rank, entries and ends in seconds since `first_ns`, by the clock of the host."""
    base_s = (part.base_ns - first_ns) * 1e-9
    times = {f"{name}_s": part.calls[f"{name}_us"] * US + base_s for name in ("entry", "end")}
    return part.calls.assign(rank=part.rank, **times)


def _one_job(parts: Sequence[TracedRank]) -> list[TracedRank]:
    """Return the files by rank. Raises LogError if they contradict each other or are too few."""
    of_rank: dict[int, TracedRank] = {}
    for part in parts:
        first = parts[0]
        if part.ranks != first.ranks:
            raise LogError(
                f"{part.file}: world_size is {part.ranks}, but {first.ranks} in {first.file}; give the files of one job"
            )
        before = of_rank.setdefault(part.rank, part)
        if before is not part:
            raise LogError(f"{part.file}: rank {part.rank} is also in {before.file}; give one file a rank")
    ordered = [of_rank[rank] for rank in sorted(of_rank)]
    if len(ordered) < 2:
        raise LogError(
            f"{parts[0].file}: one file, of rank {parts[0].rank} of {parts[0].ranks}, so nobody can be said to be "
            "late; give the files of all ranks"
        )
    _warn_of_absent(ordered)
    return ordered


def _warn_of_absent(parts: Sequence[TracedRank]) -> None:
    if absent := set(range(parts[0].ranks)) - {part.rank for part in parts}:
        warnings.warn(f"no file of rank{'s' * (len(absent) > 1)} {format_ranges(absent)}", LogWarning, stacklevel=2)


def _kind(parts: Sequence[TracedRank], every: "pd.DataFrame") -> str:
    """Return the kind of events taken as entries: the same for all ranks, with known ends if possible."""
    ranks_of = every.groupby("kind")["rank"].nunique()
    present = [kind for kind in EVENT_KINDS if ranks_of.get(kind, 0) == len(parts)]
    if not present:
        raise LogError(f"{parts[0].file}: ranks recorded different events of their calls; record all ranks alike")
    if present[0] == OP and GLOO in present and every["end_us"][every["kind"] == OP].isna().any():
        return GLOO
    return present[0]


def _chosen_group(file: str, calls: "pd.DataFrame", wanted: str | None) -> str:
    """Return the process group to judge; empty: events do not name theirs. Raises LogError: none, or several."""
    ranks_of = calls.groupby("group", sort=False)["rank"].nunique()
    several = [*ranks_of.index[ranks_of > 1]]
    candidates = [group for group in several if wanted in (None, group)]
    if not candidates:
        named = f"; there are: {listed(filter(None, several))}" if any(several) else ", for its events name none"
        raise LogError(f"{file}: no process group {wanted or ''} of several ranks".replace("  ", " ") + named)
    if len(candidates) > 1:
        raise LogError(
            f"{file}: {len(candidates)} process groups, where one is expected: {listed(candidates)}; choose one with "
            f"--communicator {shell_word(next(filter(None, candidates)))}"
        )
    return candidates[0]


def _match_calls(parts: Sequence[TracedRank], calls: "pd.DataFrame") -> tuple[list[str], np.ndarray, np.ndarray]:
    """Match the calls by their numbers, else by their order. Raises LogError if that is impossible.

    Return what each call is, and entries and ends: float64 [call, rank with a file], seconds.
    """
    counts, first = calls.groupby("rank").size(), parts[0]
    if calls["number"].isna().any():
        for part in parts[1:]:
            if counts[part.rank] != counts[first.rank]:
                raise LogError(
                    f"{part.file}: {counts[part.rank]} collective calls of rank {part.rank}, but {counts[first.rank]} "
                    f"of rank {first.rank}, and they have no numbers to match them by; record the same steps on all "
                    "ranks"
                )
        calls = calls.assign(number=0)
    calls = calls.assign(index=calls.groupby(["rank", "number"]).cumcount())  # several may be grouped under one number
    alone = calls["collective"].where(~calls["collective"].isin(SYMMETRIC) | (calls["size"] == ""))
    calls["words"] = alone.fillna(calls["collective"] + " of " + calls["size"])
    fields = ("collective", "words", "entry_s", "end_s")
    by_rank = [calls.pivot(index=["number", "index"], columns="rank", values=field) for field in fields]
    whole = by_rank[2].dropna()
    order = whole.index[np.argsort(whole[first.rank], kind="stable")]
    if order.empty:
        raise LogError(f"{first.file}: no call was recorded by every rank; record the same steps on all")
    if fewer := [f"rank {rank} {count}" for rank, count in counts.items() if count > len(order)]:
        sentence = f"every rank recorded {len(order)} calls; further ones are left out: {listed(fewer)}"
        warnings.warn(sentence, LogWarning, stacklevel=2)
    collectives, words, entry_s, end_s = (table.loc[order].to_numpy() for table in by_rank)
    for place, row in enumerate(words.tolist()):
        for part, call in zip(parts, row):
            if call != row[0]:
                raise LogError(
                    f"{part.file}: call {place} is {call} on rank {part.rank}, but {row[0]} on rank {first.rank}; give "
                    "files of one job, recorded over the same steps"
                )
    return collectives[:, 0].tolist(), entry_s, end_s


def _put_on_one_clock(
    parts: Sequence[TracedRank], entry_s: np.ndarray, end_s: np.ndarray, is_last: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return entries and ends on one clock, and its error. Raises LogError: there is none, or clocks disagree.

    `is_last`: bool [call], of the calls that end a step. Without known ends the last entry stands for the end: no rank
    can leave before it.
    """
    hosts = {part.host for part in parts}
    is_one_host = len(hosts) == 1 and "" not in hosts
    if is_one_host:
        _refuse_other_times(parts, entry_s)
    if np.isfinite(end_s).all():
        origin_s = entry_s.min() if is_one_host else entry_s.min(axis=0)
        ready_s, error_s = aligned_by_common_end(entry_s - origin_s, end_s - origin_s)
        leave_s = ready_s + (end_s - entry_s)
        moved_s = np.ptp(np.median(entry_s - origin_s - ready_s, axis=0)) if is_one_host else 0.0
        _refuse_disagreement(parts, max(error_s, float(moved_s)), leave_s[is_last])
        return ready_s, leave_s, error_s
    if not is_one_host:
        named = listed(sorted(host or "unknown" for host in hosts), 4)
        raise LogError(
            f"{parts[0].file}: no common clock: one file a rank, of the hosts {named}, and no event that ends on all "
            "ranks at once, as calls of Gloo do; nobody can be said to be late"
        )
    sentence = (
        "no end of a call is recorded, so a step lasts from entry to entry; hosts enter calls of a GPU before it "
        "begins them, so what is said is of the hosts"
    )
    warnings.warn(sentence, LogNote, stacklevel=2)
    ready_s = entry_s - entry_s.min()
    return ready_s, ready_s, HOST_CLOCK_ERROR_S


def _is_last(entry_s: np.ndarray, end_s: np.ndarray) -> np.ndarray:
    """Return for each call whether it ends a step, bool [call]: whether the next one is entered after its end.

    Buckets of gradients are reduced while ranks go on computing, and awaited together: ranks come late to the last of
    them. Decided by the clock of each rank, and the majority of ranks. Without known ends every call is a step.
    """
    overlaps = np.median(entry_s[1:] - end_s[:-1], axis=1) < 0
    return np.concatenate([~overlaps, [True]])


def _refuse_disagreement(parts: Sequence[TracedRank], apart_s: float, leave_s: np.ndarray) -> None:
    """Raise LogError if the ends of the same calls differ by more than half a step."""
    ends_s = np.maximum.accumulate(leave_s.max(axis=1))
    step_s = float(np.median(np.diff(ends_s))) if len(ends_s) > 1 else np.inf
    if apart_s > step_s / 2:
        raise LogError(
            f"{parts[0].file}: clocks do not agree: calls that are the same by their order end up to "
            f"{format_time(apart_s)} apart, and a step takes {format_time(step_s)}; give files of one job, recorded "
            "over the same steps"
        )


def _refuse_other_times(parts: Sequence[TracedRank], entry_s: np.ndarray) -> None:
    """Raise LogError if files of one host are not of the same time by its clock."""
    late = int(entry_s[0].argmax())
    early = int(entry_s[-1].argmin())
    if entry_s[0, late] > entry_s[-1, early]:
        apart_s = float(entry_s[0, late] - entry_s[-1, early])
        raise LogError(
            f"{parts[late].file}: clocks do not agree: rank {parts[late].rank} begins {format_time(apart_s)} after "
            f"rank {parts[early].rank} has ended, by the clock of host {parts[0].host}; give files of one job"
        )


def _refuse_hosts_ahead(parts: Sequence[TracedRank], kernels: "pd.DataFrame", entry_s: np.ndarray) -> None:
    """Raise LogError if hosts enter calls long before their GPUs begin them: ranks are then ready later than
    recorded.
    """
    begin_s = [kernels["entry_s"][kernels["rank"] == part.rank].to_numpy() for part in parts]
    if any(len(of_rank) != len(entry_s) for of_rank in begin_s):
        return
    ahead_s = float(np.median(np.array(begin_s).T - entry_s))
    step_s = float(np.median(np.diff(entry_s.max(axis=1))))
    if ahead_s > MOST_AHEAD * step_s:
        raise LogError(
            f"{parts[0].file}: hosts enter calls {format_time(ahead_s)} before their GPUs begin them, and a step takes "
            f"{format_time(step_s)}; so entries do not say when a rank is ready, and nobody can be said to be late"
        )
