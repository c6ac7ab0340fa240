"""`submit`: a sweep from options (its runs, jobs and scripts), and its submission to Slurm."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from ..evaluation.acceptance import OPTION
from ..launching.find import loaded_library
from ..machine.variables import drop_values
from ..runs.folder import RunFolder
from ..runs.library_algorithms import NAMES, NotForced, settings_of
from ..runs.option import Section
from ..runs.plan import Plan, PlanError
from ..runs.recorder import is_taken, now
from ..runs.rows import RunError
from ..slurm import commands
from ..slurm.commands import id_parts
from ..slurm.job_files import JOBS, SUBMISSION, SubmissionChoices, read_submissions, runs_of
from ..slurm.scripts import (
    Rendering,
    Template,
    check_job_name,
    commands_of,
    find_system,
    jobs_folder,
    node_hours,
    node_hours_sentence,
    order_rows,
    overrun_sentence,
    shown_scripts,
    submission_facts,
)
from ..slurm.submit import (
    HERE,
    SubmissionOrder,
    SweepJob,
    check_folder,
    check_sbatch_words,
    jobs_of,
    name_of_run,
    parse_limit,
    submit_all,
)
from ..tables import columns_of, fitted
from ..units import nearest, parse_counts, shell_word
from .options import OPTIONS, measuring_options
from .removed_options import ADVICE
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

GENERIC, JOB_NAME = "generic", "allreduce"
OF_THE_SITE = ("launcher", "launcher_args", "interface")  # set by the file of a system, unless an option is given


@dataclass(frozen=True, kw_only=True)
class SubmissionRequest:
    """A request of `submit`; None: not given, so that the system, or the submission before, decides."""

    run: Request  # of each run of the sweep; its output is the folder of the sweep
    nodes: Sequence[int] | None
    ranks_per_node: Sequence[int] | None
    system: str | None  # name, or path of its file
    job_name: str | None
    template: Path | None
    time_s: float | None  # the limit of each job
    array: bool | None
    steering: Sequence[str]  # options of `run` that are not in its plan, as the jobs get them
    arguments: Sequence[str]  # for sbatch
    max_node_hours: float
    yes: bool
    dry_run: bool

    @property
    def output(self) -> Path:
        """Return the folder of the sweep, as given. Raises PlanError if a sweep is resumed without naming it."""
        if self.run.control.output is None:
            raise PlanError("--resume needs the folder of the sweep: -o FOLDER")
        return self.run.control.output


def submission_request(options: Mapping[str, Any], asked: set[str]) -> SubmissionRequest:
    """Return the request of `options` of the command line, of which the user gave `asked`."""
    run = Request(options, frozenset(asked)).starting(loaded_library)
    if not options["resume"] and not options["output"]:
        name = f"{datetime.now():%Y-%m-%d_%H%M%S}_{options['job_name'] or JOB_NAME}"
        run = run.deciding(output=Path("results") / name)
    arguments = check_sbatch_words(options["words"])
    _refuse_values("the options of sbatch", drop_values(arguments) != list(arguments))
    return SubmissionRequest(
        run=run,
        nodes=options["nodes"],
        ranks_per_node=options["ranks_per_node"],
        system=options["system"],
        job_name=options["job_name"],
        template=options["template"],
        time_s=options["time"],
        array=options["array"],
        steering=_steering(run),
        arguments=arguments,
        max_node_hours=options["max_node_hours"],
        yes=options["yes"],
        dry_run=options["dry_run"],
    )


def new_sweep(asked: SubmissionRequest) -> tuple[Path, SubmissionChoices, list[tuple[RunFolder, Plan]]]:
    """Return the folder of a new sweep, its other choices, and the plans of its runs."""
    if not asked.nodes:
        raise PlanError("--nodes: expected node counts, one job each, such as --nodes 1,2,4,8")
    system = find_system(asked.system or GENERIC)
    choices = _updated(SubmissionChoices(str(system.path.absolute()), JOB_NAME), asked)
    check_job_name(choices.job_name)
    sweep = check_folder(asked.output.absolute())
    if is_taken(sweep):
        raise RunError(f"{asked.output}: already exists; choose another folder with -o, or continue it with --resume")
    site = {name: getattr(system, name) for name in OF_THE_SITE if name not in asked.run.asked}
    site = {name: value for name, value in site.items() if value}
    rank_counts = asked.ranks_per_node or (system.ranks_per_node or 1,)
    runs = []
    for ranks_per_node in rank_counts:
        name = name_of_run(ranks_per_node, several=len(rank_counts) > 1)
        ranks = tuple(ranks_per_node * nodes for nodes in asked.nodes)
        run = asked.run.deciding(ranks=ranks, ranks_per_node=ranks_per_node, output=asked.output / name, **site)
        runs.append((RunFolder(sweep / name), planned_run(run)[1]))
        _refuse_values("--launcher, --launcher-args, --remote-shell and -x", kept_plan(runs[-1][1]) != runs[-1][1])
    _warn_of_forced(runs[0][1], max(asked.nodes))
    return sweep, choices, runs


def _warn_of_forced(plan: Plan, nodes: int) -> None:
    """Say before jobs wait in a queue that their cells would be skipped, unless the site's settings are others."""
    try:
        for name in filter(NAMES.__contains__, plan.competitors):
            settings_of(name, loaded_library(), nodes)
    except NotForced as error:
        talk(f"warning: {error}")


