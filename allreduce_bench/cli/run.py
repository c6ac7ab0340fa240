"""`run`, and the hidden `measure` that its ranks execute."""

import os
import shlex
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import click

from ..plan import Launch, Plan, PlanError
from ..recorder import discard_run, write_summary
from ..runfolder import RunError, RunFolder
from ..started import ranks_on_this_node, size_of, thread_level, under_launcher
from .opening import open_run
from .options import limits_of, plan_options
from .words import OneLine, errors_in_one_line, talk


@click.command()
@plan_options
@click.option(
    "--resume", is_flag=True, help="Go on with the missing cells of the run in -o; begin it if there is none."
)
@click.pass_context
@errors_in_one_line
def run(context: click.Context, **options) -> None:
    """Measure all-reduce algorithms beside the library's own.

    Under mpirun or srun the ranks that were started measure. Otherwise mpirun is started for every value of --ranks and
    every launch. The table goes to stdout, the raw times to the run folder.
    """
    asked = {name for name in options if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE}
    if under_launcher(os.environ):
        _run_as_rank(options, asked)
    else:
        _, failure = run_from_outside(options, asked)
        if failure:
            raise failure


@click.command(hidden=True)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--launch", required=True)
@click.option("--place", required=True)
@click.option("--started", type=float, required=True)
@click.option("--thread-level", required=True)
@click.option("--deadline", type=float)
def measure(folder: Path, launch: str, place: str, started: float, thread_level: str, deadline: float | None) -> None:
    """Measure one planned launch of the run in FOLDER with the ranks that were started."""
    import mpi4py

    mpi4py.rc.thread_level = thread_level
    from ..driver import COMMAND_VARIABLE, end_with_parent
    from ..ranks import Place, take_part

    end_with_parent()
    number, planned = map(int, place.split("/"))
    run_folder = RunFolder(folder)

    def opened() -> tuple[RunFolder, Plan, Launch]:
        ranks, serial = map(int, launch.split("r-"))
        return run_folder, run_folder.plan(), Launch(ranks, serial)

    status = take_part(
        opened,
        lambda *_: None,
        os.environ.get(COMMAND_VARIABLE, shlex.join(sys.orig_argv)),
        Place(number, planned, started),
        deadline,
    )
    sys.exit(2 if status == 2 else 0)  # a failed check is in the run: mpirun need not kill the other ranks for it


def _run_as_rank(options: dict, asked: set[str]) -> None:
    if "ranks" in asked:
        raise OneLine("--ranks under a launcher: the ranks come from mpirun or srun; leave it out")
    import mpi4py

    mpi4py.rc.thread_level = thread_level(options["thread_level"], ranks_on_this_node(os.environ))
    from mpi4py import MPI

    if size_of(os.environ) not in (None, MPI.COMM_WORLD.size):
        raise OneLine(
            f"{size_of(os.environ)} ranks were started, but MPI sees {MPI.COMM_WORLD.size}: "
            "the mpirun or srun belongs to another MPI than mpi4py's; put the right one first in PATH"
        )
    from ..ranks import Place, take_part

    options["ranks"], started = (MPI.COMM_WORLD.size,), time.time()
    if "launches" not in asked:
        options["launches"] = 1  # this one

    def begin() -> tuple[RunFolder, Plan, Launch | None]:
        folder, plan = open_run(options, asked)
        if MPI.COMM_WORLD.size not in plan.ranks:
            raise PlanError(f"{folder.path}: planned for {plan.ranks} ranks, but started with {MPI.COMM_WORLD.size}")
        left = (launch for launch in folder.pending(plan) if launch.ranks == MPI.COMM_WORLD.size)
        return folder, plan, next(left, None)

    deadline = None if options["within"] is None else started + options["within"]
    finish = partial(_finish, options)
    sys.exit(take_part(begin, finish, shlex.join(sys.orig_argv), Place(1, 1, started), deadline))


def run_from_outside(options: dict, asked: set[str]) -> tuple[RunFolder, OneLine | None]:
    """Start mpirun for every launch that is left, print the table; the folder of the run, and what went wrong."""
    from ..driver import Stopped, drive
    from ..launch import find_launcher

    launcher = find_launcher()
    folder, plan = open_run(options, asked)
    talk(f"{launcher.library}, {launcher.program}; launches: {len(plan.planned_launches())}; results in {folder.path}")
    resume = f"go on with: allreduce-bench run --resume -o {shlex.quote(str(folder.path))}"
    try:
        unstarted = drive(folder, plan, launcher, options["within"], talk)
    except (Stopped, KeyboardInterrupt) as error:
        if not options["resume"] and not any(folder.launches.iterdir()):
            discard_run(folder)  # no rank came as far as writing: nothing to go on with
            return folder, OneLine(str(error).split(";")[0] or "interrupted", 1)
        with suppress(OSError, RunError):  # a full disk has no room for the summary either
            _finish(options, folder, plan)
        return folder, OneLine(f"{str(error) or 'interrupted; finished cells are kept'}; {resume}", 1)
    if unstarted:
        talk(f"left out: launches {', '.join(launch.name for launch in unstarted)}: --within was used up; {resume}")
    failed = _finish(options, folder, plan)
    return folder, OneLine(f"{failed}; results in {folder.path}", 1) if failed else None


def _finish(options: dict, folder: RunFolder, plan: Plan) -> str:
    """Write the summary, print it as --format says, judge it by the limits; what failed, empty where nothing did."""
    from ..acceptance import judge
    from ..formats import FORMATS, Result
    from ..summary import summarise

    rows = summarise(folder)
    write_summary(folder, rows)
    click.echo(FORMATS[options["format"]](Result.of(folder, rows)), nl=False)
    judgements = judge(limits_of(options), plan, rows)
    for judgement in judgements:
        click.echo(judgement.sentence, err=options["format"] != "table")
    talk(f"{folder.path}      next: allreduce-bench report {shlex.quote(str(folder.path))}")
    failed = ["a check failed, see the table"] if any(row["state"] in ("wrong", "refused") for row in rows) else []
    if missed := [judgement.cell for judgement in judgements if not judgement.met]:
        failed.append(f"not accepted: {'; '.join(missed)}")
    return "; ".join(failed)
