"""Sources of arrivals: runs, NCCL Inspector, torch.profiler, StepMonitor; told by their content."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..importers.lines import document_of, head_of, read_text
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
from ..runs.folder import RunFolder
from ..runs.injected import HEADER
from . import kineto, monitor_log
from .arrivals import Arrivals
from .kineto import arrivals_of_traces
from .run_arrivals import ArrivalSource, parts_of_run

# Kinds of sources
RUN, INSPECTOR, KINETO, MONITOR = "run", "nccl-inspector", "kineto", "step-monitor"

EXPECTED = (
    "expected a run measured with --compute or --arrival, files of NCCL Inspector or torch.profiler, or their folder,"
    " or the JSON lines of StepMonitor"
)


def find_sources(paths: Sequence[Path], communicator: str | None = None) -> list[ArrivalSource]:
    """Return the arrivals of all paths, in order; the files of NCCL Inspector are parts of one job, so are traces.

    `communicator`: of Inspector, or a process group of traces. Raises LogError, RunError.
    """
    kinds = [(path, kind_of(path)) for given in paths for path in expand_folder(given)]
    logs, traces = ([path for path, kind in kinds if kind == wanted] for wanted in (INSPECTOR, KINETO))
    if communicator and not logs and not traces:
        raise LogError(
            f"{paths[0]}: --communicator chooses one of NCCL Inspector or of traces, which this is not; leave it out"
        )
    found = []
    if logs:
        chosen, arrivals = arrivals_of_logs(logs, communicator)
        found.append(ArrivalSource(f"communicator {chosen.words}", arrivals, path=str(logs[0]), kind=INSPECTOR))
    for path, kind in kinds:
        if kind == RUN:
            found += [part._replace(path=str(path), kind=RUN) for part in parts_of_run(RunFolder(path))]
        elif path in traces[:1]:
            found.append(ArrivalSource(*arrivals_of_traces(traces, communicator), path=str(path), kind=KINETO))
        elif not kind:
            found += _sources_of_file(path)
    return found


def kind_of(path: Path) -> str:
    """Return RUN, INSPECTOR (also of a folder of its files), KINETO, or an empty word: something else."""
    if path.is_dir():
        return RUN if (path / "run.json").exists() else INSPECTOR if files_of(path) else ""
    if is_of_inspector(path):
        return INSPECTOR
    return KINETO if kineto.recognises(head_of(path).decode(errors="replace")) else ""


def expand_folder(path: Path) -> list[Path]:
    """Return the path; instead of a folder of unknown kind the traces of torch.profiler in it, if any.

    Raises LogError for a damaged JSON file below such a folder, which may be the trace of a rank.
    """
    if kind_of(path) or not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.is_file())
    traces = [file for file in files if kind_of(file) == KINETO]
    for file in files:
        if file not in traces and file.name.endswith((".json", ".json.gz")):
            document_of(file)
    return traces or [path]


def _sources_of_file(path: Path) -> list[ArrivalSource]:
    if path.is_dir():
        raise LogError(f"{path}: no run and no files of NCCL Inspector; {EXPECTED}")
    text = read_text(path)
    if not monitor_log.recognises(text):
        raise LogError(f"{path}, line 1: unknown; {EXPECTED}")
    sessions = monitor_log.read_sessions(path, text)
    return [
        ArrivalSource(f"start {number}" * (len(sessions) > 1), arrivals, path=str(path), kind=MONITOR)
        for number, arrivals in enumerate(sessions, start=1)
    ]


def describe_log(head: str) -> str:
    """Describe a text that begins so, and name the command that reads it; empty if unknown."""
    return (
        "a trace in the Chrome format, as torch.profiler writes it: give it to 'allreduce-bench stragglers'"
        if kineto.recognises(head)
        else ""
    )


def trace_text(arrivals: Arrivals) -> str:
    """Format arrivals as a trace (`runs.injected`), in steps from 0, without steps with unknown ranks.

    Raises LogError if no step is known of every rank.
    """
    import pandas as pd  # late: what is absent is refused without

    whole_steps = ~np.isnan(arrivals.ready_s).any(axis=1)
    late_s = arrivals.ready_s[whole_steps]
    if not late_s.size:
        raise LogError("--trace: no step has the arrivals of all ranks, so there is no trace to write; leave it out")
    columns = (*np.indices(late_s.shape), late_s - late_s.min(axis=1, keepdims=True))
    rows = pd.DataFrame({name: values.ravel() for name, values in zip(HEADER, columns)})
    return rows.to_csv(index=False, float_format="%.9g", lineterminator="\n")


def arrivals_of_logs(paths: Sequence[Path], communicator: str | None) -> tuple[Communicator, Arrivals]:
    """Return the arrivals of files of NCCL Inspector, and their communicator. Raises LogError."""
    chosen = chosen_communicator(logs_of(paths), communicator, MEETING)
    stamps = stamps_of_calls(call_table(chosen, MEETING))
    if stamps is None:
        raise LogError(f"{chosen.place}: no stamps of kernels, so nobody can be said to be late; record with {VERBOSE}")
    has_rank = np.isin(np.arange(chosen.ranks), list(chosen.of_rank))
    begin_s = stamps.times_s[BEGIN, :, has_rank].T[:, 0]
    end_s = stamps.times_s[EXIT, :, has_rank].T.max(axis=1)
    known = np.isfinite(begin_s) & np.isfinite(end_s)
    if not known.any():
        raise LogError(f"{chosen.place}: no two successive calls were recorded by every rank")
    return chosen, Arrivals(
        ready_s=stamps.times_s[READY, known],
        step_s=(end_s - begin_s)[known],
        clock_error_s=stamps.clock_error_s,
        node_of=chosen.node_of,
        nodes=tuple(host or "unknown" for host in dict.fromkeys(chosen.hosts)),
        begin_s=begin_s[known] - begin_s[known][0],
    )
