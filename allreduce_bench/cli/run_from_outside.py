"""A run from the process that starts mpirun: plan, folder, launches, table."""

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
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
from .against import Runs, begin_runs, next_commands
from .end_of_run import NOTHING_MEASURED, end_of_run, finish
from .in_job import InJob
from .own_algorithms import refuse_own_algorithms
from .request import Request, planned_run
from .types import INTERRUPTED, OneLineError, display, talk
from .work_limit import refuse_many_ranks


def run_from_outside(
    requests: Sequence[Request], after_first: Callable[[RunFolder], object] | None = None
) -> tuple[RunFolder, OneLineError | None]:
    """Start mpirun for every missing launch, print the table; return the run folder and the error, if any.

    The launches of several runs, which differ in conditions, alternate; the folder returned is that of the first.
    `after_first` is called after the first launch, if others follow. The phases are those of
    `measuring.rank.take_part`. Raises as `planned_run`, LaunchError if there is no launcher, RunError if the Slurm job
    around is too small, OneLineError for a user's algorithm that is no all-reduce.
    """
    requests = [request.loading(loaded_library) for request in requests]
    control, started, warning = requests[0].control, time.time(), WarningFlag()
    warning.listen()
    interrupt_when_asked_to_end()
    with InJob(control) as job:
        # plan: cli.request, runs.plan
        planned: Runs = list(map(planned_run, requests))
        job.choose(planned)
        launchers = [find_launcher(plan.start) for _, plan in planned]
        is_one_node = all(
            on_one_node(launcher, max(plan.ranks), plan.start, os.environ)
            for launcher, (_, plan) in zip(launchers, planned)
        )
        if is_one_node:
            refuse_many_ranks(max(planned[0][1].ranks))
        for launcher, (folder, plan) in zip(launchers, planned):
            if plan.files and folder.pending(plan, control.skip_hung, job.launches):
                refuse_own_algorithms(plan, launcher, os.environ)

        # folder: cli.request, runs.recorder
        planned = begin_runs(planned, requests)
        job.begin(planned)

        # launches: launching.supervision, identifying.of_run; their cells: measuring.rank
        first, launcher = planned[0][0], launchers[0]
        launch_count = f"launches: {len(job.launches) * len(planned)}"
        talk(f"{launcher.library}, {launcher.program}; {launch_count}; results in {first.resumed_path}")
        runs = [
            SupervisedRun(
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
            for launcher, (folder, plan) in zip(launchers, planned)
        ]
        driven = _driven(runs, is_one_node)

        # table: cli.end_of_run
        failure = _end(runs, driven, job)
        for folder, _ in planned:
            job.report(folder)
    return first, failure


def _driven(runs: Sequence[SupervisedRun], is_one_node: bool) -> list[Driven] | LaunchRefused | KeyboardInterrupt:
    """Run the launches, after a wait for an idle machine if requested; return their outcome, or what ended them."""
    idle_wait, control = None, runs[0].control
    if control.wait_idle_s is not None:
        idle_wait = IdleWait(control.wait_idle_s, talk)
        if not is_one_node:
            talk(f"--wait-idle watches only {host()}, where the ranks are started, and no other node")
    try:
        if is_first := bool(forced_of(runs[0].plan)):  # a time of theirs is worth nothing if something else ran
            for run in runs:
                _identify(run)
        driven = drive(runs, idle_wait)
        if not is_first:
            for run, of_run in zip(runs, driven):
                _identify(run, {launch.ranks for launch in of_run.failed})
        return driven
    except (LaunchRefused, KeyboardInterrupt) as error:
        return error


def _identify(run: SupervisedRun, failed: Collection[int] = ()) -> None:
    """Look at what the library runs, unless that is known or not wanted."""
    if run.control.identify != "never":
        for sentence in identify(run, failed, talk):
            talk(sentence)


def _end(runs: Sequence[SupervisedRun], driven: list[Driven] | BaseException, job: InJob) -> OneLineError | None:
    """Print the tables, and record how the runs ended; return the error, if any."""
    folders, control, warning = [run.folder for run in runs], runs[0].control, runs[0].warning
    if isinstance(driven, LaunchRefused):
        return _stopped(runs, job, str(driven), 2, "refused")
    if isinstance(driven, BaseException):
        return _stopped(runs, job, str(driven) or "interrupted", INTERRUPTED)
    place = folders[0].resumed_path
    left_out = "" if warning.is_set else _joined(folders, map(_left_out, driven))
    if left_out:
        talk(f"{left_out}; {to_continue(folders[0], control.only)}")
    if any(of_run.failed for of_run in driven):
        return _stopped(runs, job, _joined(folders, map(_failed, driven)), 1)
    failures = _joined(folders, (_failures(run) for run in runs))
    for command in next_commands(folders):
        talk(f"{place}      next: {command}")
    left = job.end_warned([(run.folder, run.plan) for run in runs]) if warning.is_set else ""
    if left:
        return OneLineError("; ".join(filter(None, [left, failures])), exit_code=1)
    job.ends("done", failures or left_out or None)
    return OneLineError(f"{failures}; results in {place}", exit_code=1) if failures else None


def _joined(folders: Sequence[RunFolder], sentences: Iterable[str]) -> str:
    """Join what is said of each run; of several each with the name of its run."""
    if len(folders) == 1:
        return "".join(sentences)
    return "; ".join(f"{folder.path.name}: {sentence}" for folder, sentence in zip(folders, sentences) if sentence)


def _failures(run: SupervisedRun) -> str:
    """Print the table of a run; return what failed, empty: nothing."""
    if run.warning.is_set or any(run.folder.launches.glob("*.cells.csv")):
        return end_of_run(run.control, run.warning, run.folder, run.plan)
    return NOTHING_MEASURED


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
    """Return why launches failed, and which were not started because of it; empty: none failed."""
    if not driven.failed:
        return ""
    number, reasons = len(driven.failed), "; ".join(driven.failed.values())
    words = f"{number} launches failed: {reasons}" if number > 1 else reasons
    return f"{words}; not started after that: {_names(driven.given_up)}" if driven.given_up else words


def _names(launches: Sequence[Launch]) -> str:
    return ", ".join(launch.name for launch in launches)


def _stopped(runs: Sequence[SupervisedRun], job: InJob, reason: str, status: int, end: str = "stopped") -> OneLineError:
    """Return the error of runs that were refused, failed or were interrupted; print the table of finished cells."""
    first, control = runs[0].folder, runs[0].control
    job.ends(end, reason)
    if not control.resume and not any(any(run.folder.launches.iterdir()) for run in runs):
        discard_run(RunFolder(first.resumed_path))  # no rank wrote anything: nothing to resume
        return OneLineError(reason, exit_code=status)
    for run in runs:
        with suppress(OSError, RunError):  # a full disk has no space for the summary either
            finish(control, run.folder, run.plan)
    if end == "refused":
        return OneLineError(reason, exit_code=status)
    return OneLineError(f"{reason}; finished cells are kept; {to_continue(first, control.only)}", exit_code=status)
