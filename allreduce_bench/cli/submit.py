"""`submit`: a sweep from options (its runs, jobs and scripts), and its submission to Slurm."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import ndiff
from functools import partial
from pathlib import Path
from typing import Any

import click

from ..launching.find import installed_wheel, loaded_library
from ..machine.variables import drop_values
from ..runs.folder import RunFolder
from ..runs.library_algorithms import NAMES, NotForced, settings_of
from ..runs.option import Section
from ..runs.plan import Plan, PlanError
from ..runs.recorder import is_taken, now
from ..runs.rows import RunError
from ..slurm import commands
from ..slurm.job_files import JOBS, Submission, SubmissionChoices, SweepJob, next_number, read_submissions, runs_of
from ..slurm.jobs import JOB_NAME, collecting_job, jobs_of, name_of_run, scripts_of
from ..slurm.sbatch_words import check_sbatch_words
from ..slurm.submission import NOTHING, cancel_sweep, check_folder, find_queued_jobs, refuse_down_partition, submit_all
from ..slurm.system import System, find_system
from ..slurm.times import duration, parse_limit
from ..tables import columns_of, fitted
from ..units import parse_counts, shell_word, three_digits
from .options import OPTIONS, measuring_options
from .request import Request, planned_run, refuse_short_timeout
from .resumed import kept_plan
from .sections import Sectioned, examples
from .types import (
    DURATION,
    INTERRUPTED,
    RANKS,
    OneLineError,
    PlacedOption,
    errors_in_one_line,
    given_options,
    kept_command,
    parsed,
    talk,
)

GENERIC = "generic"
OF_THE_SITE = ("launcher", "launcher_args", "interface")  # set by the file of a system, unless an option is given
SENSELESS = ("ranks", "hosts", "remote_shell", "virtual_rates_bytes_per_s", "format")  # options of `run`: Slurm decides
NODES = parsed("nodes", lambda text: tuple(parse_counts(text, "node")))
PING_S = 15.0  # a controller that takes longer would take minutes for a sweep


HELPS = {  # of options of `run` that mean something else here
    "ranks_per_node": "Ranks on each node, e.g. 4 or 1,4 [default: the system's, else 1].",
    "within_s": "Time of each job for its measurements, e.g. 25m.",
    "output": "Folder of the sweep [default: results/DATE_allreduce].",
}


class SubmitCommand(Sectioned):
    """A command with the options of `run` that have a meaning here."""

    advice = "put options of sbatch after --"

    def __init__(self, *args, params, **kwargs):
        for parameter in params:
            parameter.help = HELPS.get(parameter.name, getattr(parameter, "help", None))
            if parameter.name == "ranks_per_node":
                parameter.type = RANKS
        super().__init__(*args, params=params, **kwargs)


@click.command(
    cls=SubmitCommand,
    first="nodes system time_s dry_run competitors sizes within_s launches ranks_per_node output resume cancel",
    epilog=examples(
        "submit --nodes 1,2,4,8 --ranks-per-node 4 --dry-run",
        "submit --nodes 1,2,4,8 --ranks-per-node 4 -o results/sweep -- --account=me",
        "submit --resume -o results/sweep",
        "submit --cancel results/sweep",
    ),
)
@click.option(
    "--nodes",
    cls=PlacedOption,
    section=Section.JOBS,
    type=NODES,
    help="Node counts, one job each, e.g. 1,2,4,8 or 1-4.",
)
@click.option("--system", help="Name of the site, or path of its .cfg file [default: generic].")
@click.option(
    "--time",
    "time_s",
    type=parsed("time", parse_limit),
    help="Time limit of each job, in sbatch's format or as 90m [default: the system's, else twice the estimate].",
)
@click.option("--array/--no-array", default=None, help="Each launch as a separate array task.")
@click.option("--dry-run", is_flag=True, help="Print the jobs and a script; submit and write nothing.")
@partial(measuring_options, without=SENSELESS)
@click.option(
    "--resume",
    cls=PlacedOption,
    section=Section.GONE_WRONG,
    is_flag=True,
    help="Submit the missing part of the sweep in -o, with the options of its last submission.",
)
@click.option("--timeout", "timeout_s", type=DURATION, help="As in run: end a launch after this time without progress.")
@click.option(
    "--cancel",
    cls=PlacedOption,
    section=Section.GONE_WRONG,
    type=click.Path(path_type=Path),
    metavar="SWEEP",
    help="Cancel the jobs of this sweep that are queued or running; submit nothing.",
)
@click.option("--skip-hung", is_flag=True, help="With --resume: skip the cells that hung.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- WORDS FOR SBATCH]...")
@click.pass_context
@errors_in_one_line
def submit(context: click.Context, **options) -> None:
    """Measure on a Slurm cluster: one job for each node count, and a final job that collects the results.

    Accepts the options of `run`; --within is the time of each job. Put further options of sbatch after --. Either all
    are submitted or none. The scripts stay in jobs/ of the sweep's folder, with what the jobs say.
    """
    given = given_options(context)
    if options["cancel"]:
        if given != {"cancel"}:
            raise OneLineError("--cancel SWEEP: cancels jobs and submits none; leave out the other options")
        _cancel(options["cancel"])
        return
    request = Request(options, frozenset(given)).starting(loaded_library)
    resuming, output = options["resume"], options["output"]
    if output is None:
        if resuming:
            raise PlanError("--resume needs the folder of the sweep: -o FOLDER")
        output = Path("results") / f"{datetime.now():%Y-%m-%d_%H%M%S}_{JOB_NAME}"
        request = request.deciding(output=output)

    # choices: of the command line, else of the submission before
    sweep = check_folder(output.absolute())
    folders = runs_of(sweep) if resuming else []
    earlier = read_submissions(sweep) if resuming else []
    system, choices = choices_of(request, earlier)

    # runs: cli.request; jobs and scripts: slurm.jobs
    runs = resumed_runs(request, folders) if resuming else new_runs(request, sweep, system)
    jobs = jobs_left(jobs_of(sweep, runs, choices, system), sweep, options)
    if not jobs:
        talk(f"nothing is left to measure; next: allreduce-bench collect {shell_word(output)}")
        return
    number, command = next_number(sweep), tuple(kept_command())
    submission = Submission(number, now(), command, choices, tuple(jobs), collecting_job(jobs))
    scripts = scripts_of(submission, sweep, system, system.venv or _this_environment())
    if late := [job.name for job in jobs if job.expected_s > job.limit_s]:
        talk(f"warning: may exceed their time limit and be requeued: {', '.join(late)}")
    if options["dry_run"]:
        _warn_of_jobs(system, jobs)
        shown = [*table(submission), *script_lines(scripts, sweep / JOBS / str(number))]
        click.echo("\n".join(shown))
        return

    # submission: slurm.submission
    commands.ping(PING_S)
    if earlier:
        _refuse_queued_jobs(sweep)
    refuse_down_partition(choices.arguments, system.sbatch, PING_S)
    try:
        submission = submit_all(submission, scripts, sweep, [] if resuming else runs)
    except KeyboardInterrupt as interrupt:
        raise OneLineError(f"interrupted; {NOTHING}", exit_code=INTERRUPTED) from interrupt
    _warn_of_jobs(system, jobs)
    click.echo("\n".join(table(submission)))
    talk(f"next: allreduce-bench status {shell_word(output)}")


def _cancel(sweep: Path) -> None:
    """Cancel the jobs of the sweep, and say which."""
    cancelled = [f"{job.name} ({job.job})" for job in cancel_sweep(sweep)]
    if not cancelled:
        talk(f"{sweep}: no job of the sweep is queued or running; nothing was cancelled")
        return
    click.echo(f"cancelled: {', '.join(cancelled)}")
    talk(f"next: allreduce-bench submit --resume -o {shell_word(sweep)}")


def choices_of(request: Request, earlier: Sequence[Submission] = ()) -> tuple[System, SubmissionChoices]:
    """Return the system and the other choices: of the options, else of the last submission, else the defaults."""
    last = earlier[-1].choices if earlier else SubmissionChoices(GENERIC)
    options = request.options
    arguments = check_sbatch_words(options["arguments"])
    _refuse_values("the options of sbatch", drop_values(arguments) != list(arguments))
    system = find_system(options["system"] or last.system)
    given = {name: options[name] for name in ("time_s", "within_s", "array")}
    given |= {"steering": _steering(request) or None, "arguments": arguments or None}
    chosen = {name: value for name, value in given.items() if value is not None}
    return system, replace(last, system=str(system.path.absolute()), **chosen)


def _steering(request: Request) -> tuple[str, ...]:
    """Return the options of `run` that are not in its plan, as its jobs get them; --within is a choice of its own."""
    from ..evaluation.acceptance import OPTION  # late: it loads numpy

    control, asked = request.control, request.asked
    if "timeout_s" in asked:
        refuse_short_timeout(control.timeout_s)
    times = ("wait_idle_s", "timeout_s")
    given_times = [f"{OPTIONS[name].name}={getattr(control, name):g}s" for name in times if name in asked]
    limits = [f"{OPTION[limit.quantity]}={limit.words}" for limit in control.limits]
    looked = [f"{OPTIONS['identify'].name}={control.identify}"] * ("identify" in asked)
    skipping = ["--skip-hung"] * control.skip_hung
    return (*given_times, *limits, *looked, *skipping)


def new_runs(request: Request, sweep: Path, system: System) -> list[tuple[RunFolder, Plan]]:
    """Return the plans of the runs of a new sweep, one for each number of ranks per node."""
    nodes = request.options["nodes"]
    if not nodes:
        raise PlanError("--nodes: expected node counts, one job each, such as --nodes 1,2,4,8")
    if is_taken(sweep):
        raise RunError(
            f"{request.options['output']}: already exists; choose another folder with -o, or continue it with --resume"
        )
    site = {name: getattr(system, name) for name in OF_THE_SITE if name not in request.asked}
    site = {name: value for name, value in site.items() if value}
    rank_counts = request.options["ranks_per_node"] or (system.ranks_per_node or 1,)
    runs = []
    for ranks_per_node in rank_counts:
        name = name_of_run(ranks_per_node, several=len(rank_counts) > 1)
        ranks = tuple(ranks_per_node * count for count in nodes)
        run = request.deciding(ranks=ranks, ranks_per_node=ranks_per_node, output=sweep / name, **site)
        folder, plan = planned_run(run)
        _refuse_values("--launcher, --launcher-args, --remote-shell and -x", kept_plan(plan) != plan)
        runs.append((folder, plan))
    _warn_of_forced(runs[0][1], max(nodes))
    return runs


def resumed_runs(request: Request, folders: Sequence[RunFolder]) -> list[tuple[RunFolder, Plan]]:
    """Return the plans of the runs of an existing sweep."""
    asked = request.asked - {"nodes", "ranks_per_node"}
    run = Request({**request.options, "ranks": None, "ranks_per_node": None}, asked)
    return [planned_run(run.deciding(output=folder.path)) for folder in folders]


def _warn_of_forced(plan: Plan, nodes: int) -> None:
    """Say before jobs wait in a queue that their cells would be skipped, unless the site's settings are others."""
    try:
        for name in filter(NAMES.__contains__, plan.competitors):
            settings_of(name, loaded_library(), nodes)
    except NotForced as error:
        talk(f"warning: {error}")


