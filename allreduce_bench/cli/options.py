"""The options of `run` and of what starts it: what is measured, how ranks are started, what happens then."""

from collections.abc import Callable
from pathlib import Path

import click

from ..runs.plan import Plan
from ..runs.start import Start
from .measurement import BEFORE_A_CALL, DEFINED, MEASURED, REPEATED, SHOWN
from .request import Control
from .types import BUSBW_LIMITS, HOSTS, RATES, TIME_LIMITS

LEVELS = ("auto", "single", "funneled", "serialized", "multiple")
FORMATS = ("table", "long", "csv", "json", "nccl", "osu")

STARTED = (
    click.option(
        "--launcher",
        default=Start.launcher,
        metavar="NAME",
        **SHOWN,
        help="auto, openmpi, mpich, intel, srun, or a template such as 'flux run -n {ranks} -N {nodes}'.",
    ),
    click.option(
        "--launcher-args",
        default=Start.launcher_args,
        metavar="WORDS",
        help="Further options of the launcher, in one string, e.g. '--display bind-to'.",
    ),
    click.option("--hosts", type=HOSTS, help="Hosts for the ranks, e.g. n1,n2 or n1:8,n2:8."),
    click.option(
        "--hostfile", type=click.Path(path_type=Path), help="File of hosts, one per line: n1, n1:8 or n1 slots=8."
    ),
    click.option(
        "--remote-shell",
        default=Start.remote_shell,
        metavar="PROGRAM",
        **SHOWN,
        help="Program that reaches the hosts, called like ssh.",
    ),
    click.option(
        "--ranks-per-node", type=click.IntRange(1), metavar="N", help="Ranks on each node [default: the launcher's]."
    ),
    # The second names: so Open MPI's mpirun rewrites these words, even behind the program that it starts.
    click.option(
        "--map-by",
        "--mapby",
        default=Start.map_by,
        metavar="WORD",
        help="Placement of ranks, in the syntax of the MPI, e.g. core, socket, ppr:4:node.",
    ),
    click.option(
        "--bind-to",
        "--bindto",
        default=Start.bind_to,
        metavar="WORD",
        help="Binding of ranks, in the syntax of the MPI, e.g. core, socket, none.",
    ),
    click.option(
        "--interface",
        default=Start.interface,
        metavar="IF",
        help="Network interface for the messages, e.g. hsn0; also under mpirun or srun.",
    ),
    click.option(
        "--stage",
        default=Control.stage,
        metavar="DIR",
        help="Unpack the Python environment below DIR, such as /tmp, once per node, and start the ranks from there.",
    ),
    click.option(
        "--thread-level", type=click.Choice(LEVELS), default=Plan.thread_level, **SHOWN, help="MPI thread level."
    ),
)

JUDGED = (
    click.option(
        "-o", "--output", type=click.Path(path_type=Path), help="Run folder [default: results/DATE_HOST_RANKS]."
    ),
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        default=Control.format,
        **SHOWN,
        help="Format on stdout; nccl and osu: the layouts of nccl-tests and osu_allreduce -f.",
    ),
    click.option(
        "--link-rate",
        type=RATES,
        help="Rate of a node's link, e.g. 200Gbit, for 'of limit' [default: from the system].",
    ),
    click.option(
        "--min-busbw",
        type=BUSBW_LIMITS,
        multiple=True,
        help="Exit with 1 below this busbw in GB/s at a size: 64M:20 for the fastest algorithm, or ring@64M:20.",
    ),
    click.option(
        "--max-time",
        type=TIME_LIMITS,
        multiple=True,
        help="Exit with 1 above this time at a size: 8:15us for the fastest algorithm, or ring@8:15us.",
    ),
)
IN_JOBS = (
    click.option(
        "--only",
        default=Control.only,
        metavar="WORDS",
        help="Only these planned launches: 8r (all of 8 ranks), 8r-2 (one), -2 (the second of each), or a list.",
    ),
    click.option(
        "--requeue",
        is_flag=True,
        help="In a Slurm job near its time limit (SIGUSR1): requeue the job, to continue later.",
    ),
    click.option("--report", is_flag=True, help="Write the report at the end, unless the job is requeued."),
)
AT_THE_END = ("requeue", "report")  # too much for a rank
WHERE = ("hosts", "hostfile", "remote_shell", "ranks_per_node", "map_by", "bind_to")
STARTED_NAMES = ("launcher", "launcher_args", *WHERE, "stage")  # what is too late once the ranks are started


def plan_options(command: Callable) -> Callable:
    """The options that decide what is measured and how ranks are started, then what is said of the result."""
    for option in reversed((*MEASURED, *REPEATED, *DEFINED, *BEFORE_A_CALL, *STARTED, *JUDGED)):
        command = option(command)
    return command


def job_options(command: Callable) -> Callable:
    """What a job adds to `run`."""
    for option in reversed(IN_JOBS):
        command = option(command)
    return command