def _refuse_values(words: str, are_there: bool) -> None:
    """Raise PlanError: jobs start from what is stored, and values of variables are not."""
    if are_there:
        raise PlanError(
            f"{words}: values of such variables are not stored, and jobs start from what is stored; export the "
            "variable in the environment, and name it without its value"
        )


def resumed_sweep(asked: SubmissionRequest) -> tuple[Path, SubmissionChoices, list[tuple[RunFolder, Plan]]]:
    """Return the same of an existing sweep, with the choices of its last submission unless others are given."""
    sweep = check_folder(asked.output.absolute())
    folders, submissions = runs_of(sweep), read_submissions(sweep)
    last = submissions[-1].again if submissions else SubmissionChoices("", JOB_NAME)
    if last is None:
        path = sweep / JOBS / str(submissions[-1].number) / SUBMISSION
        raise RunError(f"{path}: damaged: the field again is missing; submit without --resume into a new folder")
    if asked.system is not None or not submissions:
        system = find_system(asked.system or GENERIC)
        last = replace(last, system=str(system.path.absolute()))
    given = asked.run.asked - {"nodes", "ranks_per_node"}
    run = Request({**asked.run.options, "ranks": None, "ranks_per_node": None}, given)
    runs = [planned_run(run.deciding(output=folder.path)) for folder in folders]
    return sweep, _updated(last, asked), runs


def _updated(before: SubmissionChoices, asked: SubmissionRequest) -> SubmissionChoices:
    """Return the former choices, replaced by those of the command line."""
    changed: dict[str, Any] = {
        "job_name": asked.job_name,
        "template": str(asked.template.absolute()) if asked.template else None,
        "time_s": asked.time_s,
        "array": asked.array,
        "steering": asked.steering or None,
        "arguments": asked.arguments or None,
    }
    return replace(before, **{name: value for name, value in changed.items() if value is not None})


def rendering(sweep: Path, choices: SubmissionChoices) -> Rendering:
    """Return what the scripts of these choices share. Raises SystemFileError, ScriptError, OSError, OneLineError."""
    system = find_system(choices.system)
    template = choices.template or jobs_folder() / "sweep.sbatch"
    return Rendering(
        sweep=sweep,
        job_name=choices.job_name,
        system=system,
        template=Template.read(Path(template)),
        collecting=Template.read(jobs_folder() / "collect.sbatch"),
        venv=system.venv or _this_environment(),
        command=kept_command(),
        steering=choices.steering,
        time_s=choices.time_s,
    )


def _this_environment() -> str:
    """Return the Python environment of this process, in which its jobs run, too."""
    if not (Path(sys.prefix) / "bin" / "allreduce-bench").exists():
        raise OneLineError(
            f"{sys.prefix}/bin: the jobs need allreduce-bench there; run submit from a virtual environment, or set "
            "venv in the file of the system"
        )
    return sys.prefix


