"""Course of a launch on its ranks: plan, folder, launch, cells, table. A rank that fails ends all."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from mpi4py import MPI

from ..algorithms import find_planned
from ..machine.node import host
from ..runs.folder import CellKey, RunFolder
from ..runs.plan import Launch, Plan
from ..runs.recorder import Recorder, kind_of
from ..runs.rows import RunError
from ..watching.progress import ProgressLines
from ..watching.watch import Watch
from ..watching.whereabouts import doing, step_of
from .context import Context, nodes_of
from .launch import measure_cells
from .started import Opened, RefusedLaunch, StartedRanks
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
from .sync import wait_quietly

ABORT_PAUSE_S = 1.0  # seconds: another rank's death may make MPI fail here; its connection breaks within that time
T = TypeVar("T")

doing("starting MPI")(start_mpi)  # not at its definition: the start's stopwatch must load nothing first


def take_part(start: StartedRanks) -> int:
    """Measure one launch with all ranks of COMM_WORLD; the phases are those of `cli.run_from_outside`.

    Returns the exit status: 0, 1 after a failed check or if `finish_run` names one, 2 if rank 0 could not open the run
    or the environment differs from the plan.
    """
    comm, watch = MPI.COMM_WORLD, start.watch
    earlier: list[dict] = []  # facts of earlier attempts; rank 0 only
    try:
        # plan and folder, read by rank 0: cli.run_as_rank, or measuring.command if we started the ranks
        folder, plan, launch = _agreed(comm, lambda: _open_run(comm, start, earlier))
        failed = 0
        if launch is not None:
            # launch: measuring.surroundings, runs.recorder
            watch = watch or start.watch_ranks(comm, folder, launch, len(nodes_of(comm).nodes) == 1)
            context, recorder, finished = _entered(comm, start, folder, plan, launch, earlier)

            # cells: measuring.launch, measuring.cell
            listener = _ProgressReporter(watch, start)
            failed = measure_cells(context, recorder, finished, listener)
            listener.is_warned()  # a warning may have come in the last cell
            end_together(context, recorder)
            if recorder is not None:
                recorder.seal()
            start.look_at_library(comm, folder, plan)

        # table: cli.end_of_run, if no parent process prints it
        missed = start.finish_run(folder, plan) if comm.rank == 0 else None
        if watch is not None:
            watch.close()  # before the ranks part: silence must not look like a failure
        wait_quietly(comm)
        return 1 if comm.bcast(bool(missed)) or failed else 0
    except RefusedLaunch as refusal:
        _say_refused(comm, start, watch, str(refusal))
        return 2
    except BaseException as error:  # any error: the other ranks must not wait for this one
        reason = f"{_one_line(error)}{step_of(error)}"
        pause_s = ABORT_PAUSE_S if isinstance(error, MPI.Exception) else 0.0
        if watch is not None:
            watch.say("failed", why=reason, pause_s=pause_s)
        print(f"error: rank {comm.rank} of {comm.size}: {reason}; finished cells are kept", file=sys.stderr, flush=True)
        time.sleep(pause_s)
        comm.Abort(1)
        os._exit(1)  # in case Abort returns


def _one_line(error: BaseException) -> str:
    """Return the type and the last two lines of an error as one line: an MPI library may write many."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return "interrupted" if isinstance(error, KeyboardInterrupt) else f"{type(error).__name__}: {'; '.join(lines[-2:])}"


def _say_refused(comm: MPI.Comm, start: StartedRanks, watch: Watch | None, reason: str) -> None:
    """Print the refusal once: by the process that started the ranks, or by rank 0 if that is not connected."""
    if start.watch is not None:
        start.watch.say("failed", why=reason, pause_s=0.0, refused=True)
    elif watch is not None:
        watch.close()
    if comm.rank == 0 and not (start.watch is not None and start.watch.connected.is_set()):
        print(f"error: {reason}", file=sys.stderr, flush=True)


def _agreed(comm: MPI.Comm, ask: Callable[[], T]) -> T:
    """Run `ask` on rank 0 and broadcast its result. Raises RefusedLaunch on all ranks if it fails for bad input."""
    result: T | RefusedLaunch | None = None
    if comm.rank == 0:
        try:
            result = ask()
        except (ValueError, OSError) as error:
            result = RefusedLaunch(str(error))
    wait_quietly(comm)
    result = comm.bcast(result)
    if isinstance(result, RefusedLaunch):
        raise result
    return result


def _open_run(comm: MPI.Comm, start: StartedRanks, earlier: list[dict]) -> Opened:
    """Open the run, and put the facts of its attempts into `earlier`.

    Raises ValueError and OSError as `open_run`, and RunError if this launch does not belong to it.
    """
    folder, plan, launch = start.open_run()
    earlier += folder.attempts()
    _refuse_to_mix(comm, folder, plan, launch, earlier)
    return folder, plan, launch


def _refuse_to_mix(
    comm: MPI.Comm, folder: RunFolder, plan: Plan, launch: Launch | None, earlier: Sequence[dict]
) -> None:
    """Raise RunError if other launches of the run had another MPI, or MPI sees another number of ranks."""
    find_planned(plan.algorithms, plan.files, plan.file_digests)
    if launch is not None and launch.ranks != comm.size:
        refuse_other_ranks(launch, comm.size)
    mpi = own_mpi()
    for attempt in earlier:
        for key in ("library", *(["thread_level"] if attempt["ranks"] == comm.size else [])):
            if attempt["mpi"].get(key) != mpi[key]:
                other = f"{attempt['mpi'].get(key)} in launch {attempt['launch']}"
                raise RunError(f"{folder.path}: was measured with {other}, but this is {mpi[key]}; begin a new run")


def _entered(
    comm: MPI.Comm, start: StartedRanks, folder: RunFolder, plan: Plan, launch: Launch, earlier: Sequence[dict]
) -> tuple[Context, Recorder | None, set[CellKey]]:
    """Return the launch's context; on rank 0 also its recorder, and the finished cells. Raises RefusedLaunch."""
    context = enter(comm, plan, launch, start.position.deadline)
    if plan.start.ranks_per_node is not None:
        hosts = comm.gather(host())
        _agreed(comm, lambda: refuse_few_nodes(plan, launch, context.real, hosts or ()))
    facts = facts_of(comm, context, start.command, start.transport)
    context = start_together(context, facts)
    if facts is None:
        return context, None, set()
    finished = folder.finished(launch, start.skip_hung)
    printed = {kind_of(finding) for attempt in earlier for finding in attempt.get("findings", ())}
    recorder = Recorder(folder, launch.name, facts, printed=printed)
    for finding in facts["findings"]:
        if finding["level"] != "info":
            recorder.warn(finding)
    return context, recorder, finished


class _ProgressReporter:
    """Reporter of rank 0's progress to the monitor, or to stderr if none is connected."""

    def __init__(self, watch: Watch, start: StartedRanks):
        self.watch, self.lines = watch, ProgressLines(start.position)
        self.is_monitored, self.warning = start.watch is not None, start.warning

    def is_warned(self) -> bool:
        """Return whether a warning came; tells the monitor, which may not have received it."""
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
