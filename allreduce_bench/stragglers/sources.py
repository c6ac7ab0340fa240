"""Arrivals of whatever has some: runs, NCCL Inspector, torch.profiler, StepMonitor, arrival traces."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..importers.inspector import files_of, is_of_inspector
from ..importers.lines import read_text
from ..importers.row import LogError
from ..runs.arrival_trace import read_trace
from ..runs.folder import RunFolder
from ..units import in_ranks
from . import monitor_source, trace_source
from .arrivals import Arrivals
from .flight_recorder import progress_of_records, refuse_pickle
from .inspector_source import arrivals_of_logs
from .job_files import FLIGHT_RECORDER, KINETO, PICKLE, RAS, kinds_of
from .joined_arrivals import Injected, of_run
from .kineto_source import arrivals_of_traces
from .nccl_ras import progress_of_ras
from .node_states import NodeState
from .progress import Progress

EXPECTED = (
    "expected a run measured with --compute or --arrival, files of NCCL Inspector, of torch.profiler or of the Flight"
    " Recorder, or their folder, NCCL RAS as JSON, the JSON lines of StepMonitor, or an arrival trace (CSV with"
    " step,rank,late_s)"
)
RUN, INSPECTOR, MONITOR, TRACE = "run", "nccl-inspector", "step-monitor", "trace"


class Source(NamedTuple):
    """Arrivals and where they are from."""

    path: str  # the first of its files
    kind: str
    what: str  # of what they are: a cell of a run, a communicator; empty: all that there is
    arrivals: Arrivals
    machines: tuple[NodeState, ...] = ()  # of each node; empty: not known
    injected: Injected = Injected()


class Found(NamedTuple):
    """What files say of the ranks of a job."""

    sources: list[Source]
    progress: list[Progress]  # of records that count calls and have no times that can be compared


def sources_of(paths: Sequence[Path], communicator: str | None = None, step_s: float | None = None) -> list[Source]:
    """The arrivals of all paths in order, as `found_in` finds them. Raises LogError, RunError."""
    return found_in(paths, communicator, step_s).sources


def found_in(paths: Sequence[Path], communicator: str | None = None, step_s: float | None = None) -> Found:
    """What all paths say, in order; the files of NCCL Inspector are parts of one job, so are traces, and records.

    `communicator`: of Inspector, or a process group of traces. `step_s`: how long a step takes, which an arrival trace
    does not say. Raises LogError, RunError.
    """
    parts = [path for path in paths if _is_of_inspector(path)]
    kinds = kinds_of(path for path in paths if path not in parts)
    traces, records = ([path for path, kind in kinds if kind == of_job] for of_job in (KINETO, FLIGHT_RECORDER))
    if communicator and not parts and not traces:
        raise LogError(
            f"{paths[0]}: --communicator chooses one of NCCL Inspector or of traces, which this is not; leave it out"
        )
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


def _is_of_inspector(path: Path) -> bool:
    if path.is_dir():
        return not (path / "run.json").exists() and bool(files_of(path))
    return is_of_inspector(path)


def _of_folder(path: Path) -> list[Source]:
    """The arrivals of a run. Raises LogError: it is none; RunError."""
    if not (path / "run.json").exists():
        raise LogError(f"{path}: no run and no files of NCCL Inspector; {EXPECTED}")
    return [Source(str(path), RUN, *part) for part in of_run(RunFolder(path))]


def _of_file(path: Path, step_s: float | None) -> list[Source]:
    text = read_text(path)
    if monitor_source.recognises(text):
        sessions = monitor_source.sessions(path, text)
        names = [f"start {number}" if len(sessions) > 1 else "" for number in range(1, len(sessions) + 1)]
        return [Source(str(path), MONITOR, name, arrivals) for name, arrivals in zip(names, sessions)]
    if not trace_source.recognises(text):
        raise LogError(f"{path}, line 1: unknown; {EXPECTED}")
    if step_s is None:
        raise LogError(f"{path}: an arrival trace does not say how long a step takes; add --step, such as --step 250ms")
    late_s = read_trace(path)
    steps, ranks = late_s.shape
    what = f"{in_ranks([ranks])}, a step of {step_s:g} s"
    return [Source(str(path), TRACE, what, Arrivals(late_s, np.full(steps, step_s), 0.0, (0,) * ranks))]
