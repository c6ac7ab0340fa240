"""`run`."""

import os
import shlex
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from ..launching.interface_variables import interface_variables
from ..measuring.launcher_variables import rank_of, ranks_on_this_node, size_of, thread_level, under_launcher
from ..measuring.startup import hold_back_mpi, start_mpi
from ..measuring.transport import asked_transport
from ..runs.folder import RunFolder
from ..runs.launch_choice import chosen_launches
from ..runs.plan import Launch, Plan, PlanError
from ..runs.recorder import discard_run
from ..runs.rows import RunError
from ..watching.lifeline import WarningFlag
from ..watching.progress import LaunchPosition
from .options import job_options, plan_options
from .plan_of_options import begin_run, open_run, planned_run, refuse_short_timeout, refuse_under_launcher
from .request import Control, Request, request_of
from .sections import Sectioned
from .types import DURATION, OneLineError, display, errors_in_one_line, talk

if TYPE_CHECKING:
    from ..launching.supervision import SupervisedRun
    from .in_job import InJob


@click.command(cls=Sectioned)
@plan_options
@job_options
@click.option(
    "--resume", is_flag=True, help="Go on with the missing cells of the run in -o; begin it if there is none."
)
@click.option(
    "--timeout",
    type=DURATION,
    default=f"{Control.timeout_s:g}s",
    show_default=True,
    help="End a launch in which nothing moves for so long, and name the rank that the others wait for.",
)
@click.option("--skip-hung", is_flag=True, help="With --resume: leave out the cells that hung.")
@click.pass_context
@errors_in_one_line
def run(context: click.Context, **options) -> None:
    """Measure all-reduce algorithms beside the library's own.

    Under mpirun or srun the ranks that were started measure. Otherwise mpirun is started for every value of --ranks and
    every launch. The table goes to stdout, the raw times to the run folder. To begin with: run -n 4 --within 1m
    """
    refuse_short_timeout(options["timeout"])
    asked = {name for name in options if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE}
    request = request_of(options, asked)
    if under_launcher(os.environ):
        _run_as_rank(request, options["interface"], options["thread_level"])
    else:
        _, failure = run_from_outside(request)
        if failure:
            raise failure


def _run_as_rank(request: Request, interface: str, level: str) -> None:
    control, asked = request.control, request.asked
    if "ranks" in asked:
        raise OneLineError("--ranks under a launcher: the ranks come from mpirun or srun; leave it out")
    refuse_under_launcher(asked)
    os.environ.update(interface_variables(interface, os.environ))  # before MPI reads them
    from ..watching.unattended import fuse

    warned = WarningFlag()
    warned.listen()  # before MPI starts, and before the fuse burns in a process of its own
    if rank_of(os.environ) == 0 and "SLURM_JOB_ID" in os.environ:
        from .in_job import tell_switches

        tell_switches()  # also before MPI starts, which does not like new processes
    put_out = fuse(control.timeout_s, rank_of(os.environ))
    hold_back_mpi()
    from ..measuring.rank import Task, take_part

    with asked_transport() as transport:
        start_mpi(thread_level(level, ranks_on_this_node(os.environ)))
    from mpi4py import MPI

    if size_of(os.environ) not in (None, MPI.COMM_WORLD.size):
        raise OneLineError(
            f"{size_of(os.environ)} ranks were started, but MPI sees {MPI.COMM_WORLD.size}: {_one_each(os.environ)}"
        )
    put_out()
    started, begin = time.time(), partial(_open_as_rank, request, MPI.COMM_WORLD.size)
    deadline = None if control.within_s is None else started + control.within_s
    here = LaunchPosition(1, 1, started, MPI.COMM_WORLD.size, deadline)
    task = Task(
        open_run=begin,
        close_run=partial(_finish_one_launch, control, warned),
        command=shlex.join(sys.orig_argv),
        place=here,
        skip_hung=control.skip_hung,
        transport=transport.words,
        warned=warned,
        timeout_s=control.timeout_s,
    )
    sys.exit(take_part(task))


def _open_as_rank(request: Request, ranks: int) -> tuple[RunFolder, Plan, Launch | None]:
    """The run that `ranks` ranks begin or go on with, and its launch that they measure; None: none is left."""
    alone = {} if "launches" in request.asked else {"launches": 1}  # this one
    request = replace(request, make_plan=partial(request.make_plan, ranks=(ranks,), **alone))
    folder, plan = open_run(request)
    if ranks not in plan.ranks:
        raise PlanError(f"{folder.path}: planned for {plan.ranks} ranks, but started with {ranks}")
    only, skip_hung = request.control.only, request.control.skip_hung
    ours = [launch for launch in chosen_launches(plan, only) if launch.ranks == ranks]
    if not ours:
        raise PlanError(f"--only {only}: none of these launches has {ranks} ranks")
    return folder, plan, next(iter(folder.pending(plan, skip_hung, ours)), None)


def _finish_one_launch(control: Control, warned: WarningFlag, folder: RunFolder, plan: Plan) -> str:
    """The same where this mpirun was one launch of several."""
    missed = _finished(control, warned, folder, plan)
    if left := folder.pending(plan, control.skip_hung, chosen_launches(plan, control.only)):
        names = ", ".join(launch.name for launch in left)
        early = "warned of the end of its time" if warned.came else "each mpirun measures one launch"
        talk(f"{early}; left: {names}; start it again with: run --resume -o {shlex.quote(str(folder.path))}")
    return missed or (f"left: {len(left)} launches" if warned.came and left else "")


