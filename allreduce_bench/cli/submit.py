"""`submit`: submit the jobs of a sweep to a Slurm cluster."""

import shlex
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import click

from ..message import say
from ..runs.option import Section
from ..runs.recorder import now
from ..slurm import commands
from ..slurm.commands import id_parts
from ..slurm.job_files import read_submissions
from ..slurm.jobs import HERE, parse_limit
from ..slurm.order_table import (
    commands_of,
    node_hours,
    node_hours_sentence,
    order_rows,
    overrun_sentence,
    submission_facts,
)
from ..slurm.submit import SubmissionOrder, submit_all
from ..units import aligned, nearest, parse_counts
from .options import OPTIONS, measuring_options
from .sections import Sectioned, examples
from .sweep_of_options import SubmissionRequest, jobs_left, new_sweep, rendering, resumed_sweep, submission_request
from .types import (
    DURATION,
    INTERRUPTED,
    RANKS,
    OneLineError,
    PlacedOption,
    errors_in_one_line,
    given_options,
    no_limit,
    parsed,
    talk,
)

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
                    say("cli.ranks_node_default_system"),
                )
            elif isinstance(parameter, click.Option):
                parameter.hidden = parameter.name in SENSELESS

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and explain where the options of sbatch belong."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            options = [name for option in self.params for name in option.opts if name.startswith("--")]
            meant = nearest(error.option_name, options, "--") if error.option_name.startswith("--") else ""
            sentence = " ".join(filter(None, [f"no such option: {error.option_name};", meant]))
            raise OneLineError("cli.put_options_sbatch_after", sentence=sentence) from error

    def habit_of(self, words: Sequence[str]) -> str:
        """Return advice as of `run`, but not on one-letter options: those may be of sbatch."""
        return super().habit_of([word for word in words if len(word.partition("=")[0]) > 2])


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
@click.option("--dry-run", is_flag=True, help="Print the jobs; submit and write nothing.")
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
@no_limit
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
        raise OneLineError("cli.submit", options=OPTIONS[name].name, senseless=SENSELESS[name])
    submit_sweep(submission_request(options, given))


def submit_sweep(asked: SubmissionRequest) -> None:
    """Submit the missing part of the requested sweep, or print it with --dry-run."""
    resuming = asked.run.control.resume
    sweep, choices, runs = resumed_sweep(asked) if resuming else new_sweep(asked)
    shared = rendering(sweep, choices)
    jobs = jobs_left(sweep, choices, runs, asked)
    if not jobs:
        talk(say("cli.nothing_left_measure_next", output=shlex.quote(str(asked.output))))
        return
    scripts = [shared.script(job) for job in jobs]
    new_runs = [] if resuming else runs
    order = SubmissionOrder(sweep, new_runs, scripts, shared.collect_script(jobs), choices.arguments, shared.command)
    if overrun := overrun_sentence(shared, jobs):
        talk(f"warning: {overrun}")
    if asked.dry_run:
        _print_lines([*aligned(order_rows(shared, jobs, ())), *commands_of(order), node_hours_sentence(shared, jobs)])
        return
    _refuse_queued_jobs(sweep)
    _refuse_many_node_hours(asked, node_hours(shared, jobs)[1])
    try:
        ids, collect = submit_all(order, lambda *ids: submission_facts(shared, jobs, choices, now(), *ids))
    except KeyboardInterrupt as interrupt:
        raise OneLineError("cli.interrupted_nothing_submitted", exit_code=INTERRUPTED) from interrupt
    _print_lines([*aligned(order_rows(shared, jobs, [*ids, collect])), node_hours_sentence(shared, jobs)])
    talk(say("cli.next_allreduce_bench_status", output=shlex.quote(str(asked.output))))


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
        sentence = say("cli.jobs_sweep_queue", sweep=sweep, states=", ".join(states))
        raise OneLineError("cli.wait_cancel_scancel", sentence=sentence, numbers=numbers)


def _refuse_many_node_hours(asked: SubmissionRequest, most_node_hours: float) -> None:
    """Raise OneLineError unless the node-hours are few, or the user agrees to them."""
    if most_node_hours <= asked.max_node_hours or asked.yes:
        return
    sentence = say("cli.jobs_may_take_node", most_node_hours=most_node_hours, max_node_hours=asked.max_node_hours)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise OneLineError("cli.nothing_submitted_add_yes", sentence=sentence)
    with suppress(click.Abort):
        if click.confirm(f"{sentence}; submit them?", err=True):
            return
    raise OneLineError("cli.nothing_submitted", exit_code=1)


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)