def _warn_of_jobs(system: System, jobs: Sequence[SweepJob]) -> None:
    """Say which jobs measure nothing, and that they measure TCP, where the MPI of this environment is from PyPI."""
    if lone := [job.name for job in jobs if job.cells and job.ranks == 1]:
        talk(f"warning: {', '.join(lone)}: one rank, which exchanges nothing; --ranks-per-node starts more")
    if any(job.nodes > 1 for job in jobs) and not system.venv and not system.modules and (package := installed_wheel()):
        talk(
            f"warning: the MPI of this environment is from PyPI ({package}): it has no fabric driver, and measures TCP "
            "between nodes; load the site's MPI module and install mpi4py against it"
        )


def _refuse_values(words: str, are_there: bool) -> None:
    """Raise PlanError: jobs start from what is stored, and values of variables are not."""
    if are_there:
        raise PlanError(
            f"{words}: values of such variables are not stored, and jobs start from what is stored; export the "
            "variable in the environment, and name it without its value"
        )


def jobs_left(jobs: Sequence[SweepJob], sweep: Path, options: Mapping[str, Any]) -> list[SweepJob]:
    """Return the jobs of the requested nodes and ranks per node."""
    nodes, rank_counts = options["nodes"], options["ranks_per_node"]
    wanted = [
        job
        for job in jobs
        if (not nodes or job.nodes in nodes) and (not rank_counts or job.ranks_per_node in rank_counts)
    ]
    if jobs and not wanted:
        names = ", ".join(f"{job.nodes} x {job.ranks_per_node}" for job in jobs)
        raise PlanError(f"{sweep}: nothing is left for these nodes; left (nodes x ranks per node): {names}")
    return wanted