def jobs_left(
    sweep: Path, choices: SubmissionChoices, runs: list[tuple[RunFolder, Plan]], asked: SubmissionRequest
) -> list[SweepJob]:
    """Return the jobs for what is left, of the requested nodes and ranks per node."""
    left = jobs_of(sweep, runs, choices.array, "--skip-hung" in choices.steering, asked.run.control.within_s)
    nodes, rank_counts = asked.nodes, asked.ranks_per_node
    wanted = [
        job
        for job in left
        if (not nodes or job.nodes in nodes) and (not rank_counts or job.start.ranks_per_node in rank_counts)
    ]
    if left and not wanted:
        names = ", ".join(f"{job.nodes} x {job.start.ranks_per_node}" for job in left)
        raise PlanError(f"{sweep}: nothing is left for these nodes; left (nodes x ranks per node): {names}")
    return wanted


def _steering(run: Request) -> tuple[str, ...]:
    """Return the options of `run` that are not in its plan, as its jobs get them."""
    control = run.control
    if "timeout_s" in run.asked:
        refuse_short_timeout(control.timeout_s)
    times = ("within_s", "wait_idle_s", "timeout_s")
    given_times = [f"{OPTIONS[name].name}={getattr(control, name):g}s" for name in times if name in run.asked]
    limits = [f"{OPTION[limit.quantity]}={limit.words}" for limit in control.limits]
    looked = [f"{OPTIONS['identify'].name}={control.identify}"] * ("identify" in run.asked)
    skipping = ["--skip-hung"] * control.skip_hung
    return (*given_times, *limits, *looked, *skipping)


# `submit`: submit the jobs of a sweep to a Slurm cluster


SENSELESS = {  # options of `run` without a meaning here -> why
    "ranks": "the number of ranks is nodes x ranks per node; use --nodes and --ranks-per-node",
    "hosts": "Slurm chooses the nodes; to choose them, add -- --nodelist=n1,n2 at the end",
    "hostfile": "Slurm chooses the nodes",
    "remote_shell": "inside a job the ranks are started by Slurm",
    "virtual_rates_bytes_per_s": "the ranks run on the nodes of the jobs; measure over virtual hosts with run",
    "format": "the results are printed later by allreduce-bench collect",
}
NODES = parsed("nodes", lambda text: tuple(parse_counts(text, "node")))
PING_S = 15.0  # a controller that takes longer would take minutes for a sweep


