"""The options that decide what is measured, and the plan that follows from them."""

import random
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import click

from ..algorithms import builtin, find
from ..environment import cores, host
from ..plan import DEFAULT_SEGMENT_NBYTES, DTYPES, OPS, Plan, PlanError, geometric_sizes
from ..planned import algorithms_of, digest_of
from ..recorder import create_run
from ..runfolder import RunError, RunFolder
from .words import DURATION, NAMES, RANKS, SIZE, SIZES

LEVELS = ("auto", "single", "funneled", "serialized", "multiple")
LARGEST_SEED = 2**31
OPTION_OF = {"cell_time_s": "cell_time", "segment_nbytes": "segment"}  # where a field of the plan has another name


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


def open_run(options: dict, asked: set[str]) -> tuple[RunFolder, Plan]:
    """Begin a run, or go on with one: `options` of the command line, `asked` are those that the user gave.

    Raises RunError, PlanError and AlgorithmError before anything is written.
    """
    if options["resume"] and not options["output"]:
        raise PlanError("--resume needs the folder of the run: -o FOLDER")
    if options["within"] is not None and options["within"] <= 0:
        raise PlanError("--within needs some time, such as 90s or 2m")
    output = options["output"] or _default_output(options)
    if str(output) in OPS:
        raise PlanError(f"-o {output}: -o is the output folder; the operation is --op {output}")
    folder = RunFolder(output)
    if options["resume"] and folder.path.exists():
        stored = folder.plan()
        _refuse_other_plan(folder, stored, _plan(options), asked)
        algorithms_of(stored)
        return folder, stored
    if folder.path.exists():
        raise RunError(f"{output}: exists already; choose another folder with -o, or go on with it by --resume")
    plan = _plan(options)
    create_run(folder, plan, ["allreduce-bench", *sys.argv[1:]])
    return folder, plan


def _plan(options: dict) -> Plan:
    asked = options["algorithms"] or ("native", *builtin())
    found = find([word for word in asked if word != "native"], also="native")
    files = [str(Path(word).resolve()) for word in asked if word.endswith(".py")]
    native = ["native"] if "native" in asked else []
    itemsize = DTYPES.get(options["dtype"], 1)
    sizes = options["sizes"] or geometric_sizes(
        options["minbytes"], options["maxbytes"], options["stepfactor"], itemsize
    )
    ranks = options["ranks"] or (max(2, cores()),)
    seed = random.randrange(LARGEST_SEED) if options["seed"] is None else options["seed"]
    same = ("launches", "dtype", "op", "iters", "warmups", "pretend_ranks_per_node", "thread_level", "launcher_args")
    return Plan(
        algorithms=tuple(native + list(found)),
        files=tuple(files),
        file_digests=tuple(map(digest_of, files)),
        sizes=tuple(sorted(set(sizes))),
        ranks=tuple(ranks),
        seed=seed,
        cell_time_s=options["cell_time"],
        segmented=tuple(name for name, algorithm in found.items() if algorithm.segmented),
        segment_nbytes=DEFAULT_SEGMENT_NBYTES if options["segment"] is None else options["segment"],
        **{name: options[name] for name in same},
    )


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
    return Path("results") / f"{datetime.now():%Y-%m-%d_%H%M%S}_{host()}_{ranks}r"