def _this_environment() -> str:
    """Return the Python environment of this process, in which its jobs run, too."""
    if not (Path(sys.prefix) / "bin" / "allreduce-bench").exists():
        raise OneLineError(
            f"{sys.prefix}/bin: the jobs need allreduce-bench there; run submit from a virtual environment, or set "
            "venv in the file of the system"
        )
    return sys.prefix


def _refuse_queued_jobs(sweep: Path) -> None:
    """Raise OneLineError if jobs of the sweep that measure are in the queue."""
    if busy := [f"{job.name} ({job.job})" for job in find_queued_jobs(sweep) if job.cells]:
        raise OneLineError(
            f"{sweep}: jobs of the sweep are in the queue: {', '.join(busy)}; wait for them, or cancel them: "
            f"allreduce-bench submit --cancel {shell_word(sweep)}"
        )


def node_hours(submission: Submission) -> tuple[float, float]:
    """Return the node-hours expected, and those if each job takes all of its time once."""
    jobs = submission.all_jobs
    return sum(job.node_hours(job.expected_s) for job in jobs), sum(job.node_hours(job.limit_s) for job in jobs)


def table(submission: Submission) -> list[str]:
    """Return the jobs as lines of a table, the collecting one last, and the node-hours in a sentence."""
    rows = [("", "job", "nodes", "ranks", "cells", "limit")]
    for job in submission.all_jobs:
        ranks, cells = (str(job.ranks), str(job.cells)) if job.cells else ("", "")
        limit = f"{len(job.tasks())} x {duration(job.limit_s)}" if job.array else duration(job.limit_s)
        rows.append((job.name, job.job, str(job.nodes), ranks, cells, limit))
    expected, longest = map(three_digits, node_hours(submission))
    hours = f"node-hours: {expected} expected, {longest} if every job uses its whole time limit once"
    return [*fitted(columns_of(rows)), hours]


def script_lines(scripts: Mapping[str, str], folder: Path) -> list[str]:
    """Return the first script whole, and of each other the lines that differ, as diff has them."""
    (first, whole), *others = ((name, text.splitlines()) for name, text in scripts.items())
    shown = ["", f"==> {folder / first} <==", *whole]
    for name, lines in others:
        shown += ["", f"==> {folder / name}, in place of {first} <=="]
        shown += [line for line in ndiff(whole, lines) if line.startswith(("+", "-"))]
    return shown
