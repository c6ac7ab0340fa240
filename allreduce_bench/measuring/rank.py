"""The story of a launch as its ranks tell it: plan, folder, launch, cells, table. A rank that fails ends all."""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from mpi4py import MPI

from ..algorithms import find_planned
from ..machine.node import host
from ..runs.folder import CellKey, RunFolder
from ..runs.plan import Launch, Plan
from ..runs.recorder import Recorder
from ..runs.rows import RunError
from ..watching.lifeline import WarningFlag
from ..watching.progress import LaunchPosition, ProgressLines
from ..watching.watch import Watch
from ..watching.whereabouts import doing, step_of
from .context import Context, nodes_of
from .launch import measure_cells
from .startup import start_mpi
from .surroundings import (
    end_together,
    enter,
    facts_of,
    own_mpi,
    refuse_few_nodes,
    refuse_other_ranks,
    start_together,
)
from .sync import EarlierSync, wait_quietly

ABORT_PAUSE_S = 1.0  # MPI may fail here because another rank has died: its line breaks within that time
Opened = tuple[RunFolder, Plan, Launch | None]  # None: nothing is left to measure
T = TypeVar("T")

doing("starting MPI")(start_mpi)  # not where it stands: the stopwatch of the start there loads nothing first


class TaskRefused(Exception):
    """This launch must not be measured, in words: the same on all ranks, and before anything of it is written."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What the ranks of one launch are told when they start; only rank 0 calls the functions and touches files."""

    open_run: Callable[[], Opened]
    close_run: Callable[[RunFolder, Plan], object]
    command: str
    position: LaunchPosition
    skip_hung: bool
    transport: str | None  # as the MPI says; rank 0 only
    warning: WarningFlag  # the launch ends after the cell in progress; what rank 0 has heard counts
    watch: Watch | None = None  # None: nobody watches yet, so rank 0 shall
    timeout_s: float = 0.0  # of a launch that rank 0 watches


def take_part(task: Task) -> int:
    """Measure one launch with all ranks of COMM_WORLD; the phases are those of `cli.run_from_outside`.

    Returns the exit status: 0, 1 after a failed check or when `close_run` names one, 2 where rank 0 could not open the
    run or what the ranks saw before measuring was not what was planned.
    """
    comm, watch = MPI.COMM_WORLD, task.watch
    try:
        # plan and folder, as rank 0 reads them: cli.run_as_rank, or measuring.command where we started the ranks
        folder, plan, launch = _agreed(comm, lambda: _opened(comm, task.open_run))
        failed = 0
        if launch is not None:
            # launch: measuring.surroundings, runs.recorder
            watch = watch or _guarded(comm, task, folder, launch)
            context, recorder, finished = _entered(comm, task, folder, plan, launch)

            # cells: measuring.launch, measuring.cell
            listener = _ProgressReporter(watch, task)
            failed = measure_cells(context, recorder, finished, listener)
            listener.is_warned()  # in the last cell, perhaps
            end_together(context, recorder)
            if recorder is not None:
                recorder.seal()

        # table: cli.end_of_run, where nobody started the ranks who prints it
        missed = task.close_run(folder, plan) if comm.rank == 0 else None
        if watch is not None:
            watch.close()  # before the ranks part: whoever hears nothing more shall not take it for an accident
        wait_quietly(comm)
        return 1 if comm.bcast(bool(missed)) or failed else 0
    except TaskRefused as refusal:
        _say_refused(comm, task, watch, str(refusal))
        return 2
    except BaseException as error:  # whatever it is, the other ranks must not wait for this one
        reason = f"{_one_line(error)}{step_of(error)}"
        pause_s = ABORT_PAUSE_S if isinstance(error, MPI.Exception) else 0.0
        if watch is not None:
            watch.say("failed", why=reason, pause_s=pause_s)
        print(f"error: rank {comm.rank} of {comm.size}: {reason}; finished cells are kept", file=sys.stderr, flush=True)
        time.sleep(pause_s)
        comm.Abort(1)
        os._exit(1)  # where an Abort returns


def _guarded(comm: MPI.Comm, task: Task, folder: RunFolder, launch: Launch) -> Watch:
    """The watch of this rank where nobody who started the ranks watches: rank 0 does."""
    from ..watching.unattended import guard  # late: most ranks have a watch

    is_one_node = len(nodes_of(comm).nodes) == 1
    return guard(comm, task.timeout_s, folder, launch, is_one_node)


