"""`run` and `demo`, and the hidden `measure` that their ranks execute."""

import os
import platform
import random
import shlex
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import click

from ..algorithms import builtin, find
from ..plan import DTYPES, OPS, Launch, Plan, PlanError, geometric_sizes
from ..recorder import create_run, write_summary
from ..runfolder import RunError, RunFolder
from ..started import ranks_on_this_node, thread_level, under_launcher
from .words import DURATION, NAMES, RANKS, SIZE, SIZES, OneLine, errors_in_one_line, talk

LEVELS = ("auto", "single", "funneled", "serialized", "multiple")
SCHEDULERS = {"sbatch": "SLURM_JOB_ID", "qsub": "PBS_JOBID", "bsub": "LSB_JOBID", "flux": "FLUX_JOB_ID"}
LARGEST_SEED = 2**31


def plan_options(command: Callable) -> Callable:
    """The options that decide what is measured."""
    for option in reversed(
        (
            click.option(
                "-n",
                "--ranks",
                type=RANKS,
                help="Ranks to start, e.g. 4, 2,4,8 or 1-8 [default: the cores, at least 2].",
            ),
            click.option(
                "-a", "--algorithms", type=NAMES, help="Names, native, or paths of own files [default: native and all]."
            ),
            click.option("--sizes", type=SIZES, help="Sizes in bytes, e.g. 8,4K,16M; instead of -b, -e and -f."),
            click.option("-b", "--minbytes", type=SIZE, default="8", show_default=True, help="Smallest size."),
            click.option("-e", "--maxbytes", type=SIZE, default="16M", show_default=True, help="Largest size."),
            click.option(
                "-f",
                "--stepfactor",
                type=float,
                default=4.0,
                show_default=True,
                help="Each size is so many times the last.",
            ),
            click.option(
                "-d", "--dtype", default="float32", show_default=True, help=f"Element type: {', '.join(DTYPES)}."
            ),
            click.option("--op", default="sum", show_default=True, help=f"Operation: {', '.join(OPS)}."),
            click.option(
                "--launches", type=click.IntRange(1), default=3, show_default=True, help="Fresh mpiruns per rank count."
            ),
            click.option(
                "--iters", type=click.IntRange(1), help="Timed calls per cell [default: 5 to 100, see --cell-time]."
            ),
            click.option(
                "--warmups", type=click.IntRange(0), default=3, show_default=True, help="Untimed calls before."
            ),
            click.option(
                "--cell-time",
                type=DURATION,
                default="500ms",
                show_default=True,
                help="Time for a cell's calls, e.g. 2s.",
            ),
            click.option(
                "--within",
                type=DURATION,
                help="Time for the whole run, e.g. 2m; what does not fit is left out and named.",
            ),
            click.option("--segment", type=SIZE, help="Segment of pipelined algorithms, e.g. 64K [default: 128K]."),
            click.option(
                "--pretend-ranks-per-node",
                type=click.IntRange(1),
                help="Declare nodes of so many ranks; rows are marked.",
            ),
            click.option(
                "--seed",
                type=click.IntRange(0, LARGEST_SEED),
                help="Seed of the order of cells [default: random, stored].",
            ),
            click.option(
                "--thread-level", type=click.Choice(LEVELS), default="auto", show_default=True, help="MPI thread level."
            ),
            click.option(
                "--launcher-args", default="", help="Options for mpirun, in one string, e.g. '--bind-to core'."
            ),
            click.option(
                "-o", "--output", type=click.Path(path_type=Path), help="Run folder [default: results/DATE_HOST_RANKS]."
            ),
        )
    ):
        command = option(command)
    return command


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
        folder = _run_from_outside(options, asked)
        talk(f"{folder.path}      next: allreduce-bench report {shlex.quote(str(folder.path))}")


@click.command(hidden=True)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--launch", required=True)
@click.option("--place", required=True)
@click.option("--started", type=float, required=True)
@click.option("--deadline", type=float)
def measure(folder: Path, launch: str, place: str, started: float, deadline: float | None) -> None:
    """Measure one planned launch of the run in FOLDER with the ranks that were started."""
    from ..driver import end_with_parent
    from ..ranks import Place, take_part

    end_with_parent()
    number, planned = map(int, place.split("/"))
    run_folder = RunFolder(folder)

    def open_run() -> tuple[RunFolder, Plan, Launch]:
        ranks, serial = map(int, launch.split("r-"))
        return run_folder, run_folder.plan(), Launch(ranks, serial)

    sys.exit(take_part(open_run, sys.orig_argv, Place(number, planned, started), deadline))


@click.command()
@click.option("-n", "--ranks", type=RANKS, default="2,4,8", show_default=True, help="Ranks to start.")
@click.option("--within", type=DURATION, default="100s", show_default=True, help="Time for the measurements.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Run folder [default: results/DATE_HOST_RANKS].")
@click.option("--here", is_flag=True, help="Measure even where a scheduler exists and no job runs (a login node).")
@errors_in_one_line
def demo(ranks, within, output, here) -> None:
    """Measure all algorithms on this machine and write the report."""
    import shutil

    from ..report import write_report

    scheduler = next((name for name in SCHEDULERS if shutil.which(name)), None)
    if scheduler and not here and not any(os.environ.get(name) for name in SCHEDULERS.values()):
        raise OneLine(
            f"this looks like a login node ({scheduler} exists, no job runs): the demo would load it for minutes; "
            "run it inside a job, or say --here"
        )
    options = {parameter.name: parameter.get_default(click.Context(run)) for parameter in run.params}
    typed = {parameter.name: parameter.type for parameter in run.params}
    options = {
        name: typed[name].convert(value, None, None) if isinstance(value, str) else value
        for name, value in options.items()
    }
    options |= {
        "ranks": ranks,
        "within": within,
        "output": output,
        "launches": 1,
        "sizes": (8, 512, 8192, 131072, 1 << 20, 1 << 22),
    }
    folder = _run_from_outside(options, set())
    talk(f"report: {write_report([folder], folder.path / 'report.html')}")


