"""`submit`."""

import shlex
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click

from ..acceptance import OPTION
from ..plan import Plan, PlanError
from ..recorder import now
from ..runfolder import RunError, RunFolder
from ..slurm import commands
from ..slurm.again import Again
from ..slurm.estimate import parse_limit
from ..slurm.listed import commands_of, described, in_words, node_hours, rows, too_long
from ..slurm.passed import check_passed
from ..slurm.rendered import Rendering
from ..slurm.script import Template, check_job_name
from ..slurm.submission import Order, check_folder, submit_all
from ..slurm.submissions import read_submissions, runs_of
from ..slurm.sweep import SweepJob, jobs_of, name_of_run
from ..slurm.systems import find_system, jobs_folder
from ..table import aligned
from ..units import parse_counts
from .opening import planned_run
from .options import Sectioned, limits_of, plan_options
from .run import SHORTEST_TIMEOUT_S
from .words import DURATION, RANKS, OneLine, errors_in_one_line, parsed, talk

GENERIC, JOB_NAME = "generic", "allreduce"
OF_THE_SITE = ("launcher", "launcher_args", "interface")  # what the file of a system says where no option does
SENSELESS = {  # options of `run` that have none here -> why
    "ranks": "ranks are nodes x ranks per node; say --nodes and --ranks-per-node",
    "hosts": "Slurm chooses the nodes; for some of them say, behind --, --nodelist=n1,n2",
    "hostfile": "Slurm chooses the nodes",
    "remote_shell": "inside a job Slurm reaches the nodes",
    "format": "the results come later; allreduce-bench collect writes them",
}
NODES = parsed("nodes", lambda text: tuple(parse_counts(text, "node")))
PING_S = 15.0  # a controller that takes longer would take minutes for a sweep


