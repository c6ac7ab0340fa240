"""What a launcher's variables tell a process before it may ask MPI."""

import os
import re
from collections.abc import Mapping

from .environment import cores
from .hosts import filled, shared, slots_for
from .start import UNASKED, Start

SCHEDULERS = {"sbatch": "SLURM_JOB_ID", "qsub": "PBS_JOBID", "bsub": "LSB_JOBID", "flux": "FLUX_JOB_ID"}
CONTROLLER_S = 5.0


def under_launcher(environ: Mapping[str, str]) -> bool:
    """Whether some mpirun or srun started this process as one rank of several."""
    if any(name in environ for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK")):
        return True
    step = environ.get("SLURM_STEP_ID", "")  # high numbers are batch scripts and interactive shells, as is one task
    return step.isdigit() and int(step) < 0xFFFFFFF0 and environ.get("SLURM_STEP_NUM_TASKS", "1") != "1"


def size_of(environ: Mapping[str, str]) -> int | None:
    """How many ranks the launcher started, as its variables say; None: unknown."""
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
        if environ.get(name, "").isdigit():
            return int(environ[name])
    return None


def ranks_on_this_node(environ: Mapping[str, str]) -> int | None:
    """How many ranks the launcher started here, as its variables say before MPI can be asked; None: unknown."""
    for name in ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE", "PMI_SIZE"):
        if digits := environ.get(name, "").split("(")[0].split(",")[0]:
            return int(digits) if digits.isdigit() else None
    return None


def ranks_a_node(ranks: int, start: Start = UNASKED) -> int:
    """The most ranks that a node gets when `ranks` are started so; all of them where one node is all we know of."""
    return max(_ranks_of_nodes(ranks, start) or [ranks])


def nodes_for(ranks: int, start: Start) -> int | None:
    """On how many nodes `ranks` are started so; None: unknown."""
    return sum(count > 0 for count in _ranks_of_nodes(ranks, start)) or None


def ranks_of_job(environ: Mapping[str, str], ranks_per_node: int | None = None) -> int | None:
    """The ranks that a Slurm job has room for: as many on each of its nodes, or its tasks; None: no job says so."""
    nodes, tasks = environ.get("SLURM_JOB_NUM_NODES", ""), environ.get("SLURM_NTASKS", "")
    each = str(ranks_per_node or environ.get("SLURM_NTASKS_PER_NODE", ""))
    if nodes.isdigit() and each.isdigit() and (ranks_per_node or not tasks):
        return int(nodes) * int(each) or None
    return int(tasks) or None if tasks.isdigit() else sum(_slots_of_job(environ)) or None


def _slots_of_job(environ: Mapping[str, str]) -> list[int]:
    """The tasks on each node of a Slurm job, where it says so: such as 4(x2),3."""
    said = re.findall(r"(\d+)(?:\(x(\d+)\))?", environ.get("SLURM_TASKS_PER_NODE", ""))
    return [int(tasks) for tasks, times in said for _ in range(int(times or 1))]


def _ranks_of_nodes(ranks: int, start: Start) -> list[int]:
    """How many ranks each node gets: as `start` says, else as mpirun fills the nodes of a Slurm job; empty: unknown."""
    if start.ranks_per_node:
        return filled([start.ranks_per_node] * -(-ranks // start.ranks_per_node), ranks)
    if start.hosts:
        return filled([slots for _, slots in slots_for(start.hosts, ranks)], ranks)
    slots = _slots_of_job(os.environ)
    nodes = os.environ.get("SLURM_JOB_NUM_NODES", "")
    return shared(ranks, int(nodes)) if not slots and nodes.isdigit() else filled(slots, ranks)


def rank_of(environ: Mapping[str, str]) -> int:
    """The rank of this process, as the launcher's variables say before MPI can be asked; 0 where none say."""
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"):
        if environ.get(name, "").isdigit():
            return int(environ[name])
    return 0


def thread_level(asked: str, ranks_here: int | None) -> str:
    """The thread level to initialise MPI with; `auto` is single, and multiple where ranks outnumber cores.

    MPI_THREAD_MULTIPLE costs MPICH up to three times the latency, but lets its ranks give way to each other.
    """
    if asked != "auto":
        return asked
    return "multiple" if ranks_here is not None and ranks_here > cores() else "single"


def idle_scheduler(environ: Mapping[str, str]) -> str | None:
    """The command of a scheduler that exists here while no job runs, as on a login node; None: no such node.

    A Slurm of which only the programs are here, and no controller answers, is none.
    """
    if any(environ.get(name) for name in SCHEDULERS.values()):
        return None
    import shutil  # late: no rank asks

    found = [name for name in SCHEDULERS if shutil.which(name, path=environ.get("PATH"))]
    return next((name for name in found if name != "sbatch" or _controller_answers(environ)), None)


def _controller_answers(environ: Mapping[str, str]) -> bool:
    """Whether a Slurm controller, or the one in its place, says that it is up, within CONTROLLER_S."""
    import shutil  # late, too
    import subprocess

    program = shutil.which("scontrol", path=environ.get("PATH"))
    if program is None:
        return False
    try:
        command = [program, "ping"]
        ping = subprocess.run(command, env=dict(environ), capture_output=True, timeout=CONTROLLER_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"is UP" in ping.stdout
