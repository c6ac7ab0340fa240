"""Sources of arrivals: runs, NCCL Inspector, torch.profiler, StepMonitor, arrival traces.

Files of PyTorch and NCCL are recognised by their content. Those that count calls and have no comparable times (Flight
Recorder, NCCL RAS) show which rank is behind instead.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..importers.lines import head_of, is_pickle, read_text
from ..importers.row import LogError
from ..importers.tools.nccl_inspector import (
    BEGIN,
    EXIT,
    MEETING,
    READY,
    VERBOSE,
    Communicator,
    call_table,
    chosen_communicator,
    files_of,
    is_of_inspector,
    logs_of,
    stamps_of_calls,
)
from ..message import say
from ..runs.folder import RunFolder
from ..runs.injected import HEADER, read_trace
from ..units import in_ranks
from . import flight_recorder, kineto, monitor_log, nccl_ras
from .arrivals import Arrivals
from .flight_recorder import progress_of_records, refuse_pickle
from .kineto import arrivals_of_traces
from .nccl_ras import progress_of_ras
from .of_run import Injected, NodeState, of_run
from .progress import Progress

# Kinds of files, recognised by content
KINETO, FLIGHT_RECORDER, RAS, PICKLE = "kineto", "flight-recorder", "nccl-ras", "pickle"
RECOGNISERS = {
    KINETO: kineto.recognises,
    FLIGHT_RECORDER: flight_recorder.recognises,
    RAS: nccl_ras.recognises,
}
TITLES = {
    KINETO: "a trace in the Chrome format, as torch.profiler writes it",
    FLIGHT_RECORDER: "a record of PyTorch's Flight Recorder",
    RAS: "a report of NCCL RAS",
}

# Kinds of sources
RUN, INSPECTOR, MONITOR, TRACE = "run", "nccl-inspector", "step-monitor", "trace"

EXPECTED = (
    "expected a run measured with --compute or --arrival, files of NCCL Inspector, of torch.profiler or of the Flight"
    " Recorder, or their folder, NCCL RAS as JSON, the JSON lines of StepMonitor, or an arrival trace (CSV with"
    " step,rank,late_s)"
)


class Source(NamedTuple):
    """Arrivals and their source."""

    path: str  # the first of its files
    kind: str
    what: str  # description: a cell of a run, a communicator; empty: everything
    arrivals: Arrivals
    machines: tuple[NodeState, ...] = ()  # of each node; empty: not known
    injected: Injected = Injected()


class Found(NamedTuple):
    """The content of files about the ranks of a job."""

    sources: list[Source]
    progress: list[Progress]  # of records that count calls and have no comparable times


def found_in(paths: Sequence[Path], communicator: str | None = None, step_s: float | None = None) -> Found:
    """Read all paths, in order; the files of NCCL Inspector are parts of one job, so are traces, and records.

    `communicator`: of Inspector, or a process group of traces. `step_s`: the duration of a step, which an arrival trace
    lacks. Raises LogError, RunError.
    """
    parts = [path for path in paths if _is_of_inspector(path)]
    kinds = kinds_of(path for path in paths if path not in parts)
    traces, records = ([path for path, kind in kinds if kind == of_job] for of_job in (KINETO, FLIGHT_RECORDER))
    if communicator and not parts and not traces:
        raise LogError("stragglers.communicator_chooses_nccl_inspector", paths=paths[0])
    found = Found([], [])
    for path, kind in [*((path, INSPECTOR) for path in parts[:1]), *kinds]:
        if kind == INSPECTOR:
            chosen, arrivals = arrivals_of_logs(parts, communicator)
            found.sources.append(Source(str(path), INSPECTOR, f"communicator {chosen.words}", arrivals))
        elif kind == KINETO and path == traces[0]:
            found.sources.append(Source(str(path), KINETO, *arrivals_of_traces(traces, communicator)))
        elif kind == FLIGHT_RECORDER and path == records[0]:
            found.progress.extend(progress_of_records(records))
        elif kind == RAS:
            found.progress.extend(progress_of_ras(path))
        elif kind == PICKLE:
            raise refuse_pickle(path)
        elif path.is_dir():
            found.sources.extend(_of_folder(path))
        elif not kind:
            found.sources.extend(_of_file(path, step_s))
    return found


def sources_of(paths: Sequence[Path], communicator: str | None = None, step_s: float | None = None) -> list[Source]:
    """Return the arrivals of all paths in order, as `found_in` finds them. Raises LogError, RunError."""
    return found_in(paths, communicator, step_s).sources


def _is_of_inspector(path: Path) -> bool:
    if path.is_dir():
        return not (path / "run.json").exists() and bool(files_of(path))
    return is_of_inspector(path)


def _of_folder(path: Path) -> list[Source]:
    """Return the arrivals of a run. Raises LogError: it is none; RunError."""
    if not (path / "run.json").exists():
        raise LogError("stragglers.no_run_no_files", path=path, expected=EXPECTED)
    return [Source(str(path), RUN, *part) for part in of_run(RunFolder(path))]


def _of_file(path: Path, step_s: float | None) -> list[Source]:
    text = read_text(path)
    if monitor_log.recognises(text):
        sessions = monitor_log.sessions(path, text)
        names = [f"start {number}" if len(sessions) > 1 else "" for number in range(1, len(sessions) + 1)]
        return [Source(str(path), MONITOR, name, arrivals) for name, arrivals in zip(names, sessions)]
    if not is_arrival_trace(text):
        raise LogError("stragglers.line_unknown", path=path, expected=EXPECTED)
    if step_s is None:
        raise LogError("stragglers.arrival_trace_does_not", path=path)
    late_s = read_trace(path)
    steps, ranks = late_s.shape
    what = say("stragglers.step", in_ranks=in_ranks([ranks]), step_s=step_s)
    return [Source(str(path), TRACE, what, Arrivals(late_s, np.full(steps, step_s), 0.0, (0,) * ranks))]


def kinds_of(paths: Iterable[Path]) -> list[tuple[Path, str]]:
    """Return each path with its kind; a folder is replaced by such files in it. Pickles beside others are skipped."""
    found = []
    for path in paths:
        below = (
            _known_files_in(path) if path.is_dir() and not (path / "run.json").exists() and not files_of(path) else []
        )
        others = [one for one in below if one[1] != PICKLE]
        found += others or below or [(path, kind_of(path))]
    return found


def _known_files_in(folder: Path) -> list[tuple[Path, str]]:
    every = ((file, kind_of(file)) for file in sorted(folder.rglob("*")))
    return [one for one in every if one[1]]


def kind_of(path: Path) -> str:
    """Return KINETO, FLIGHT_RECORDER, RAS or PICKLE; empty: anything else, also a folder."""
    head = head_of(path)
    if is_pickle(head):
        return PICKLE
    text = head.decode(errors="replace")
    return next((kind for kind, recognises in RECOGNISERS.items() if recognises(text)), "")


def description_of(head: str) -> str:
    """Describe a text that begins so, and name the command that reads it; empty if unknown."""
    kind = next((kind for kind, recognises in RECOGNISERS.items() if recognises(head)), "")
    return say("stragglers.give_allreduce_bench_stragglers", titles=TITLES[kind]) if kind else ""


def is_arrival_trace(text: str) -> bool:
    """Return whether a text begins as an arrival trace, `step,rank,late_s`, which `run --arrival FILE.csv` replays."""
    first = text.lstrip("\ufeff").partition("\n")[0]
    return [word.strip() for word in first.split(",")] == HEADER


def trace_text(arrivals: Arrivals) -> str:
    """Format arrivals as a trace (`runs.injected`), in steps from 0, without steps with unknown ranks.

    Raises LogError if no step is known of every rank.
    """
    whole_steps = ~np.isnan(arrivals.ready_s).any(axis=1)
    late_s = arrivals.ready_s[whole_steps]
    if not late_s.size:
        raise LogError("stragglers.trace_no_step_arrivals")
    late_s = late_s - late_s.min(axis=1, keepdims=True)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for step, of_step in enumerate(late_s.tolist()):
        writer.writerows((step, rank, f"{time_s:.9g}") for rank, time_s in enumerate(of_step))
    return out.getvalue()


def arrivals_of_logs(paths: Sequence[Path], communicator: str | None) -> tuple[Communicator, Arrivals]:
    """Return the arrivals of files of NCCL Inspector, and their communicator. Raises LogError."""
    chosen = chosen_communicator(logs_of(paths), communicator, MEETING)
    stamps = stamps_of_calls(call_table(chosen, MEETING))
    if stamps is None:
        raise LogError("stragglers.no_stamps_kernels_nobody", place=chosen.place, verbose=VERBOSE)
    has_rank = np.isin(np.arange(chosen.ranks), list(chosen.of_rank))
    begin_s = stamps.times_s[BEGIN, :, has_rank].T[:, 0]
    end_s = stamps.times_s[EXIT, :, has_rank].T.max(axis=1)
    known = np.isfinite(begin_s) & np.isfinite(end_s)
    if not known.any():
        raise LogError("stragglers.no_two_successive_calls", place=chosen.place)
    return chosen, Arrivals(
        ready_s=stamps.times_s[READY, known],
        step_s=(end_s - begin_s)[known],
        clock_error_s=stamps.clock_error_s,
        node_of=chosen.node_of,
        nodes=tuple(host or "unknown" for host in dict.fromkeys(chosen.hosts)),
        begin_s=begin_s[known] - begin_s[known][0],
    )
