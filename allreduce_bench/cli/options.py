"""The options of `run` and of what starts it: what is measured, how ranks are started, what happens then."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..runs.dtypes import DTYPES
from ..runs.plan import OPS
from ..runs.schema import SYNCS
from .types import BUSBW_LIMITS, DURATION, GROUPS, HOSTS, NAMES, RANKS, RATE, SHARE, SIZE, SIZES, TIME_LIMITS

LEVELS = ("auto", "single", "funneled", "serialized", "multiple")
LARGEST_SEED = 2**31
FORMATS = ("table", "long", "csv", "json", "nccl", "osu")
SHOWN: dict[str, Any] = {"show_default": True}

MEASURED = (
    click.option(
        "-n", "--ranks", type=RANKS, help="Ranks to start, e.g. 4, 2,4,8 or 1-8 [default: the cores, at least 2]."
    ),
    click.option(
        "-a", "--algorithms", type=NAMES, help="Names, native, or paths of own files [default: native and all]."
    ),
    click.option("--sizes", type=SIZES, help="Sizes in bytes, e.g. 8,4K,16M; instead of -b, -e and -f."),
    click.option("-b", "--minbytes", type=SIZE, default="8", **SHOWN, help="Smallest size."),
    click.option("-e", "--maxbytes", type=SIZE, default="16M", **SHOWN, help="Largest size."),
    click.option("-f", "--stepfactor", type=float, default=4.0, **SHOWN, help="Each size is so many times the last."),
    click.option("-d", "--dtype", default="float32", **SHOWN, help=f"Element type: {', '.join(DTYPES)}."),
    click.option("--op", default="sum", **SHOWN, help=f"Operation: {', '.join(OPS)}."),
    click.option("--segment", type=SIZE, help="Segment of pipelined algorithms, e.g. 64K [default: 128K]."),
    click.option(
        "--pretend-ranks-per-node",
        type=click.IntRange(1),
        metavar="N",
        help="Try the algorithms for several nodes on one: declare nodes of so many ranks; rows are marked.",
    ),
)

REPEATED = (
    click.option(
        "--within", type=DURATION, help="Time for the whole run, e.g. 2m; what does not fit is left out and named."
    ),
    click.option(
        "--launches", type=click.IntRange(1), default=5, metavar="N", **SHOWN, help="Fresh mpiruns per rank count."
    ),
    click.option(
        "--iters",
        type=click.IntRange(1),
        metavar="N",
        help="Timed calls per cell and launch [default: until --precision or --cell-time; at most 1000].",
    ),
    click.option(
        "--precision",
        type=SHARE,
        default="3%",
        **SHOWN,
        help="A cell stops when the 95 % interval of its median is within so much of it.",
    ),
    click.option(
        "--warmups", type=click.IntRange(0), default=3, metavar="N", **SHOWN, help="Untimed calls before them."
    ),
    click.option("--cell-time", type=DURATION, default="500ms", **SHOWN, help="At the latest it stops then, e.g. 2s."),
    click.option("--min-time", type=DURATION, default="0s", **SHOWN, help="Repeat each cell at least so long."),
    click.option(
        "--seed",
        type=click.IntRange(0, LARGEST_SEED),
        metavar="N",
        help="Seed of the order of cells [default: random, stored].",
    ),
)

DEFINED = (
    click.option(
        "--sync",
        type=click.Choice(("auto", *SYNCS)),
        default="auto",
        **SHOWN,
        help="How ranks enter a call together; auto: round_time where it holds, else barrier.",
    ),
    click.option(
        "--record",
        type=click.Choice(("summary", "all")),
        default="summary",
        **SHOWN,
        help="Kept of each call: what sums it up, or also entry and exit of every rank.",
    ),
    click.option(
        "--back-to-back",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        help="Also time a loop of N calls without a common start, as nccl-tests do.",
    ),
    click.option(
        "--cache",
        type=click.Choice(("warm", "cold", "both")),
        default="warm",
        **SHOWN,
        help="The same buffers in every call, others each time, or each cell both ways.",
    ),
    click.option(
        "--floors/--no-floors", default=True, **SHOWN, help="Also measure no call at all, a local copy and a reduction."
    ),
    click.option(
        "--check",
        type=click.Choice(("exact", "bits")),
        default="exact",
        **SHOWN,
        help="bits: also compare bits over calls, launches and algorithms, and with the exact sum.",
    ),
    click.option(
        "--groups",
        type=GROUPS,
        default="",
        metavar="N",
        help="All-reduce in groups at the same time, and in one alone: 2 halves, mod:8, or div:8 (consecutive ranks).",
    ),
)

STARTED = (
    click.option(
        "--launcher",
        default="auto",
        metavar="NAME",
        **SHOWN,
        help="auto, openmpi, mpich, srun, or a template such as 'flux run -n {ranks} -N {nodes}'.",
    ),
    click.option(
        "--launcher-args",
        default="",
        metavar="WORDS",
        help="Further options for it, in one string, e.g. '--display bind-to'.",
    ),
    click.option("--hosts", type=HOSTS, help="Hosts to start ranks on, e.g. n1,n2 or n1:8,n2:8."),
    click.option(
        "--hostfile", type=click.Path(path_type=Path), help="File of hosts, a line each: n1, n1:8 or n1 slots=8."
    ),
    click.option(
        "--remote-shell", default="ssh", metavar="PROGRAM", **SHOWN, help="What reaches the hosts, called like ssh."
    ),
    click.option(
        "--ranks-per-node", type=click.IntRange(1), metavar="N", help="Ranks on each node [default: the launcher's]."
    ),
    # The second names: so Open MPI's mpirun rewrites these words, even behind the program that it starts.
    click.option(
        "--map-by",
        "--mapby",
        default="",
        metavar="WORD",
        help="Where ranks go, in the MPI's own words, e.g. core, socket, ppr:4:node.",
    ),
    click.option(
        "--bind-to",
        "--bindto",
        default="",
        metavar="WORD",
        help="What ranks are bound to, in the MPI's own words, e.g. core, socket, none.",
    ),
    click.option(
        "--interface",
        default="",
        metavar="IF",
        help="Network interface that shall carry the messages, e.g. hsn0; under mpirun or srun, too.",
    ),
    click.option(
        "--stage",
        default="",
        metavar="DIR",
        help="Unpack the Python environment below DIR, such as /tmp, once per node, and start the ranks from there.",
    ),
    click.option("--thread-level", type=click.Choice(LEVELS), default="auto", **SHOWN, help="MPI thread level."),
)

JUDGED = (
    click.option(
        "-o", "--output", type=click.Path(path_type=Path), help="Run folder [default: results/DATE_HOST_RANKS]."
    ),
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        default="table",
        **SHOWN,
        help="Of the result on stdout; nccl and osu: the layouts of nccl-tests and osu_allreduce -f.",
    ),
    click.option(
        "--link-rate",
        type=RATE,
        help="Rate of a node's link, e.g. 200Gbit, for 'of limit' [default: as the system says].",
    ),
    click.option(
        "--min-busbw",
        type=BUSBW_LIMITS,
        multiple=True,
        help="Exit with 1 below so many GB/s at a size, e.g. 64M:20; of the fastest algorithm, or ring@64M:20.",
    ),
    click.option(
        "--max-time",
        type=TIME_LIMITS,
        multiple=True,
        help="Exit with 1 above such a time at a size, e.g. 8:15us; of the fastest algorithm, or ring@8:15us.",
    ),
)
IN_JOBS = (
    click.option(
        "--only",
        default="",
        metavar="WORDS",
        help="Of the planned launches only: 8r (all of 8 ranks), 8r-2 (one), -2 (the second of each), or several such.",
    ),
    click.option(
        "--requeue",
        is_flag=True,
        help="In a Slurm job that was warned of its time limit (SIGUSR1): have it go on later where it stopped.",
    ),
    click.option("--report", is_flag=True, help="Write the report at the end, unless the job is requeued."),
)
AT_THE_END = ("requeue", "report")  # too much for a rank
SECTIONS = {  # the option that begins a section of the help -> its title
    "nodes": "Jobs",
    "ranks": "What is measured",
    "within": "How long and how often",
    "sync": "What a time is",
    "launcher": "How ranks are started",
    "output": "What comes of it",
    "only": "In a job",
    "resume": "When something goes wrong",
}
WHERE = ("hosts", "hostfile", "remote_shell", "ranks_per_node", "map_by", "bind_to")
STARTED_NAMES = ("launcher", "launcher_args", *WHERE, "stage")  # what is too late once the ranks are started


class Sectioned(click.Command):
    """A command whose help shows its options in SECTIONS."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each section under its title."""
        sections: dict[str, list] = {}
        title = "Options"
        for parameter in self.get_params(ctx):
            title = SECTIONS.get(parameter.name or "", title)
            if record := parameter.get_help_record(ctx):
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def plan_options(command: Callable) -> Callable:
    """The options that decide what is measured and how ranks are started, then what is said of the result."""
    for option in reversed((*MEASURED, *REPEATED, *DEFINED, *STARTED, *JUDGED)):
        command = option(command)
    return command


def job_options(command: Callable) -> Callable:
    """What a job adds to `run`."""
    for option in reversed(IN_JOBS):
        command = option(command)
    return command


def limits_of(options: dict) -> list:
    """All limits that the options name."""
    return [limit for given in (*options["min_busbw"], *options["max_time"]) for limit in given]