def _run_as_rank(options: dict, asked: set[str]) -> None:
    if "ranks" in asked:
        raise OneLine("--ranks under a launcher: the ranks come from mpirun or srun; leave it out")
    import mpi4py

    mpi4py.rc.thread_level = thread_level(options["thread_level"], ranks_on_this_node(os.environ))
    from mpi4py import MPI

    from ..ranks import Place, take_part

    options["ranks"], started = (MPI.COMM_WORLD.size,), time.time()
    opened: list[tuple[RunFolder, Plan, Launch]] = []

    def open_run() -> tuple[RunFolder, Plan, Launch]:
        folder, plan = _open(options, asked)
        number = 1 + sum(fact["ranks"] == MPI.COMM_WORLD.size for fact in folder.attempts())
        launch = Launch(MPI.COMM_WORLD.size, 1 if plan.launches == 1 else min(number, plan.launches))
        opened.append((folder, plan, launch))
        return opened[0]

    deadline = None if options["within"] is None else started + options["within"]
    status = take_part(open_run, sys.orig_argv, Place(1, 1, started), deadline)
    if opened and status != 2:
        folder, plan, _ = opened[0]
        _finish(folder, plan)
        talk(f"{folder.path}      next: allreduce-bench report {shlex.quote(str(folder.path))}")
    sys.exit(status)


def _run_from_outside(options: dict, asked: set[str]) -> RunFolder:
    from ..driver import Stopped, drive
    from ..launch import find_launcher

    launcher = find_launcher()
    folder, plan = _open(options, asked)
    talk(f"{launcher.library}, {launcher.program}; {len(plan.planned_launches())} launches; results in {folder.path}")
    resume = f"go on with: allreduce-bench run --resume -o {shlex.quote(str(folder.path))}"
    try:
        unstarted = drive(folder, plan, launcher, options["within"], talk)
    except (Stopped, KeyboardInterrupt) as error:
        if any(folder.finished(launch.name) for launch in plan.planned_launches()):
            _finish(folder, plan)
        raise OneLine(f"{error or 'interrupted; finished cells are kept'}; {resume}", 1) from error
    if unstarted:
        talk(f"left out: launches {', '.join(launch.name for launch in unstarted)}: --within was used up; {resume}")
    if _finish(folder, plan):
        raise OneLine(f"a check failed, see the table; results in {folder.path}", 1)
    return folder


def _open(options: dict, asked: set[str]) -> tuple[RunFolder, Plan]:
    """Begin a run, or go on with one; raises RunError and PlanError before anything is written."""
    output = options["output"] or _default_output(options)
    folder = RunFolder(output)
    if options.get("resume") and folder.path.exists():
        stored = folder.plan()
        _refuse_other_plan(folder, stored, _plan(options), asked)
        return folder, stored
    if folder.path.exists():
        raise RunError(f"{output}: exists already; choose another folder with -o, or go on with it by --resume")
    plan = _plan(options)
    create_run(folder, plan, sys.orig_argv)
    return folder, plan


def _plan(options: dict) -> Plan:
    asked = options["algorithms"] or ("native", *builtin())
    found = find([word for word in asked if word != "native"])
    files = [str(Path(word).resolve()) for word in asked if word.endswith(".py")]
    native = ["native"] if "native" in asked else []
    sizes = options["sizes"] or geometric_sizes(options["minbytes"], options["maxbytes"], options["stepfactor"])
    ranks = options["ranks"] or (max(2, os.cpu_count() or 1),)
    seed = random.randrange(LARGEST_SEED) if options["seed"] is None else options["seed"]
    same = ("launches", "dtype", "op", "iters", "warmups", "pretend_ranks_per_node", "thread_level", "launcher_args")
    return Plan(
        algorithms=tuple(native + list(found)),
        files=tuple(files),
        sizes=tuple(sorted(set(sizes))),
        ranks=tuple(ranks),
        seed=seed,
        cell_time_s=options["cell_time"],
        segment_nbytes=options["segment"],
        **{name: options[name] for name in same},
    )


OPTION_OF = {"cell_time_s": "cell_time", "segment_nbytes": "segment"}


def _refuse_other_plan(folder: RunFolder, stored: Plan, wanted: Plan, asked: set[str]) -> None:
    """A resumed run keeps its plan; an option that was given and says something else is an error."""
    if asked & {"minbytes", "maxbytes", "stepfactor"}:
        asked = asked | {"sizes"}
    for name, value in stored.to_json().items():
        other = wanted.to_json()[name]
        if OPTION_OF.get(name, name) in asked and other != value:
            raise PlanError(
                f"{folder.path}: --resume keeps the run's {name} {value}, found {other}; leave that option out"
            )


def _default_output(options: dict) -> Path:
    ranks = "-".join(map(str, options["ranks"])) if options["ranks"] else "default"
    return Path("results") / f"{datetime.now():%Y-%m-%d_%H%M%S}_{platform.node()}_{ranks}r"


def _finish(folder: RunFolder, plan: Plan) -> bool:
    """Write the summary, print the table; whether a check failed."""
    from ..summary import summarise
    from ..table import table

    rows = summarise(folder)
    write_summary(folder, rows)
    click.echo(table(plan, rows, folder.attempts()[0]["mpi"]["library"]))
    return any(row["state"] in ("wrong", "refused") for row in rows)
