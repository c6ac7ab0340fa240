"""What a submission holds: the runs of its sweep, its jobs and their scripts, as they follow from the options."""

import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from ..evaluation.acceptance import OPTION
from ..runs.folder import RunFolder
from ..runs.plan import Plan, PlanError
from ..runs.rows import RunError
from ..slurm.job_files import JOBS, SUBMISSION, Again, read_submissions, runs_of
from ..slurm.jobs import SweepJob, jobs_of, name_of_run
from ..slurm.scripts import Rendering
from ..slurm.submit import check_folder
from ..slurm.systems import find_system, jobs_folder
from ..slurm.template import Template, check_job_name
from .options import limits_of
from .plan_of_options import planned_run
from .run import SHORTEST_TIMEOUT_S
from .types import OneLine

GENERIC, JOB_NAME = "generic", "allreduce"
OF_THE_SITE = ("launcher", "launcher_args", "interface")  # what the file of a system says where no option does


def begun(options: dict, asked: set[str]) -> tuple[Path, Again, list[tuple[RunFolder, Plan]]]:
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


def resumed(options: dict, asked: set[str]) -> tuple[Path, Again, list[tuple[RunFolder, Plan]]]:
    """The same of a sweep that is there, chosen as in its last submission where nothing else is asked for."""
    if not options["output"]:
        raise PlanError("--resume needs the folder of the sweep: -o FOLDER")
    sweep = check_folder(options["output"].absolute())
    folders, submissions = runs_of(sweep), read_submissions(sweep)
    last = submissions[-1].again if submissions else Again("", JOB_NAME)
    if last is None:
        path = sweep / JOBS / str(submissions[-1].number) / SUBMISSION
        raise RunError(f"{path}: damaged: it does not say again; submit without --resume into a new folder")
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


def rendering(sweep: Path, again: Again) -> Rendering:
    """What the scripts of these choices have in common. Raises SystemFileError, ScriptError, OSError, OneLine."""
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


def jobs_left(sweep: Path, again: Again, runs: list[tuple[RunFolder, Plan]], options: dict) -> list[SweepJob]:
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


def _steering(options: dict, asked: set[str]) -> tuple[str, ...]:
    """The options of `run` that its plan does not hold, as its jobs get them."""
    if "timeout" in asked and options["timeout"] < SHORTEST_TIMEOUT_S:
        raise OneLine(f"--timeout: {options['timeout']:g} s would end launches that are well; give it 1s at least")
    times = [f"--{name}={options[name]:g}s" for name in ("within", "timeout") if name in asked]
    limits = [f"{OPTION[limit.quantity]}={limit.words}" for limit in limits_of(options)]
    return (*times, *limits, *["--skip-hung"] * options["skip_hung"])