class SubmitCommand(Sectioned):
    """A command with the options of `run`, without those that have no meaning here."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for parameter in self.params:
            if isinstance(parameter, click.Option) and parameter.name == "ranks_per_node":
                parameter.type, parameter.help = (
                    RANKS,
                    "Ranks on each node, e.g. 4 or 1,4 [default: the system's, else 1].",
                )
            elif isinstance(parameter, click.Option):
                parameter.hidden = parameter.name in SENSELESS

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and explain where the options of sbatch belong."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name in ADVICE:
                raise
            options = [name for option in self.params for name in option.opts if name.startswith("--")]
            meant = nearest(error.option_name, options, "--") if error.option_name.startswith("--") else ""
            sentence = " ".join(filter(None, [f"no such option: {error.option_name};", meant]))
            raise OneLineError(f"{sentence} put options of sbatch after --") from error


@click.command(
    cls=SubmitCommand,
    epilog=examples(
        "submit --nodes 1,2,4,8 --ranks-per-node 4 --dry-run",
        "submit --nodes 1,2,4,8 --ranks-per-node 4 -o results/sweep -- --account=me",
        "submit --resume -o results/sweep",
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
@click.option("--job-name", metavar="NAME", help="Name of the jobs, before -8n [default: allreduce].")
@click.option(
    "--time",
    type=parsed("time", parse_limit),
    help="Time limit of each job, in sbatch's format or as 90m [default: the system's, else twice the estimate].",
)
@click.option("--array/--no-array", default=None, help="Each launch as a separate array task.")
@click.option("--template", type=click.Path(path_type=Path), help="Your own job script [default: jobs/sweep.sbatch].")
@click.option(
    "--max-node-hours",
    type=click.FloatRange(0),
    default=100.0,
    show_default=True,
    metavar="H",
    help="Ask for confirmation if the jobs may take more.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Print the jobs and their scripts; submit and write nothing.")
@measuring_options
@click.option(
    "--resume",
    cls=PlacedOption,
    section=Section.GONE_WRONG,
    is_flag=True,
    help="Submit the missing part of the sweep in -o, with the options of its last submission.",
)
@click.option("--timeout", "timeout_s", type=DURATION, help="As in run: end a launch after this time without progress.")
@click.option("--skip-hung", is_flag=True, help="With --resume: skip the cells that hung.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- WORDS FOR SBATCH]...")
@click.pass_context
@errors_in_one_line
def submit(context: click.Context, **options) -> None:
    """Measure on a Slurm cluster: one job for each node count, and a final job that collects the results.

    Accepts the options of `run`; --within is the time of each job. Put further options of sbatch after --. Either all
    are submitted or none. The scripts stay in jobs/ of the sweep's folder, with what the jobs say.
    """
    given = given_options(context)
    for name in sorted(given & set(SENSELESS)):
        raise OneLineError(f"{OPTIONS[name].name} for submit: {SENSELESS[name]}")
    submit_sweep(submission_request(options, given))


def submit_sweep(asked: SubmissionRequest) -> None:
    """Submit the missing part of the requested sweep, or print it with --dry-run."""
    resuming = asked.run.control.resume
    sweep, choices, runs = resumed_sweep(asked) if resuming else new_sweep(asked)
    shared = rendering(sweep, choices)
    jobs = jobs_left(sweep, choices, runs, asked)
    if not jobs:
        talk(f"nothing is left to measure; next: allreduce-bench collect {shell_word(asked.output)}")
        return
    scripts = [shared.script(job) for job in jobs]
    new_runs = [] if resuming else runs
    order = SubmissionOrder(sweep, new_runs, scripts, shared.collect_script(jobs), choices.arguments, shared.command)
    if overrun := overrun_sentence(shared, jobs):
        talk(f"warning: {overrun}")
    if asked.dry_run:
        table = fitted(columns_of(order_rows(shared, jobs, ())))
        _print_lines([*table, *commands_of(order), node_hours_sentence(shared, jobs), *shown_scripts(order)])
        return
    _refuse_queued_jobs(sweep)
    _refuse_many_node_hours(asked, node_hours(shared, jobs)[1])
    try:
        ids, collect = submit_all(order, lambda *ids: submission_facts(shared, jobs, choices, now(), *ids))
    except KeyboardInterrupt as interrupt:
        raise OneLineError("interrupted; nothing was submitted", exit_code=INTERRUPTED) from interrupt
    table = fitted(columns_of(order_rows(shared, jobs, [*ids, collect])))
    _print_lines([*table, node_hours_sentence(shared, jobs)])
    talk(f"next: allreduce-bench status {shell_word(asked.output)}")


def _refuse_queued_jobs(sweep: Path) -> None:
    """Raise OneLineError if jobs of the sweep are in the queue, SlurmError if there is no queue to look at."""
    commands.ping(PING_S)
    submitted = [job for submission in read_submissions(sweep) for job in submission.jobs]
    if not submitted:
        return
    names = {job.job: job.name if job.run == HERE else f"{job.run}/{job.name}" for job in submitted}
    busy = [job for _, job in sorted(commands.jobs(list(names)).items()) if job.queued or job.running]
    if busy:
        states = [f"{names.get(id_parts(job.id)[0], 'job')} ({job.id}, {job.state.lower()})" for job in busy]
        numbers = " ".join(sorted({id_parts(job.id)[0] for job in busy}))
        sentence = f"{sweep}: jobs of the sweep are in the queue: {', '.join(states)}"
        raise OneLineError(f"{sentence}; wait for them, or cancel them: scancel {numbers}")


def _refuse_many_node_hours(asked: SubmissionRequest, most_node_hours: float) -> None:
    """Raise OneLineError unless the node-hours are few, or the user agrees to them."""
    if most_node_hours <= asked.max_node_hours or asked.yes:
        return
    sentence = f"the jobs may take {most_node_hours:.1f} node-hours, above --max-node-hours {asked.max_node_hours:g}"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise OneLineError(f"{sentence}; nothing was submitted; add --yes, or increase --max-node-hours")
    with suppress(click.Abort):
        if click.confirm(f"{sentence}; submit them?", err=True):
            return
    raise OneLineError("nothing was submitted", exit_code=1)


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)
