"""A run from the process that starts mpirun: plan, folder, launches, table."""

import os
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial

from ..identifying.of_run import forced_of, identify
from ..launching.find import find_launcher, loaded_library
from ..launching.launcher import on_one_node
from ..launching.supervision import Driven, IdleWait, LaunchRefused, SupervisedRun, drive
from ..launching.tied_process import interrupt_when_asked_to_end
from ..machine.node import cores, host
from ..runs.command_of_plan import to_continue
from ..runs.folder import RunFolder
from ..runs.plan import Launch
from ..runs.recorder import discard_run
from ..runs.rows import RunError
from ..watching.lifeline import WarningFlag
from .end_of_run import NOTHING_MEASURED, end_of_run, finish
from .in_job import InJob
from .own_algorithms import refuse_own_algorithms
from .request import Request, begin_run, planned_run
from .types import INTERRUPTED, OneLineError, display, talk
from .work_limit import refuse_many_ranks


def run_from_outside(
    request: Request, after_first: Callable[[RunFolder], object] | None = None
) -> tuple[RunFolder, OneLineError | None]:
    """Start mpirun for every missing launch, print the table; return the run folder and the error, if any.

    `after_first` is called after the first launch, if others follow. The phases are those of
    `measuring.rank.take_part`. Raises as `planned_run`, LaunchError if there is no launcher, RunError if the Slurm job
    around is too small, OneLineError for a user's algorithm that is no all-reduce.
    """
    request = request.loading(loaded_library)
    control, started, warning = request.control, time.time(), WarningFlag()
    warning.listen()
    interrupt_when_asked_to_end()
    with InJob(control) as job:
        # plan: cli.request, runs.plan
        folder, plan = planned_run(request)
        job.choose(folder, plan)
        launcher = find_launcher(plan.start)
        is_one_node = on_one_node(launcher, max(plan.ranks), plan.start, os.environ)
        if is_one_node:
            refuse_many_ranks(max(plan.ranks))
        if plan.files and folder.pending(plan, control.skip_hung, job.launches):
            refuse_own_algorithms(plan, launcher, os.environ)

        # folder: cli.request, runs.recorder
        folder, plan = begin_run(folder, plan, request)
        job.begin(folder, plan)

        # launches: launching.supervision, identifying.of_run; their cells: measuring.rank
        talk(f"{launcher.library}, {launcher.program}; launches: {len(job.launches)}; results in {folder.path}")
        run = SupervisedRun(
            folder=folder,
            plan=plan,
            launches=job.launches,
            launcher=launcher,
            control=control,
            started=started,
            show=display(),
            warning=warning,
            after_first=after_first and partial(after_first, folder),
        )
        driven = _driven(run, is_one_node)

        # table: cli.end_of_run
        failure = _end(run, driven, job)
        job.report(folder)
    return folder, failure


def _driven(run: SupervisedRun, is_one_node: bool) -> Driven | LaunchRefused | KeyboardInterrupt:
    """Run the launches, after a wait for an idle machine if requested; return their outcome, or what ended them."""
    idle_wait = None
    if run.control.wait_idle_s is not None:
        idle_wait = IdleWait(run.control.wait_idle_s, talk)
        if not is_one_node:
            talk(f"--wait-idle watches only {host()}, where the ranks are started, and no other node")
    try:
        if is_first := bool(forced_of(run.plan)):  # a time of theirs is worth nothing if something else ran
            _identify(run)
        driven = drive(run, idle_wait)
        if not is_first:
            _identify(run, {launch.ranks for launch in driven.failed})
        return driven
    except (LaunchRefused, KeyboardInterrupt) as error:
        return error


def _identify(run: SupervisedRun, failed: Collection[int] = ()) -> None:
    """Look at what the library runs, unless that is known or not wanted."""
    if run.control.identify != "never":
        for sentence in identify(run, failed, talk):
            talk(sentence)


def _end(run: SupervisedRun, driven: Driven | BaseException, job: InJob) -> OneLineError | None:
    """Print the table, and record how the run ended; return the error, if any."""
    folder, plan, control = run.folder, run.plan, run.control
    if isinstance(driven, LaunchRefused):
        return _stopped(run, job, str(driven), 2, "refused")
    if isinstance(driven, BaseException):
        return _stopped(run, job, str(driven) or "interrupted", INTERRUPTED)
    left_out = "" if run.warning.is_set else _left_out(driven)
    if left_out:
        talk(f"{left_out}; {to_continue(folder, control.only)}")
    if driven.failed:
        return _stopped(run, job, _failed(driven), 1)
    failures = NOTHING_MEASURED
    if run.warning.is_set or any(folder.launches.glob("*.cells.csv")):
        failures = end_of_run(control, run.warning, folder, plan)
    if left := job.end_warned(folder, plan) if run.warning.is_set else "":
        return OneLineError("; ".join(filter(None, [left, failures])), exit_code=1)
    job.ends("done", failures or left_out or None)
    return OneLineError(f"{failures}; results in {folder.path}", exit_code=1) if failures else None


def _left_out(driven: Driven) -> str:
    """Return the launches for which --within left no time, or too little, with advice; empty: none."""
    if not (driven.left_out or driven.in_vain):
        return ""
    words = f"not measured: launches {_names([*driven.in_vain, *driven.left_out])}: time ran out (--within)"
    if driven.in_vain:
        ranks = max(launch.ranks for launch in driven.in_vain)
        start = f"{ranks} ranks on {cores()} cores of this node took too long to start in {_names(driven.in_vain)}"
        words = f"{words}; {start}: use fewer ranks or a longer --within"
    return words


def _failed(driven: Driven) -> str:
    """Return why launches failed, and which were not started because of it."""
    number, reasons = len(driven.failed), "; ".join(driven.failed.values())
    words = f"{number} launches failed: {reasons}" if number > 1 else reasons
    return f"{words}; not started after that: {_names(driven.given_up)}" if driven.given_up else words


def _names(launches: Sequence[Launch]) -> str:
    return ", ".join(launch.name for launch in launches)


def _stopped(run: SupervisedRun, job: InJob, reason: str, status: int, end: str = "stopped") -> OneLineError:
    """Return the error of a run that was refused, failed or was interrupted; print the table of the finished cells."""
    folder, control = run.folder, run.control
    job.ends(end, reason)
    if not control.resume and not any(folder.launches.iterdir()):
        discard_run(folder)  # no rank wrote anything: nothing to resume
        return OneLineError(reason, exit_code=status)
    with suppress(OSError, RunError):  # a full disk has no space for the summary either
        finish(control, folder, run.plan)
    if end == "refused":
        return OneLineError(reason, exit_code=status)
    return OneLineError(f"{reason}; finished cells are kept; {to_continue(folder, control.only)}", exit_code=status)
