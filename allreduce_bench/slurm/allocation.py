"""The job that this process is in, and whether it suffices."""

import shutil
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..runs.hosts import expand
from ..runs.plan import Launch, Plan
from ..runs.rows import RunError
from .commands import SlurmError, oversubscribe_of

ALONE = "NO"  # OverSubscribe of a job with --exclusive, or in a partition of whole nodes
OTHER_JOBS = ("PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "PE_HOSTFILE")  # variables of other schedulers


class Allocation(NamedTuple):
    """A job, or a task of a job array, and its present start."""

    number: str  # of this job alone, for scontrol
    job: str  # of a task: its array's
    task: str | None  # of an array
    restart: int  # how often it was requeued
    nodes: tuple[str, ...]  # their names; empty: not told
    node_count: int | None

    @property
    def name(self) -> str:
        """`12`, or `12_3` of a job array, as squeue shows it."""
        return self.job if self.task is None else f"{self.job}_{self.task}"


def allocation(environ: Mapping[str, str]) -> Allocation | None:
    """Return the job that these environment variables describe; None outside of a job."""
    number, task = _digits(environ, "SLURM_JOB_ID"), _digits(environ, "SLURM_ARRAY_TASK_ID")
    if number is None:
        return None
    try:
        nodes = tuple(expand(environ.get("SLURM_JOB_NODELIST", "")))
    except ValueError:
        nodes = ()
    count = _digits(environ, "SLURM_JOB_NUM_NODES")
    return Allocation(
        number=number,
        job=_digits(environ, "SLURM_ARRAY_JOB_ID") or number,
        task=task,
        restart=int(_digits(environ, "SLURM_RESTART_COUNT") or 0),
        nodes=nodes,
        node_count=int(count) if count else len(nodes) or None,
    )


def _digits(environ: Mapping[str, str], name: str) -> str | None:
    """Return the value of a variable if it is an integer, else None."""
    value = environ.get(name, "")
    return value if value.isascii() and value.isdigit() else None


def why_shared(environ: Mapping[str, str]) -> str:
    """Return why nodes may not be this process's alone; empty: its job is exclusive, or there is no scheduler."""
    other = next((name for name in OTHER_JOBS if name in environ), None)
    if (job := allocation(environ)) is not None:
        try:
            sharing = oversubscribe_of(job.number)
        except SlurmError as error:
            return f"whether job {job.name} has its nodes alone is unknown: {error}"
        return "" if sharing == ALONE else f"job {job.name} may share its nodes (OverSubscribe={sharing})"
    if other is not None:
        return f"whether this job has its nodes alone is known of Slurm only ({other} is set)"
    return "outside of a job, on a machine with Slurm, others may use it, too" if shutil.which("sbatch") else ""


def refuse_few_nodes(job: Allocation | None, plan: Plan, launches: Iterable[Launch]) -> None:
    """Raise RunError if the job has fewer nodes than one of the launches needs at --ranks-per-node."""
    ranks_per_node = plan.start.ranks_per_node
    if job is None or job.node_count is None or ranks_per_node is None:
        return
    for launch in launches:
        nodes_needed = -(-launch.ranks // ranks_per_node)
        if nodes_needed > job.node_count:
            raise RunError(
                f"launch {launch.name}: {launch.ranks} ranks at {ranks_per_node} per node need {nodes_needed} nodes, "
                f"but job {job.name} has {job.node_count}; submit it with --nodes={nodes_needed}, or choose other "
                "launches with --only"
            )
