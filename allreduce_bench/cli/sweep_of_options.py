"""The contents of a submission, from the options: the runs of its sweep, its jobs and their scripts."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from ..evaluation.acceptance import OPTION
from ..machine.node import hide_secrets
from ..message import say
from ..runs.folder import RunFolder
from ..runs.plan import Plan, PlanError
from ..runs.recorder import is_taken
from ..runs.rows import RunError
from ..slurm.job_files import JOBS, SUBMISSION, SubmissionChoices, read_submissions, runs_of
from ..slurm.jobs import SweepJob, jobs_of, name_of_run
from ..slurm.scripts import Rendering, Template, check_job_name, find_system, jobs_folder
from ..slurm.submit import check_folder, check_sbatch_words
from .options import OPTIONS
from .request import Request, kept_plan, planned_run, refuse_short_timeout, request_of
from .types import OneLineError, kept_command

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
    stage: str | None
    steering: Sequence[str]  # options of `run` that are not in its plan, as the jobs get them
    arguments: Sequence[str]  # for sbatch
    max_node_hours: float
    yes: bool
    dry_run: bool

    @property
    def output(self) -> Path:
        """Return the folder of the sweep, as given. Raises PlanError if a sweep is resumed without naming it."""
        if self.run.control.output is None:
            raise PlanError("cli.resume_needs_folder_sweep")
        return self.run.control.output


def submission_request(options: Mapping[str, Any], asked: set[str]) -> SubmissionRequest:
    """Return the request of `options` of the command line, of which the user gave `asked`."""
    run = request_of(options, asked)
    if not options["resume"] and not options["output"]:
        name = f"{datetime.now():%Y-%m-%d_%H%M%S}_{options['job_name'] or JOB_NAME}"
        run = replace(run, control=replace(run.control, output=Path("results") / name))
    arguments = check_sbatch_words(options["words"])
    _refuse_secrets(say("cli.options_sbatch"), hide_secrets(arguments) != list(arguments))
    return SubmissionRequest(
        run=run,
        nodes=options["nodes"],
        ranks_per_node=options["ranks_per_node"],
        system=options["system"],
        job_name=options["job_name"],
        template=options["template"],
        time_s=options["time"],
        array=options["array"],
        stage=options["stage"] if "stage" in asked else None,
        steering=_steering(run),
        arguments=arguments,
        max_node_hours=options["max_node_hours"],
        yes=options["yes"],
        dry_run=options["dry_run"],
    )


def new_sweep(asked: SubmissionRequest) -> tuple[Path, SubmissionChoices, list[tuple[RunFolder, Plan]]]:
    """Return the folder of a new sweep, its other choices, and the plans of its runs."""
    if not asked.nodes:
        raise PlanError("cli.nodes_expected_node_counts")
    system = find_system(asked.system or GENERIC)
    choices = _updated(SubmissionChoices(str(system.path.absolute()), JOB_NAME, stage=system.stage), asked)
    check_job_name(choices.job_name)
    sweep = check_folder(asked.output.absolute())
    if is_taken(sweep):
        raise RunError("cli.already_exists_choose_another_folder", output=asked.output)
    site = {name: getattr(system, name) for name in OF_THE_SITE if name not in asked.run.asked}
    site = {name: value for name, value in site.items() if value}
    rank_counts = asked.ranks_per_node or (system.ranks_per_node or 1,)
    runs = []
    for ranks_per_node in rank_counts:
        name = name_of_run(ranks_per_node, several=len(rank_counts) > 1)
        ranks = tuple(ranks_per_node * nodes for nodes in asked.nodes)
        plan = partial(asked.run.make_plan, ranks=ranks, ranks_per_node=ranks_per_node, **site)
        control = replace(asked.run.control, output=asked.output / name)
        runs.append((RunFolder(sweep / name), planned_run(replace(asked.run, make_plan=plan, control=control))[1]))
        _refuse_secrets(say("cli.launcher_launcher_args_remote"), kept_plan(runs[-1][1]) != runs[-1][1])
    return sweep, choices, runs


def _refuse_secrets(words: str, are_there: bool) -> None:
    """Raise PlanError: jobs start from what is stored, and a secret is not."""
    if are_there:
        raise PlanError("cli.possible_secret_found_would", words=words)


def resumed_sweep(asked: SubmissionRequest) -> tuple[Path, SubmissionChoices, list[tuple[RunFolder, Plan]]]:
    """Return the same of an existing sweep, with the choices of its last submission unless others are given."""
    sweep = check_folder(asked.output.absolute())
    folders, submissions = runs_of(sweep), read_submissions(sweep)
    last = submissions[-1].again if submissions else SubmissionChoices("", JOB_NAME)
    if last is None:
        path = sweep / JOBS / str(submissions[-1].number) / SUBMISSION
        raise RunError("cli.damaged_field_again_missing", path=path)
    if asked.system is not None or not submissions:
        system = find_system(asked.system or GENERIC)
        last = replace(last, system=str(system.path.absolute()), stage=system.stage)
    run = Request(
        partial(asked.run.make_plan, ranks=None, ranks_per_node=None),
        asked.run.control,
        asked.run.asked - {"nodes", "ranks_per_node"},
    )
    runs = [planned_run(replace(run, control=replace(run.control, output=folder.path))) for folder in folders]
    return sweep, _updated(last, asked), runs


def _updated(before: SubmissionChoices, asked: SubmissionRequest) -> SubmissionChoices:
    """Return the former choices, replaced by those of the command line."""
    changed: dict[str, Any] = {
        "job_name": asked.job_name,
        "template": str(asked.template.absolute()) if asked.template else None,
        "time_s": asked.time_s,
        "array": asked.array,
        "stage": asked.stage,
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
        stage=choices.stage,
        steering=choices.steering,
        time_s=choices.time_s,
    )


def _this_environment() -> str:
    """Return the Python environment of this process, in which its jobs run, too."""
    if not (Path(sys.prefix) / "bin" / "allreduce-bench").exists():
        raise OneLineError("cli.bin_jobs_need_allreduce", prefix=sys.prefix)
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
        raise PlanError("cli.nothing_left_nodes_left", sweep=sweep, names=names)
    return wanted


def _steering(run: Request) -> tuple[str, ...]:
    """Return the options of `run` that are not in its plan, as its jobs get them."""
    control = run.control
    if "timeout_s" in run.asked:
        refuse_short_timeout(control.timeout_s)
    times = ("within_s", "wait_idle_s", "timeout_s")
    given_times = [f"{OPTIONS[name].name}={getattr(control, name):g}s" for name in times if name in run.asked]
    limits = [f"{OPTION[limit.quantity]}={limit.words}" for limit in control.limits]
    return (*given_times, *limits, *["--skip-hung"] * control.skip_hung, *["--no-limit"] * control.no_limit)