class Submitting(Sectioned):
    """The options of `run`, less those that have no sense here."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for parameter in self.params:
            if isinstance(parameter, click.Option) and parameter.name == "ranks_per_node":
                parameter.type, parameter.help = RANKS, "On each node, e.g. 4 or 1,4 [default: the system's, else 1]."
            elif isinstance(parameter, click.Option):
                parameter.hidden = parameter.name in SENSELESS

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Say where the options of sbatch go."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise OneLine(f"no such option: {error.option_name}; options of sbatch stand behind a --") from error


@click.command(cls=Submitting)
@click.option("--nodes", type=NODES, help="Numbers of nodes, a job each, e.g. 1,2,4,8 or 1-4.")
@click.option("--system", help="Name of the site, or path of its .cfg file [default: generic].")
@click.option("--job-name", metavar="NAME", help="Of the jobs, before -8n [default: allreduce].")
@click.option(
    "--time",
    type=parsed("time", parse_limit),
    help="Limit of each job, as sbatch takes it, or 90m [default: the system's, else twice what the plan takes].",
)
@click.option("--array/--no-array", default=None, help="Each launch as a task of its own.")
@click.option("--template", type=click.Path(path_type=Path), help="Your own job script [default: jobs/sweep.sbatch].")
@click.option(
    "--max-node-hours",
    type=click.FloatRange(0),
    default=100.0,
    show_default=True,
    metavar="H",
    help="Ask before the jobs may take more.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Print what would be submitted; write nothing.")
@plan_options
@click.option("--resume", is_flag=True, help="Submit what is left of the sweep in -o, as it was submitted before.")
@click.option("--timeout", type=DURATION, help="As for run: end a launch in which nothing moves for so long.")
@click.option("--skip-hung", is_flag=True, help="With --resume: leave out the cells that hung.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- WORDS FOR SBATCH]...")
@click.pass_context
@errors_in_one_line
def submit(context: click.Context, **options) -> None:
    """Measure on a Slurm cluster: one job for each number of nodes, and one behind them that collects.

    Takes the options of `run`; --within is the time of each job. Further words for every sbatch go behind --. All jobs
    are submitted or none. The scripts stay in jobs/ of the sweep's folder, with what the jobs say.

    allreduce-bench submit --nodes 1,2,4,8 --ranks-per-node 4 -- --account=me
    """
    asked = {name for name in options if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE}
    for name in sorted(asked & set(SENSELESS)):
        raise OneLine(f"--{name.replace('_', '-')} for submit: {SENSELESS[name]}")
    options["words"] = check_passed(options["words"])
    sweep, again, runs = _resumed(options, asked) if options["resume"] else _begun(options, asked)
    rendering = _rendering(sweep, again)
    jobs = _jobs(sweep, again, runs, options)
    if not jobs:
        talk(f"nothing is left to be measured; next: allreduce-bench collect {shlex.quote(str(options['output']))}")
        return
    scripts = [rendering.script(job) for job in jobs]
    new = [] if options["resume"] else runs
    order = Order(sweep, new, scripts, rendering.collect_script(jobs), again.arguments, rendering.command)
    if words := too_long(rendering, jobs):
        talk(f"warning: {words}")
    if options["dry_run"]:
        _print([*aligned(rows(rendering, jobs, ())), *commands_of(order), in_words(rendering, jobs)])
        return
    _look_at_slurm(sweep)
    _ask(options, node_hours(rendering, jobs)[1])
    try:
        ids, collect = submit_all(order, lambda *ids: described(rendering, jobs, again, now(), *ids))
    except KeyboardInterrupt as interrupt:
        raise OneLine("interrupted; nothing was submitted", 1) from interrupt
    _print([*aligned(rows(rendering, jobs, [*ids, collect])), in_words(rendering, jobs)])
    talk(f"next: allreduce-bench status {shlex.quote(str(options['output']))}")


def _begun(options: dict, asked: set[str]) -> tuple[Path, Again, list[tuple[RunFolder, Plan]]]:
    """The folder of a new sweep, what else was chosen, and the plans of its runs."""
    if not options["nodes"]:
        raise PlanError("--nodes: expected numbers of nodes, a job each, such as --nodes 1,2,4,8")
    system = find_system(options["system"] or GENERIC)
    again = _chosen(Again(str(system.path.absolute()), JOB_NAME, stage=system.stage), options, asked)
    check_job_name(again.job_name)
    options["output"] = options["output"] or Path("results") / f"{datetime.now():%Y-%m-%d_%H%M%S}_{again.job_name}"
    sweep = check_folder(options["output"].absolute())
    if sweep.exists():
        raise RunError(f"{options['output']}: exists already; choose another folder with -o, or go on by --resume")
    for name in OF_THE_SITE:
        if name not in asked and getattr(system, name):
            options[name] = getattr(system, name)
    per_node = options["ranks_per_node"] or (system.ranks_per_node or 1,)
    runs = []
    for each in per_node:
        name = name_of_run(each, several=len(per_node) > 1)
        ranks = tuple(each * number for number in options["nodes"])
        own = {"output": options["output"] / name, "ranks": ranks, "ranks_per_node": each, "only": ""}
        runs.append((RunFolder(sweep / name), planned_run({**options, **own}, asked)[1]))
    return sweep, again, runs


def _resumed(options: dict, asked: set[str]) -> tuple[Path, Again, list[tuple[RunFolder, Plan]]]:
    """The same of a sweep that is there, chosen as in its last submission where nothing else is asked for."""
    if not options["output"]:
        raise PlanError("--resume needs the folder of the sweep: -o FOLDER")
    sweep = check_folder(options["output"].absolute())
    folders, submissions = runs_of(sweep), read_submissions(sweep)
    last = Again.read(sweep, submissions[-1].number) if submissions else Again("", JOB_NAME)
    if "system" in asked or not submissions:
        system = find_system(options["system"] or GENERIC)
        last = replace(last, system=str(system.path.absolute()), stage=system.stage)
    own = {"ranks": None, "ranks_per_node": None, "only": ""}
    planned = asked - {"nodes", "ranks_per_node"}
    runs = [planned_run({**options, **own, "output": folder.path}, planned) for folder in folders]
    return sweep, _chosen(last, options, asked), runs


def _chosen(before: Again, options: dict, asked: set[str]) -> Again:
    """The choices of the command line in the place of those before."""
    changed = {
        "job_name": options["job_name"],
        "template": str(options["template"].absolute()) if options["template"] else None,
        "time_s": options["time"],
        "array": options["array"],
        "stage": options.get("stage") if "stage" in asked else None,
        "steering": _steering(options, asked) or None,
        "arguments": options["words"] or None,
    }
    return replace(before, **{name: value for name, value in changed.items() if value is not None})


def _rendering(sweep: Path, again: Again) -> Rendering:
    system = find_system(again.system)
    own = again.template or jobs_folder() / "sweep.sbatch"
    return Rendering(
        sweep=sweep,
        job_name=again.job_name,
        system=system,
        template=Template.read(Path(own)),
        collecting=Template.read(jobs_folder() / "collect.sbatch"),
        venv=system.venv or _own_environment(),
        command=["allreduce-bench", *sys.argv[1:]],
        stage=again.stage,
        steering=again.steering,
        time_s=again.time_s,
    )


def _own_environment() -> str:
    """The Python environment that this runs in: its jobs run in it, too."""
    if not (Path(sys.prefix) / "bin" / "allreduce-bench").exists():
        raise OneLine(
            f"{sys.prefix}/bin: holds no allreduce-bench for the jobs; run submit from a virtual environment, "
            "or name one as venv in the file of the system"
        )
    return sys.prefix


def _jobs(sweep: Path, again: Again, runs: list[tuple[RunFolder, Plan]], options: dict) -> list[SweepJob]:
    """The jobs for what is left, of those nodes and ranks per node that were asked for."""
    left = jobs_of(sweep, runs, again.array, "--skip-hung" in again.steering, options["within"])
    nodes, per_node = options["nodes"], options["ranks_per_node"]
    asked = [
        job
        for job in left
        if (not nodes or job.nodes in nodes) and (not per_node or job.start.ranks_per_node in per_node)
    ]
    if left and not asked:
        names = ", ".join(f"{job.nodes} x {job.start.ranks_per_node}" for job in left)
        raise PlanError(f"{sweep}: nothing is left there; left on nodes x ranks per node: {names}")
    return asked


def _look_at_slurm(sweep: Path) -> None:
    """Raises OneLine where jobs of the sweep are in the queue, SlurmError where there is no queue to look at."""
    commands.ping(PING_S)
    submitted = [job for submission in read_submissions(sweep) for job in submission.jobs]
    if not submitted:
        return
    names = {job.job: job.name for job in submitted}
    busy = [job for _, job in sorted(commands.jobs(list(names)).items()) if job.queued or job.running]
    if busy:
        states = [f"{names.get(job.id.partition('_')[0], 'job')} ({job.id}, {job.state.lower()})" for job in busy]
        numbers = " ".join(sorted({job.id.partition("_")[0] for job in busy}))
        said = f"{sweep}: jobs of the sweep are in the queue: {', '.join(states)}"
        raise OneLine(f"{said}; wait for them, or end them: scancel {numbers}")


def _ask(options: dict, most: float) -> None:
    """Raises OneLine unless the node-hours are few, or the user wants them."""
    if most <= options["max_node_hours"] or options["yes"]:
        return
    words = f"the jobs may take {most:.1f} node-hours, above --max-node-hours {options['max_node_hours']:g}"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise OneLine(f"{words}; nothing was submitted; say --yes, or allow more")
    with suppress(click.Abort):
        if click.confirm(f"{words}; submit them?", err=True):
            return
    raise OneLine("nothing was submitted", 1)


def _steering(options: dict, asked: set[str]) -> tuple[str, ...]:
    """The options of `run` that its plan does not hold, as its jobs get them."""
    if "timeout" in asked and options["timeout"] < SHORTEST_TIMEOUT_S:
        raise OneLine(f"--timeout: {options['timeout']:g} s would end launches that are well; give it 1s at least")
    times = [f"--{name}={options[name]:g}s" for name in ("within", "timeout") if name in asked]
    limits = [f"{OPTION[limit.quantity]}={limit.words}" for limit in limits_of(options)]
    return (*times, *limits, *["--skip-hung"] * options["skip_hung"])


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)