def _one_line(error: BaseException) -> str:
    """The type and the last two lines of an error, in one: an MPI library may write many."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return "interrupted" if isinstance(error, KeyboardInterrupt) else f"{type(error).__name__}: {'; '.join(lines[-2:])}"


def _say_refused(comm: MPI.Comm, task: Task, watch: Watch | None, reason: str) -> None:
    """Have the refusal printed once: by the process that started the ranks; where it is not connected, by rank 0."""
    if task.watch is not None:
        task.watch.say("failed", why=reason, pause_s=0.0, refused=True)
    elif watch is not None:
        watch.close()
    if comm.rank == 0 and not (task.watch is not None and task.watch.connected.is_set()):
        print(f"error: {reason}", file=sys.stderr, flush=True)


def _agreed(comm: MPI.Comm, ask: Callable[[], T]) -> T:
    """What `ask` gives on rank 0, on all ranks. Raises TaskRefused on all of them where it raises for bad input."""
    result: T | TaskRefused | None = None
    if comm.rank == 0:
        try:
            result = ask()
        except (ValueError, OSError) as error:
            result = TaskRefused(str(error))
    wait_quietly(comm)
    result = comm.bcast(result)
    if isinstance(result, TaskRefused):
        raise result
    return result


def _opened(comm: MPI.Comm, open_run: Callable[[], Opened]) -> Opened:
    """The run. Raises what `open_run` does, and RunError where this launch does not belong to it."""
    folder, plan, launch = open_run()
    _refuse_to_mix(comm, folder, plan, launch)
    return folder, plan, launch


def _refuse_to_mix(comm: MPI.Comm, folder: RunFolder, plan: Plan, launch: Launch | None) -> None:
    """Raises RunError where other launches of the run had another MPI, or MPI sees another number of ranks."""
    find_planned(plan.algorithms, plan.files, plan.file_digests)
    if launch is not None and launch.ranks != comm.size:
        refuse_other_ranks(launch, comm.size)
    mpi = own_mpi()
    for attempt in folder.attempts(typed=False):
        for key in ("library", *(["thread_level"] if attempt["ranks"] == comm.size else [])):
            if attempt["mpi"].get(key) != mpi[key]:
                other = f"{attempt['mpi'].get(key)} in launch {attempt['launch']}"
                raise RunError("measuring.measured_begin_new_run", folder=folder.path, other=other, mpi=mpi[key])


def _entered(
    comm: MPI.Comm, task: Task, folder: RunFolder, plan: Plan, launch: Launch
) -> tuple[Context, Recorder | None, set[CellKey]]:
    """Where the launch runs; on rank 0 also its recorder, and the cells that are finished. Raises TaskRefused."""
    context = enter(comm, plan, launch, task.position.deadline)
    if plan.start.ranks_per_node is not None:
        hosts = comm.gather(host())
        _agreed(comm, lambda: refuse_few_nodes(plan, launch, context.real, hosts or ()))
    facts = facts_of(comm, context, task.command, task.transport)
    context = start_together(context, facts, _earlier_sync(comm, folder, plan))
    if facts is None:
        return context, None, set()
    finished = folder.finished(launch, task.skip_hung)
    recorder = Recorder(folder, launch.name, facts)
    for finding in facts["findings"]:
        is_warning, is_of_sync = finding["level"] != "info", finding["code"] == "sync"
        if (is_warning or is_of_sync) and (launch.number == 1 or (is_warning and is_of_sync)):
            recorder.warn(finding)
    return context, recorder, finished


def _earlier_sync(comm: MPI.Comm, folder: RunFolder, plan: Plan) -> EarlierSync | None:
    """How the first launch of as many ranks entered its calls, where that decides; rank 0 only."""
    if comm.rank or plan.sync != "auto" or comm.size == 1:
        return None
    attempts = folder.attempts(typed=False)
    alike = [attempt for attempt in attempts if attempt["ranks"] == comm.size and attempt.get("sync")]
    return EarlierSync(alike[0]["launch"], alike[0]["sync"]["way"]) if alike else None


class _ProgressReporter:
    """Tells the monitor how far rank 0 is; where no monitor is connected, prints lines to stderr."""

    def __init__(self, watch: Watch, task: Task):
        self.watch, self.lines = watch, ProgressLines(task.position)
        self.is_monitored, self.warning = task.watch is not None, task.warning

    def is_warned(self) -> bool:
        """Whether the warning came; the monitor is told, since it may not have got it itself."""
        if self.warning.is_set:
            self.watch.say("warned")
        return self.warning.is_set

    def begin(self, label: str, facts: dict) -> None:
        self.lines.begin(label)
        self.watch.say("cell", words=label, facts=facts)

    def end(self, done: int, cells: int, label: str, failed: bool) -> None:
        if self.is_monitored and self.watch.connected.is_set():
            self.watch.say("result", done=done, cells=cells, words=label, failed=failed)
        else:
            self.lines.cell(done, cells, label, failed)