def run_from_outside(request: Request) -> tuple[RunFolder, OneLineError | None]:
    """Start mpirun for every launch that is left, print the table; the folder of the run, and what went wrong."""
    from ..launching.find import find_launcher
    from ..launching.staging import stage
    from ..launching.supervision import SupervisedRun
    from .in_job import InJob

    control, started, warned = request.control, time.time(), WarningFlag()
    warned.listen()
    for number in (signal.SIGTERM, signal.SIGHUP):  # a scheduler's end of the job, or of the connection
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    with InJob(control) as job:
        folder, plan = planned_run(request)
        job.choose(folder, plan)
        launcher = find_launcher(plan.start)
        staged = stage(control.stage, folder.path, plan.start)
        if staged:
            click.get_current_context().call_on_close(staged.close)
            talk(staged.words)
        folder, plan = begin_run(folder, plan, request)
        job.begin(folder, plan, staged.facts if staged else None)
        planned = f"launches: {len(job.launches)}"
        talk(f"{launcher.library}, {launcher.program}; {planned}; results in {folder.path}")
        run = SupervisedRun(
            folder=folder,
            plan=plan,
            launches=job.launches,
            launcher=launcher,
            timeout_s=control.timeout_s,
            within_s=control.within_s,
            started=started,
            skip_hung=control.skip_hung,
            show=display(),
            warned=warned,
            program=staged.program if staged else (),
        )
        failure = _driven(run, control, job)
        job.report(folder)
    return folder, failure


def _driven(run: "SupervisedRun", control: Control, job: "InJob") -> OneLineError | None:
    """Drive the run as far as it goes, and print what came of it; what went wrong."""
    from ..launching.driver import drive
    from ..launching.supervision import LaunchFailed, LaunchRefused

    folder, plan = run.folder, run.plan
    try:
        unstarted = drive(run)
    except (LaunchRefused, LaunchFailed, KeyboardInterrupt) as error:
        why, refused = str(error) or "interrupted", isinstance(error, LaunchRefused)
        job.ends("refused" if refused else "stopped", why)
        if not control.resume and not any(folder.launches.iterdir()):
            discard_run(folder)  # no rank came as far as writing: nothing to go on with
            return OneLineError(why, 2 if refused else 1)
        with suppress(OSError, RunError):  # a full disk has no room for the summary either
            _finish(control, folder, plan)
        return OneLineError(why) if refused else OneLineError(f"{why}; finished cells are kept; {job.go_on(folder)}", 1)
    left_out = ""
    if unstarted and not run.warned.came:
        left_out = f"left out: launches {', '.join(launch.name for launch in unstarted)}: --within was used up"
        talk(f"{left_out}; {job.go_on(folder)}")
    failed = _finished(control, run.warned, folder, plan)
    if left := job.warned(folder, plan) if run.warned.came else "":
        return OneLineError("; ".join(filter(None, [left, failed])), 1)
    job.ends("done", failed or left_out or None)
    return OneLineError(f"{failed}; results in {folder.path}", 1) if failed else None


def _finished(control: Control, warned: WarningFlag, folder: RunFolder, plan: Plan) -> str:
    """What `_finish` does, but for a warning that came before any cell was finished: then there is nothing to say."""
    try:
        return _finish(control, folder, plan)
    except RunError:
        if warned.came:
            return ""
        raise


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _finish(control: Control, folder: RunFolder, plan: Plan) -> str:
    """Write the summary, print it as --format says, judge it by the limits; what failed, empty where nothing did.

    With --only what other jobs measure is written, too, but is theirs to print and to judge.
    """
    from ..evaluation.acceptance import judge
    from ..evaluation.agreement import broken_promise
    from ..evaluation.summary import record_summary
    from ..report.formats import FORMATS, Result

    rows = record_summary(folder)
    ours = {launch.ranks for launch in chosen_launches(plan, control.only)}
    plan = replace(plan, ranks=tuple(ranks for ranks in plan.ranks if ranks in ours))
    rows = [row for row in rows if row["ranks"] in ours]
    click.echo(FORMATS[control.format](Result.of(folder, rows)._replace(plan=plan)), nl=False)
    judgements = judge(control.limits, plan, rows)
    for judgement in judgements:
        click.echo(judgement.sentence, err=control.format != "table")
    talk(f"{folder.path}      next: allreduce-bench report {shlex.quote(str(folder.path))}")
    bad = {"wrong", "refused"} if control.skip_hung else {"wrong", "refused", "hung"}
    failed = ["a check failed, see the table"] if any(row["state"] in bad for row in rows) else []
    if broken := sorted({row["algorithm"] for row in rows if broken_promise(row)}):
        failed.append(f"bits differ that a proved schedule fixes: {', '.join(broken)}")
    if missed := [judgement.cell for judgement in judgements if not judgement.met]:
        failed.append(f"not accepted: {'; '.join(missed)}")
    return "; ".join(failed)


def _one_each(environ: Mapping[str, str]) -> str:
    """Why every rank is alone, and what to do."""
    if "OMPI_COMM_WORLD_SIZE" in environ or "SLURM_STEP_NUM_TASKS" not in environ:
        return "the mpirun or srun belongs to another MPI than mpi4py's; put the right one first in PATH"
    return (
        "srun and mpi4py's MPI do not understand each other; say srun --mpi=pmix or --mpi=pmi2, or leave srun out; "
        "allreduce-bench doctor --slurm says what works"
    )
